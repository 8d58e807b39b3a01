/** Holds back whoever waits until `passed`, until a test opens it. */

export type Gate = { open(): void; passed: Promise<void> };

export function gate(): Gate {
  let open = () => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, passed };
}
