/** The walk on paper: its own code over rows in memory, without HTTP or a database. */

import type { ApiResponse, Prefetch } from '../../src/api.ts';
import { prefetchPages } from '../../src/mirror/pages.ts';
import type { CheckedPage } from '../../src/validate/checked.ts';
import { beginning, type Checkpoint, PAGE_ROWS, type PageFacts } from '../../src/walk/checkpoint.ts';
import type { WalkEnd } from '../../src/walk.ts';
import { walk } from '../../src/walk.ts';

export type PaperWalk = {
  end: WalkEnd;
  checkpoint: Checkpoint;
  calls: number;
  /** Calls whose answers nobody needed. */
  wasted: number;
  /** Every key that came, and those that count as met. */
  received: Set<string>;
  met: Set<string>;
};

export type PaperOptions = {
  /** Where the walk begins. */
  from?: Checkpoint;
  generatedAt?: () => string | null | undefined;
  /** As many rows as there are, unless given. */
  total?: (rows: number) => number | undefined;
  /** How many rows a page has at most, whatever is asked for. */
  pageRows?: (call: number) => number;
  /** Calls that may be under way at once, which are answered in an order drawn by `random`. */
  sideBySide?: { calls: number; random: () => number };
};

/** A page of these keys as validation gives it. */
export function checkedPage(
  keys: readonly string[],
  offset: number,
  facts: Pick<CheckedPage, 'generatedAt'> & { total: number | undefined; hasMore: boolean },
): CheckedPage {
  const { generatedAt, total, hasMore } = facts;
  return {
    generatedAt,
    received: keys.length,
    keys,
    pagination: { offset, limit: PAGE_ROWS, total, returned: keys.length, hasMore },
    accepted: [],
    refused: [],
    drifts: [],
    fields: { rows: keys.length, fields: [] },
    shape: undefined,
  };
}

/** The answer of an API that brings this page. */
export function answerOf(json: CheckedPage): ApiResponse {
  const call = {
    ...{ at: '', job: '', walkId: null, url: '', status: 200, ms: 0, bytes: 0, requestId: null },
    ...{ rateLimit: null, rateRemaining: null, errorCode: null },
  };
  return { body: { bytes: Buffer.alloc(0), text: () => '' }, json, call };
}

/** Walks over the keys that `rows` gives at each call. */
export async function walkOnPaper(
  rows: (call: number) => readonly string[],
  {
    from = beginning,
    generatedAt = () => undefined,
    total: totalOf = (rows) => rows,
    pageRows = () => PAGE_ROWS,
    ...options
  }: PaperOptions = {},
): Promise<PaperWalk> {
  const { calls: mostCalls, random } = options.sideBySide ?? { calls: 1, random: () => 0 };
  const received = new Set<string>();
  const met = new Set<string>();
  let calls = 0;
  let underWay = 0;
  let staked = 0;
  let wasted = 0;

  function answer(offset: number): ApiResponse {
    calls += 1;
    const all = rows(calls);
    const keys = all.slice(offset, offset + Math.min(PAGE_ROWS, pageRows(calls)));
    const hasMore = offset + keys.length < all.length;
    return answerOf(
      checkedPage(keys, offset, { generatedAt: generatedAt(), total: totalOf(all.length), hasMore }),
    );
  }

  /** Others are answered meanwhile. */
  async function get(offset: number): Promise<ApiResponse> {
    underWay += 1;
    if (mostCalls > 1)
      for (let turns = Math.floor(random() * 6 * mostCalls); turns > 0; turns -= 1) await undefined;
    underWay -= 1;
    return answer(offset);
  }

  function prefetch(offset: number): Prefetch | undefined {
    if (mostCalls === 1 || underWay >= mostCalls || staked >= mostCalls) return undefined;
    staked += 1;
    const end = () => {
      staked -= 1;
    };
    return { response: get(offset), isSent: () => true, drop: () => undefined, end };
  }

  const pages = prefetchPages({
    get,
    prefetch,
    check: ({ json }) => json as CheckedPage,
    agree: () => true,
    discard() {
      wasted += 1;
    },
  });
  const read = async (offset: number, at: Checkpoint): Promise<PageFacts> => {
    const { page } = await pages.next(at);
    for (const key of page.keys) received.add(key as string);
    return {
      ...page,
      offset,
      digest: undefined,
      met: page.keys.map((key) => key !== null && met.has(key)),
      known: page.keys.map(() => false),
    };
  };
  for await (const { page, checkpoint, metRows: change, end } of walk(read, from)) {
    if (change === 'clear') met.clear();
    if (change === 'add') for (const key of page.keys) met.add(key as string);
    if (!end) continue;
    await pages.end();
    return { end, checkpoint, calls, wasted, received, met };
  }
  throw new Error('the walk ended without an end');
}
