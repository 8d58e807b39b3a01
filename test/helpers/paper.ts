/** The walk on paper: its own code over rows in memory, without HTTP or a database. */

import {
  beginning,
  type Checkpoint,
  PAGE_ROWS,
  type PageFacts,
  requestOf,
} from '../../src/walk/checkpoint.ts';
import { takeStep, type WalkEnd } from '../../src/walk.ts';

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
  /** As many rows as there are, unless given. */
  total?: (rows: number) => number | undefined;
  /** How many rows a page has at most, whatever is asked for. */
  pageRows?: (call: number) => number;
};

/** Walks over the keys that `rows` gives at each call. */
export async function walkOnPaper(
  rows: (call: number) => readonly string[],
  {
    from = beginning,
    generatedAt = () => undefined,
    total: totalOf = (rows) => rows,
    pageRows = () => PAGE_ROWS,
  }: PaperOptions = {},
): Promise<PaperWalk> {
  const received = new Set<string>();
  const met = new Set<string>();
  for (let checkpoint = from, calls = 1; ; calls += 1) {
    const { offset } = requestOf(checkpoint);
    const all = rows(calls);
    const keys = all.slice(offset, offset + Math.min(PAGE_ROWS, pageRows(calls)));
    for (const key of keys) received.add(key);
    const hasMore = offset + keys.length < all.length;
    const page: PageFacts = {
      ...{ offset, keys, received: keys.length, generatedAt: generatedAt(), digest: undefined },
      pagination: { offset, total: totalOf(all.length), returned: keys.length, hasMore },
      met: keys.map((key) => met.has(key)),
      known: keys.map(() => false),
      doubled: keys.map((key, at) => keys.indexOf(key) < at),
    };
    const step = takeStep(checkpoint, page, undefined, 'walk');
    if (step.metRows === 'clear') met.clear();
    if (step.metRows === 'add') for (const key of keys) met.add(key);
    checkpoint = step.checkpoint;
    if (step.end) return { end: step.end, checkpoint, calls, received, met };
  }
}
