/** The bare rule of the specification, and ours, over the same dataset. */

import type { Random } from '../../../model-api/index.ts';
import { PAGE_ROWS } from '../../../src/walk/checkpoint.ts';
import { walkOnPaper } from '../../../test/helpers/paper.ts';

export type Upstream = {
  /** The rows at the next call. */
  rows(): readonly string[];
  generatedAt(): string | undefined;
  /** Whether pages say how many rows there are. */
  hasTotal: boolean;
};

export type Outcome = {
  calls: number;
  /** Calls whose answers nobody needed. */
  wasted: number;
  received: Set<string>;
  /** The rows that count as met; what is not among them counts as absent. */
  met: Set<string>;
  /** What it claims to prove. */
  proof: 'snapshot' | 'verified' | null;
};

export type Rule = (upstream: Upstream) => Promise<Outcome>;

/** Go on while there are more, and advance by the rows that came (specification, StandardPagination). */
export const bareRule: Rule = async ({ rows }) => {
  const received = new Set<string>();
  for (let offset = 0, calls = 1; ; calls += 1) {
    const all = rows();
    const page = all.slice(offset, offset + PAGE_ROWS);
    for (const row of page) received.add(row);
    offset += page.length;
    if (offset >= all.length) return { calls, wasted: 0, received, met: received, proof: 'verified' };
  }
};

/** @param sideBySide so many calls under way at once, answered in an order drawn by `random`. */
export const ourRule =
  (sideBySide: number, random: Random): Rule =>
  async ({ rows, generatedAt, hasTotal }) => {
    const walked = await walkOnPaper(rows, {
      generatedAt,
      total: (count) => (hasTotal ? count : undefined),
      sideBySide: { calls: sideBySide, random },
    });
    const { calls, wasted, received, met, end } = walked;
    return { calls, wasted, received, met, proof: end.verdict === 'union' ? null : end.verdict };
  };
