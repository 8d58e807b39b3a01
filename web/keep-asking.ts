/** Asks the same again and again, one question at a time. */

export type Running = {
  /** At once, or when the present question is answered. */
  again(): void;
  /** Ends the present question, whose answer says so. */
  stop(): void;
  /** For good; nothing is told any more. */
  end(): void;
};

/** Asks at once. @param setLoading told whether an answer is waited for. */
export function keepAsking<Answered>(
  get: (signal: AbortSignal) => Promise<Answered>,
  tell: (answered: Answered) => void,
  setLoading: (isLoading: boolean) => void,
): Running {
  let controller: AbortController | undefined;
  let isOver = false;
  let isWanted = false;

  async function ask(): Promise<void> {
    isWanted = false;
    controller = new AbortController();
    const { signal } = controller;
    setLoading(true);
    const answered = await get(signal);
    if (isOver) return;
    controller = undefined;
    tell(answered);
    // Who has stopped it does not want it again because something has changed meanwhile.
    if (isWanted && !signal.aborted) return ask();
    setLoading(false);
  }

  void ask();
  return {
    again() {
      if (controller) isWanted = true;
      else void ask();
    },
    stop: () => controller?.abort(),
    end() {
      isOver = true;
      controller?.abort();
    },
  };
}
