/** Every view of the page, each looked at in every way. */

import { expect } from 'vitest';
import type { Lived } from './lived.ts';
import { faultsOf, settled } from './support.ts';

/** What is found at `path`, in light and dark, on a wide screen and on a small one, without opening it anew. */
export async function expectNoFaults(lived: Lived, path: string): Promise<void> {
  const window = await lived.visit(path, { width: 390, height: 844 });
  const found: string[] = [];
  for (const [width, colorScheme] of [
    [390, 'light'],
    [390, 'dark'],
    [1_280, 'dark'],
    [1_280, 'light'],
  ] as const) {
    await window.page.setViewportSize({ width, height: 844 });
    await window.page.emulateMedia({ colorScheme });
    await settled(window.page);
    const faults = await faultsOf(window);
    found.push(...faults.map((fault) => `${width} ${colorScheme}: ${fault}`));
  }
  expect(found).toEqual([]);
  expect(await window.page.getByRole('heading', { level: 1 }).count()).toBe(1);
}
