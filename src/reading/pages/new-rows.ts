/** Rows that came since an order was proven: no gap is in their numbers, which grow with every commit. */

import type { RowsThen, Then } from './rows-then.ts';

/** The rows with numbers above `top` that had come by `then`, of which `last` is the latest. */
export type NewRows = { top: number; since: string; last: number };

/** The greatest number that was given by then. Rows that came later have greater ones, or the numbers of removed rows. */
export function lastNumber(rows: RowsThen, then: Then, top: number, since: string): number {
  let [given, free] = [top, rows.greatest() + 1];
  while (free - given > 1) {
    const middle = Math.floor((given + free) / 2);
    if ((rows.bornAt(middle, then, since) ?? '~') <= then.at) given = middle;
    else free = middle;
  }
  return given;
}

/**
 * Gives them the latest commit first, and within a commit as they stood on its page. Commits are looked for as far as they
 * are asked for, and kept.
 */
export function latestFirst(rows: RowsThen, then: Then, { top, since, last }: NewRows) {
  const commits: { first: number; last: number }[] = [];
  const lowest = () => commits.at(-1)?.first ?? last + 1;

  function findNext(): void {
    const end = lowest() - 1;
    const at = rows.bornAt(end, then, since);
    const isOfCommit = (number: number) => number > top && rows.bornAt(number, then, since) === at;
    let [first, before, step] = [end, end - 1, 1];
    for (; isOfCommit(before); step *= 2) [first, before] = [before, before - step];
    before = Math.max(before, top);
    while (first - before > 1) {
      const middle = Math.floor((first + before) / 2);
      if (isOfCommit(middle)) first = middle;
      else before = middle;
    }
    commits.push({ first, last: end });
  }

  return (offset: number, limit: number): number[] => {
    while (lowest() > top + 1 && last + 1 - lowest() < offset + limit) findNext();
    const found: number[] = [];
    let before = 0;
    for (const commit of commits) {
      const from = commit.first + Math.max(0, offset - before);
      for (let number = from; number <= commit.last && found.length < limit; number += 1) found.push(number);
      before += commit.last - commit.first + 1;
    }
    return found;
  };
}
