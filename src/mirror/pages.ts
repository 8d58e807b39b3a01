/**
 * The pages of a walk, one after the other: requested, checked, and compared with what the mirror knows. Requests for the pages
 * that follow are sent before their turn (prefetched). Where a prefetched response will not do, the page is requested again, as
 * if nothing had been prefetched. Responses to calls in flight together may come in any order; docs/reliability.md says what that
 * means for the proof.
 */

import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { BAD_BODY, type Body, type Call } from '../api/response.ts';
import type { Api, ApiResponse, Prefetch } from '../api.ts';
import type { Job } from '../job.ts';
import type { Store, WalkSession } from '../store.ts';
import type { CheckedPage, CheckedRows, Row } from '../validate/checked.ts';
import { checkPage, readPage } from '../validate.ts';
import { type Checkpoint, PAGE_ROWS, type PageFacts, requestOffset } from '../walk/checkpoint.ts';

/** A checked page beside what this pass of the walk knows of it. */
type Page = CheckedPage & PageFacts & { call: Call };

type PageReader = {
  /** The page at an offset, as a walk at this checkpoint needs it. */
  read(offset: number, at: Checkpoint): Promise<Page>;
  /** Ends the calls in flight; call it when the walk is over, however it ended. */
  close(): Promise<void>;
};

export function createPageReader(
  job: Job,
  session: WalkSession,
  { api, store }: { api: Api; store: Store },
  signal: AbortSignal,
): PageReader {
  const prefetching = new AbortController();
  // Every call in flight listens to it; beyond ten listeners Node.js would warn of a leak.
  setMaxListeners(0, prefetching.signal);
  const stop = () => prefetching.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  let shape = store.shape(job.name);

  const parse = (body: Body) => {
    try {
      return readPage(body, shape, session.findStoredRun());
    } catch {
      // What keeps the stored rows from being read keeps the page from being saved, too: that error is thrown.
      return JSON.parse(body.text());
    }
  };
  const request = (offset: number) => ({
    job: job.name,
    walkId: session.row.id,
    path: job.path,
    query: { offset, limit: PAGE_ROWS },
  });
  /** A call was made, though nobody needs its response. */
  const discard = ({ call }: ApiResponse) => {
    try {
      store.recordCall(call);
    } catch {
      // What keeps the call from being recorded keeps the next page from being saved, too: that error is thrown.
    }
  };
  const parseLater = () => unread;
  const pages = prefetchPages({
    get: (offset, upcoming) =>
      api.get({ ...request(offset), read: parse }, signal, { upcoming, onWait: session.commit }),
    // A glance reads no more than it must.
    prefetch: (offset, upcoming) =>
      session.row.kind === 'walk'
        ? api.prefetch({ ...request(offset), read: parseLater }, prefetching.signal, upcoming)
        : undefined,
    check({ body, json, call }) {
      let page = json;
      try {
        if (json === unread) page = parse(body);
      } catch {
        call.errorCode = BAD_BODY;
        return undefined;
      }
      return checkPage(job, body, page, shape);
    },
    agree: (before, page) => showSameRows(job, before, page),
    discard,
  });

  return {
    async read(offset, at) {
      const { page, response } = await pages.next(at);
      if (signal.aborted) discard(response);
      signal.throwIfAborted();
      if (page.shape && page.shape !== shape) store.keepShape(job.name, page.shape);
      shape = page.shape;
      const digest = offset === 0 && typeof page.generatedAt === 'string' ? digestOf(job, page) : undefined;
      return { ...page, offset, ...session.lookUp(page), digest, call: response.call };
    },
    async close() {
      signal.removeEventListener('abort', stop);
      prefetching.abort(walkIsOver);
      await pages.end();
    },
  };
}

/**
 * Stands for the JSON of a prefetched page, which is parsed in its turn: its bytes take less memory than what they are parsed
 * to, and the discovered shape may change until then.
 */
const unread = Symbol();

/** The reason that ends prefetched calls; one object for all, since to make the usual reason is slow. */
const walkIsOver = new Error('the walk is over');

/** What a page says, apart from columns that change while their record does not. */
function digestOf(job: Job, { keys, accepted, refused }: CheckedRows): string {
  const stable = accepted.map((row) => stableOf(job, row));
  const problems = refused.map((row) => row.problems);
  return createHash('sha256')
    .update(JSON.stringify([keys, stable, problems]))
    .digest('base64');
}

/** Of the rows that both pages show. */
function showSameRows(job: Job, before: CheckedRows, page: CheckedRows): boolean {
  const state = stateOf(page);
  if (state !== undefined && state === stateOf(before)) return true;
  const shown = new Map(before.accepted.map((row) => [row.key, row]));
  return page.accepted.every((row) => {
    const other = shown.get(row.key);
    return !other || JSON.stringify(stableOf(job, row)) === JSON.stringify(stableOf(job, other));
  });
}

/** The state of the table in which all rows of the page are as they are stored; undefined where one is not. */
function stateOf({ accepted }: CheckedRows): number | undefined {
  const state = accepted[0]?.stored?.tableState;
  return accepted.every(({ stored }) => stored?.tableState === state) ? state : undefined;
}

function stableOf({ contract }: Job, { values }: Row): [string, unknown][] {
  return Object.entries(values).filter(([column]) => !contract?.volatile.includes(column));
}

/** Where responses come from, and what is made of them. `upcoming`: so many calls will follow. */
type PageSource = {
  get(offset: number, upcoming: number): Promise<ApiResponse>;
  /** Undefined where no request may be sent ahead of its turn. */
  prefetch(offset: number, upcoming: number): Prefetch | undefined;
  /** Undefined where a prefetched response turns out to be no page. */
  check(response: ApiResponse): CheckedPage | undefined;
  /** Whether rows that both pages show are the same in both: a prefetched page may be older than the one before. */
  agree(before: CheckedPage, page: CheckedPage): boolean;
  /** A call was made for this response, which nobody needs. */
  discard(response: ApiResponse): void;
};

/** How many pages are prefetched: at most, until it is known how many are of use, and at least. */
const PREFETCH = { most: 16, first: 4, least: 2 };
/** After so many responses in a row that had come before their turn, one page less is prefetched. */
const EARLY_RESPONSES = 16;

type Prefetched = { offset: number; call: Prefetch; hasResponse: boolean };
type PageWithResponse = { page: CheckedPage; response: ApiResponse };

/**
 * `next` resolves to the page that a walk at a checkpoint needs; what fails, fails as if it had been requested now. `end`
 * drops what was prefetched, and resolves when no call is in flight.
 */
export function prefetchPages(source: PageSource): {
  next(at: Checkpoint): Promise<PageWithResponse>;
  end(): Promise<void>;
} {
  /** No map: the tables that a growing map leaves behind would keep all responses (see `store/group-commit.ts`). */
  let prefetched: Prefetched[] = [];
  const inFlight = new Set<Promise<unknown>>();
  let last: CheckedPage | undefined;
  let pageRows = 0;
  let budget = PREFETCH.first;
  let early = 0;

  async function next(at: Checkpoint): Promise<PageWithResponse> {
    const offset = requestOffset(at);
    const following = followingPages(at, pageRows, budget);
    const ready = take(offset, following.offsets);
    if (!ready) return await requestNow(offset, following);
    prefetch(following);
    await adjustBudget(ready);
    const response = await ready.call.response;
    const page = response && check(ready, response);
    const isGood = page && provesAsMuch(at, page) && last !== undefined && source.agree(last, page);
    if (response) ready.call.end(Boolean(isGood));
    if (response && isGood) return { page, response };
    if (response) source.discard(response);
    if (!page) return await requestNow(offset, following);
    // The list has moved, so the pages behind this one are not as they were prefetched either.
    prefetched.forEach(drop);
    return await requestNow(offset, { ...following, offsets: [] });
  }

  /** Takes out the page prefetched at this offset, if its call is made. Pages that are no longer to follow are dropped. */
  function take(offset: number, following: readonly number[]): Prefetched | undefined {
    const found = prefetched.find((one) => one.offset === offset && one.call.isSent());
    if (found) forget(found);
    for (const one of prefetched) if (!following.includes(one.offset)) drop(one);
    return found;
  }

  /** The call whose turn it is goes before those that follow. */
  async function requestNow(offset: number, following: FollowingPages): Promise<PageWithResponse> {
    const requested = source.get(offset, following.calls);
    prefetch(following);
    const response = await requested;
    // Bytes that have arrived are read in this turn of the event loop, and become responses in the next one.
    await turn();
    return { page: source.check(response) as CheckedPage, response };
  }

  /**
   * Learns how many prefetched pages are of use: responses that wait for their turn stay in memory for long, and to collect
   * them is slow. Waits two turns of the event loop, in which responses that have arrived are read.
   */
  async function adjustBudget(ready: Prefetched): Promise<void> {
    await turn();
    await turn();
    early = ready.hasResponse ? early + 1 : 0;
    if (early === 0) budget = Math.min(PREFETCH.most, budget + 1);
    else if (early % EARLY_RESPONSES === 0) budget = Math.max(PREFETCH.least, budget - 1);
  }

  function prefetch({ calls, offsets }: FollowingPages): void {
    for (const offset of offsets) {
      if (prefetched.some((one) => one.offset === offset)) continue;
      const call = source.prefetch(offset, calls);
      if (!call) return;
      const one = { offset, call, hasResponse: false };
      prefetched.push(one);
      // Not `finally`, whose promise would keep the response.
      const done = call.response.then(() => {
        one.hasResponse = true;
        inFlight.delete(done);
      });
      inFlight.add(done);
    }
  }

  /** A response that breaks the envelope ends the walk, so its call was not wasted. */
  function check({ call }: Prefetched, response: ApiResponse): CheckedPage | undefined {
    try {
      return source.check(response);
    } catch (thrown) {
      call.end(true);
      throw thrown;
    }
  }

  function forget(one: Prefetched): void {
    prefetched = prefetched.filter((other) => other !== one);
  }

  function drop(one: Prefetched): void {
    forget(one);
    one.call.drop();
    // A call that is made already counts like any other.
    const discarded = one.call.response.then((response) => {
      if (response === undefined) return;
      one.call.end(false);
      source.discard(response);
    });
    const done = discarded.finally(() => inFlight.delete(done));
    inFlight.add(done);
  }

  return {
    async next(at) {
      const { page, response } = await next(at);
      last = page;
      pageRows = Math.max(pageRows, page.received);
      return { page, response };
    },
    async end() {
      prefetched.forEach(drop);
      await Promise.all(inFlight);
    },
  };
}

/** The pages behind the next one: how many, and where the first of them begin. */
type FollowingPages = { calls: number; offsets: readonly number[] };

/**
 * The pages that a walk will most likely request behind the next one, where each has `pageRows` rows, as far as `total` goes.
 * @param most the most offsets.
 */
function followingPages(at: Checkpoint, pageRows: number, most: number): FollowingPages {
  const none = { calls: 0, offsets: [] };
  if (!isSteady(at) || at.total === null || pageRows === 0) return none;
  const offsets: number[] = [];
  let end = requestOffset(at) + pageRows;
  const calls = Math.max(0, Math.ceil((at.total - end) / pageRows));
  let overlap = at.mode === 'anchored' ? at.overlap : 0;
  for (; end < at.total && offsets.length < most; end += pageRows - overlap) {
    overlap = Math.min(overlap, Math.max(1, overlap - 1));
    // A page so short would lead nowhere.
    if (overlap >= pageRows) return none;
    offsets.push(end - overlap);
  }
  return { calls, offsets };
}

/** Whether one page follows the other: not before the first, nor where a snapshot was replaced, nor in search of a row. */
function isSteady(at: Checkpoint): boolean {
  if (at.pagesOfPass === 0) return false;
  if (at.mode === 'snapshot') return at.restarts === 0;
  return at.phase === 'rows' && at.anchor !== null && at.rereadUntil === null;
}

/**
 * Whether a prefetched page proves as much as one requested now. A snapshot says itself what it is a page of. Elsewhere no row
 * may have come, gone or moved above it: it begins with the anchor, and the total is the same.
 */
function provesAsMuch(at: Checkpoint, { keys, pagination }: Pick<PageFacts, 'keys' | 'pagination'>): boolean {
  if (at.mode === 'snapshot') return true;
  return at.anchor !== null && keys[0] === at.anchor.key && pagination.total === at.total;
}
