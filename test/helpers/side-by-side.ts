/** Calls side by side: as many are let go at once as a test says, and they are answered in an order that it draws. */

import type { ApiParts } from '../../src/api.ts';

export type SideBySide = {
  governor: ApiParts['governor'];
  /** So many calls at once; of those that have arrived, by offset, the one is answered that stands at the next place of `order`. */
  allow(most: number, order?: readonly number[]): void;
  /** For the API to wait with an answer until its turn has come. */
  hold(offset: number): Promise<void>;
  /** Resolves when no call is held any more. */
  allAnswered(): Promise<void>;
  /** Calls so far that nobody needed, though they were made. */
  readonly wasted: number;
  /** Calls whose answer has not come. */
  readonly underWay: number;
};

export function createSideBySide(): SideBySide {
  const held: { offset: number; go(): void }[] = [];
  let most = 1;
  let order: readonly number[] = [0];
  let answered = 0;
  let underWay = 0;
  let prefetches = 0;
  let wasted = 0;

  /** Once all that were sent have arrived. */
  function answerOne(): void {
    if (held.length === 0 || held.length < underWay) return;
    held.sort((one, other) => one.offset - other.offset);
    const at = (order[answered % order.length] ?? 0) % held.length;
    answered += 1;
    held.splice(at, 1)[0]?.go();
  }

  return {
    governor: {
      async acquire() {
        underWay += 1;
      },
      complete() {
        underWay -= 1;
        // Whoever got this answer sends his next calls first.
        setImmediate(answerOne);
      },
      reservePrefetch() {
        if (underWay >= most || prefetches >= most) return false;
        prefetches += 1;
        return true;
      },
      endPrefetch(isRefunded) {
        prefetches -= 1;
        if (!isRefunded) wasted += 1;
      },
      keyChanged() {},
    },
    allow(calls, inOrder = [0]) {
      [most, order, answered] = [calls, inOrder, 0];
    },
    hold: (offset) =>
      new Promise((resolve) => {
        held.push({ offset, go: resolve });
        answerOne();
      }),
    async allAnswered() {
      while (held.length > 0) {
        for (const { go } of held.splice(0)) go();
        await new Promise(setImmediate);
      }
    },
    get wasted() {
      return wasted;
    },
    get underWay() {
      return underWay;
    },
  };
}
