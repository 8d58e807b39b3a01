/**
 * The pages of a walk, one after the other: requested, checked, and compared with the mirror. Requests for the following pages are
 * sent before their turn (prefetched). A prefetched page that does not fit is requested again. docs/reliability.md says what
 * prefetching means for the proof.
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
  // Each call in flight listens; beyond ten listeners Node.js would warn of a leak.
  setMaxListeners(0, prefetching.signal);
  const stop = () => prefetching.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  let shape = store.shape(job.name);

  const parse = (body: Body) => {
    try {
      return readPage(body, shape, session.findStoredRun());
    } catch {
      // An error of the database comes again when the page is saved.
      return JSON.parse(body.text());
    }
  };
  const request = (offset: number) => ({
    job: job.name,
    walkId: session.row.id,
    path: job.path,
    query: { offset, limit: PAGE_ROWS },
  });
  /** Records the call of a response whose page is not kept. */
  const discard = ({ call }: ApiResponse) => {
    try {
      store.recordCall(call);
    } catch {
      // An error of the database comes again when the next page is saved.
    }
  };
  const pages = prefetchPages({
    get: (offset, upcoming) =>
      api.get({ ...request(offset), read: parse }, signal, { upcoming, onWait: session.commit }),
    // A glance reads no more than it must.
    prefetch: (offset, upcoming) =>
      session.row.kind === 'walk'
        ? api.prefetch({ ...request(offset), read: () => unread }, prefetching.signal, upcoming)
        : undefined,
    check(response) {
      const { body, json, call } = response;
      let page = json;
      try {
        if (json === unread) page = parse(body);
      } catch {
        call.errorCode = BAD_BODY;
        return undefined;
      }
      try {
        return checkPage(job, body, page, shape);
      } catch (thrown) {
        // A broken envelope ends the walk: no page takes the call along.
        discard(response);
        throw thrown;
      }
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

/** Stands for the JSON of a prefetched page until its turn: bytes take less memory, and the discovered shape may change. */
const unread = Symbol();

/** Why prefetched calls are aborted; one object for all, since making an error is slow. */
const walkIsOver = new Error('the walk is over');

/** A digest of the page without its volatile columns. */
function digestOf(job: Job, { keys, accepted, refused }: CheckedRows): string {
  const stable = accepted.map((row) => stableOf(job, row));
  const problems = refused.map((row) => row.problems);
  return createHash('sha256')
    .update(JSON.stringify([keys, stable, problems]))
    .digest('base64');
}

/** Whether rows that both pages show are the same in both. */
function showSameRows(job: Job, before: CheckedRows, page: CheckedRows): boolean {
  // Both are as they are stored, and none of their rows waits to be written.
  if (before.fields.areStored && page.fields.areStored) return true;
  const shown = new Map(before.accepted.map((row) => [row.key, row]));
  return page.accepted.every((row) => {
    const other = shown.get(row.key);
    return !other || JSON.stringify(stableOf(job, row)) === JSON.stringify(stableOf(job, other));
  });
}

function stableOf({ contract }: Job, { values }: Row): [string, unknown][] {
  return Object.entries(values).filter(([column]) => !contract?.volatile.includes(column));
}

/** Where responses come from, and what is made of them. `upcoming`: so many calls will follow. */
type PageSource = {
  get(offset: number, upcoming: number): Promise<ApiResponse>;
  /** Undefined where no request may be sent ahead of its turn. */
  prefetch(offset: number, upcoming: number): Prefetch | undefined;
  /** Undefined where a prefetched response turns out to be no page. Records the call where it throws. */
  check(response: ApiResponse): CheckedPage | undefined;
  /** Whether the pages show the same rows where they overlap: a prefetched page may be older than the one before. */
  agree(before: CheckedPage, page: CheckedPage): boolean;
  /** A call was made for this response, which nobody needs. */
  discard(response: ApiResponse): void;
};

/** How many pages are prefetched: the most, the number to begin with, the least. */
const PREFETCH = { most: 16, first: 4, least: 2 };
/** After so many early responses in a row, one page less is prefetched. */
const EARLY_RESPONSES = 16;

type Prefetched = { offset: number; call: Prefetch; hasResponse: boolean };
type PageWithResponse = { page: CheckedPage; response: ApiResponse };

/**
 * `next` resolves to the page that a walk at this checkpoint needs, and throws as a request would. `end` drops all prefetched
 * pages, and resolves when no call is in flight.
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

  async function findPage(at: Checkpoint): Promise<PageWithResponse> {
    const offset = requestOffset(at);
    const following = followingPages(at, pageRows, budget);
    const ready = take(offset, following.offsets);
    if (!ready) return await requestNow(offset, following);
    prefetch(following);
    await adjustBudget(ready);
    const response = await ready.call.response;
    if (!response) return await requestNow(offset, following);
    const page = check(ready, response);
    const isGood = page !== undefined && provesAsMuch(at, page) && !!last && source.agree(last, page);
    ready.call.end(isGood);
    if (isGood) return { page, response };
    source.discard(response);
    if (!page) return await requestNow(offset, following);
    // The list has moved, and the pages behind this one with it.
    prefetched.forEach(drop);
    return await requestNow(offset, { ...following, offsets: [] });
  }

  /** Takes out the page prefetched at this offset, if its call was sent. Drops pages that no longer follow. */
  function take(offset: number, following: readonly number[]): Prefetched | undefined {
    const found = prefetched.find((one) => one.offset === offset && one.call.isSent());
    if (found) forget(found);
    for (const one of prefetched) if (!following.includes(one.offset)) drop(one);
    return found;
  }

  /** Sends the call whose turn it is before those that follow. */
  async function requestNow(offset: number, following: FollowingPages): Promise<PageWithResponse> {
    const requested = source.get(offset, following.calls);
    prefetch(following);
    const response = await requested;
    // Node.js reads arrived bytes in this turn of the event loop; in the next they are responses.
    await turn();
    return { page: source.check(response) as CheckedPage, response };
  }

  /**
   * Prefetches fewer pages where responses come early: those that wait stay in memory for long, and collecting them is slow.
   * Waits two turns of the event loop, in which arrived responses are read.
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

  /** A broken envelope ends the walk, so the call was needed. */
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
    // A call that was sent already counts like any other.
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
      const found = await findPage(at);
      last = found.page;
      pageRows = Math.max(pageRows, last.received);
      return found;
    },
    async end() {
      prefetched.forEach(drop);
      await Promise.all(inFlight);
    },
  };
}

/** The pages behind the next one: how many, and where the first of them begin. */
type FollowingPages = { calls: number; offsets: readonly number[] };

/** The pages that a walk will most likely request behind the next one, up to `total`. @param most the most offsets. */
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

/** Whether the next offsets are known: not before the first page, after a restart, or in search of a row. */
function isSteady(at: Checkpoint): boolean {
  if (at.pagesOfPass === 0) return false;
  if (at.mode === 'snapshot') return at.restarts === 0;
  return at.phase === 'rows' && at.anchor !== null && at.rereadUntil === null;
}

/**
 * Whether a prefetched page proves as much as one requested now. A snapshot's page names its snapshot. Any other must begin with
 * the anchor, at the same total: then no row has come, gone or moved above it.
 */
function provesAsMuch(at: Checkpoint, { keys, pagination }: Pick<PageFacts, 'keys' | 'pagination'>): boolean {
  if (at.mode === 'snapshot') return true;
  return at.anchor !== null && keys[0] === at.anchor.key && pagination.total === at.total;
}
