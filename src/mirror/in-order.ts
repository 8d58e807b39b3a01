/**
 * Pages of a walk, taken in order, while those that follow are asked for ahead of their turn. Where an answer that was asked
 * for ahead will not do, it is asked for again, as if nothing had been.
 */

import { setImmediate as turn } from 'node:timers/promises';
import type { Prefetch } from '../api.ts';
import type { CheckedPage } from '../validate/checked.ts';
import type { Checkpoint } from '../walk/checkpoint.ts';
import { type Foreseen, foresee, isAsIfAskedNow, requestOffset } from '../walk/foresee.ts';

/** Where answers come from, and what is made of them. `foreseen`: so many calls will follow. */
export type Upstream<Answer, Of extends PageInOrder> = {
  get(offset: number, foreseen: number): Promise<Answer>;
  /** Undefined where nothing may be asked ahead. */
  guess(offset: number, foreseen: number): Prefetch<Answer> | undefined;
  /** Undefined where an answer that was asked for ahead turns out to be no page. */
  check(answer: Answer): Of | undefined;
  /** Whether rows that both pages show are the same in both: an answer may be older than the one before. */
  agree(before: Of, page: Of): boolean;
  /** A call was made for this answer, which nobody needs. */
  discard(answer: Answer): void;
};

export type PageInOrder = Pick<CheckedPage, 'keys' | 'pagination' | 'received'>;

export type PagesInOrder<Answer, Of> = {
  /** The page that a walk needs which stands there. What fails, fails as if it had been asked for now. */
  next(at: Checkpoint): Promise<{ page: Of; answer: Answer }>;
  /** Nothing more is wanted; resolves when nothing is under way. */
  end(): Promise<void>;
};

/** As many calls as may ever be under way; at first, where nobody knows how many are of use; and at least. */
const MOST_AHEAD = 16;
const FIRST_AHEAD = 4;
const LEAST_AHEAD = 2;
/** After so many answers in a row that had come before their turn, one call less is asked ahead. */
const CALM = 16;

export function pagesInOrder<Answer, Of extends PageInOrder>(
  upstream: Upstream<Answer, Of>,
): PagesInOrder<Answer, Of> {
  /** No map: the tables that one leaves behind as it grows would keep the answers of all of them (see `walk/waiting.ts`). */
  let guesses: { offset: number; guess: Prefetch<Answer> }[] = [];
  const answered = new WeakSet<Prefetch<Answer>>();
  const underWay = new Set<Promise<unknown>>();
  let last: Of | undefined;
  let pageRows = 0;
  let ahead = FIRST_AHEAD;
  let calm = 0;

  async function next(at: Checkpoint): Promise<{ page: Of; answer: Answer }> {
    const offset = requestOffset(at);
    const foreseen = foresee(at, pageRows, ahead);
    const guess = take(offset, foreseen);
    if (!guess) return await askNow(offset, foreseen);
    askAhead(foreseen);
    await learn(guess);
    const answer = await guess.response;
    if (answer === undefined) return await askNow(offset, foreseen);
    const page = check(guess, answer);
    if (page === undefined) {
      guess.end(false);
      upstream.discard(answer);
      return await askNow(offset, foreseen);
    }
    const isGood = isAsIfAskedNow(at, page) && last !== undefined && upstream.agree(last, page);
    guess.end(isGood);
    if (isGood) return { page, answer };
    upstream.discard(answer);
    dropAll();
    return await askNow(offset, { calls: foreseen.calls, offsets: [] });
  }

  /** The guess at this offset, once its call is made. Guesses that are no longer foreseen are dropped. */
  function take(offset: number, { offsets }: Foreseen): Prefetch<Answer> | undefined {
    const guess = find(offset);
    const isMade = guess?.isSent() ?? false;
    if (isMade) forget(offset);
    for (const other of guesses) if (!offsets.includes(other.offset)) drop(other);
    return isMade ? guess : undefined;
  }

  /** The call whose turn it is goes before those that follow. */
  async function askNow(offset: number, foreseen: Foreseen): Promise<{ page: Of; answer: Answer }> {
    const asked = upstream.get(offset, foreseen.calls);
    askAhead(foreseen);
    const answer = await asked;
    // What has come was read in this turn of the event loop; what becomes of it takes another.
    await turn();
    return { page: upstream.check(answer) as Of, answer };
  }

  /**
   * Learns how many calls are of use. Answers that wait for their turn are as old as they are large, and the garbage of them is
   * dear. Two turns of the event loop, in which what has come is read, and all else that this process does goes on.
   */
  async function learn(guess: Prefetch<Answer>): Promise<void> {
    await turn();
    await turn();
    calm = answered.has(guess) ? calm + 1 : 0;
    if (calm === 0) ahead = Math.min(MOST_AHEAD, ahead + 1);
    else if (calm % CALM === 0) ahead = Math.max(LEAST_AHEAD, ahead - 1);
  }

  function askAhead({ calls, offsets }: Foreseen): void {
    for (const offset of offsets) {
      if (find(offset)) continue;
      const guess = upstream.guess(offset, calls);
      if (!guess) return;
      guesses.push({ offset, guess });
      // Not `finally`, whose promise would keep the answer.
      const done = guess.response.then(() => {
        answered.add(guess);
        underWay.delete(done);
      });
      underWay.add(done);
    }
  }

  /** An answer that cannot be read was needed all the same. */
  function check(guess: Prefetch<Answer>, answer: Answer): Of | undefined {
    try {
      return upstream.check(answer);
    } catch (thrown) {
      guess.end(true);
      throw thrown;
    }
  }

  function find(offset: number): Prefetch<Answer> | undefined {
    return guesses.find((one) => one.offset === offset)?.guess;
  }

  function forget(offset: number): void {
    guesses = guesses.filter((one) => one.offset !== offset);
  }

  function drop({ offset, guess }: (typeof guesses)[number]): void {
    forget(offset);
    guess.drop();
    // Where its call is made already, it counts like any other.
    const discarded = guess.response.then((answer) => {
      if (answer === undefined) return;
      guess.end(false);
      upstream.discard(answer);
    });
    const done = discarded.finally(() => underWay.delete(done));
    underWay.add(done);
  }

  function dropAll(): void {
    for (const one of guesses) drop(one);
  }

  return {
    async next(at) {
      const { page, answer } = await next(at);
      last = page;
      pageRows = Math.max(pageRows, page.received);
      return { page, answer };
    },
    async end() {
      dropAll();
      await Promise.all(underWay);
    },
  };
}
