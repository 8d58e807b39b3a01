import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ApiResponse } from '../../src/api.ts';
import { prefetchPages } from '../../src/mirror/pages.ts';
import type { CheckedPage } from '../../src/validate/checked.ts';
import { beginning, type Checkpoint } from '../../src/walk/checkpoint.ts';
import { answerOf, checkedPage } from '../helpers/paper.ts';

const PAGES = 300;

const pageAt = (offset: number) =>
  checkedPage([String(offset)], offset, {
    generatedAt: undefined,
    total: PAGES,
    hasMore: offset + 1 < PAGES,
  });

/** A list of one row a page, each answer of which takes so many turns of the event loop. Returns how many calls are under way at each page. */
async function readAll(turnsOfAnswer: number, pagesRead = PAGES): Promise<number[]> {
  let underWay = 0;
  const most: number[] = [];
  const answer = async (offset: number) => {
    underWay += 1;
    for (let passed = 0; passed < turnsOfAnswer; passed += 1) await turn();
    underWay -= 1;
    return answerOf(pageAt(offset));
  };
  let unread = 0;
  const pages = prefetchPages({
    get: answer,
    prefetch: (offset) => {
      unread += 1;
      return { response: answer(offset), isSent: () => true, drop: () => undefined, end: () => undefined };
    },
    check: ({ json }: ApiResponse) => json as CheckedPage,
    agree: () => true,
    discard: () => undefined,
  });
  for (let offset = 0; offset < pagesRead; offset += 1) {
    const at: Checkpoint = {
      ...beginning,
      offset,
      pages: offset,
      pagesOfPass: offset,
      total: offset === 0 ? null : PAGES,
    };
    const { page } = await pages.next(at);
    expect(page).toEqual(pageAt(offset));
    if (offset > 1) unread -= 1;
    most.push(unread);
  }
  await pages.end();
  expect(underWay).toBe(0);
  return most;
}

it('asks for few pages ahead where each has come before its turn', async () => {
  const ahead = await readAll(1);
  expect(Math.max(...ahead)).toBe(4);
  expect(Math.max(...ahead.slice(PAGES / 2))).toBe(2);
});

it('asks for as many as may be where it has to wait for them', async () => {
  const ahead = await readAll(100);
  expect(Math.max(...ahead)).toBe(16);
});

it('ends once the calls under way are answered, though nobody needs their pages', async () => {
  expect((await readAll(100, 10)).at(-1)).toBeGreaterThan(1);
});
