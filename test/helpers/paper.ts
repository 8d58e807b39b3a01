/** The walk on paper: its own code over rows in memory, without HTTP or a database. */

import { beginning, type Checkpoint, type PageFacts } from '../../src/walk/checkpoint.ts';
import type { WalkEnd } from '../../src/walk.ts';
import { walk } from '../../src/walk.ts';

export type PaperWalk = {
  end: WalkEnd;
  checkpoint: Checkpoint;
  calls: number;
  /** Every key that came, and those that count as met. */
  received: Set<string>;
  met: Set<string>;
};

export type PaperOptions = {
  /** Where the walk begins. */
  from?: Checkpoint;
  generatedAt?: () => string | null | undefined;
  /** How many rows a page has at most, whatever is asked for. */
  pageRows?: (call: number) => number;
};

/** Walks over the keys that `rows` gives at each call. */
export async function walkOnPaper(
  rows: (call: number) => readonly string[],
  { from = beginning, generatedAt = () => undefined, pageRows = () => 100 }: PaperOptions = {},
): Promise<PaperWalk> {
  const received = new Set<string>();
  const met = new Set<string>();
  let calls = 0;
  const read = async (offset: number, limit: number): Promise<PageFacts> => {
    calls += 1;
    const all = rows(calls);
    const keys = all.slice(offset, offset + Math.min(limit, pageRows(calls)));
    for (const key of keys) received.add(key);
    return {
      offset,
      generatedAt: generatedAt(),
      received: keys.length,
      keys,
      seen: keys.map((key) => met.has(key)),
      known: keys.map(() => false),
      digest: undefined,
      pagination: {
        offset,
        limit,
        total: all.length,
        returned: keys.length,
        hasMore: offset + keys.length < all.length,
      },
    };
  };
  for await (const { page, checkpoint, met: change, end } of walk(read, from)) {
    if (change === 'clear') met.clear();
    if (change === 'add') for (const key of page.keys) met.add(key as string);
    if (end) return { end, checkpoint, calls, received, met };
  }
  throw new Error('the walk ended without an end');
}
