import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isProof } from '../../helpers/invariants.ts';
import type { Bench } from '../../helpers/mirror-bench.ts';
import {
  live,
  openLives,
  type Passage,
  type Scenario,
  scenarios,
  type Wildness,
} from '../../helpers/scenario.ts';
import { few } from '../../helpers/seeds.ts';
import { pagesOf, type Reader, type Row, rowsOf } from './support.ts';

let lives: Awaited<ReturnType<typeof openLives>>;
beforeAll(async () => {
  lives = await openLives();
});
afterAll(() => lives.close());

const sizes = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 4 });

describe('whatever happens to a dataset, its pages', () => {
  it.each([
    ['that changes in any way', 'any', 2],
    ['that is interrupted', 'interrupted', 1],
    ['that keeps its order', 'orderly', 1],
    ['that shows new rows first', 'feed', 2],
  ] as const)(
    '%s show what was committed, in the order of upstream, for ever',
    async (_, wildness, numRuns) => {
      const property = fc.asyncProperty(scenarios(wildness, 30), sizes, async (scenario, pageSizes) => {
        const bench = lives.benchFor(scenario);
        const reader = pagesOf(bench);
        try {
          const watcher = watch(bench, reader, scenario, wildness);
          await live(bench, scenario, watcher);
          watcher.lookBack(pageSizes);
        } finally {
          reader.close();
        }
      });
      await fc.assert(property, { numRuns: few(numRuns) });
    },
  );
});

/** Looks at every moment as it comes, and at all of them again at the end. */
function watch(bench: Bench, pages: Reader, { job, dated }: Scenario, wildness: Wildness) {
  const { idField } = bench.upstream(job);
  const table = bench.job(job).rows;
  const seen = new Map<number, Row[]>();
  const key = (row: Row) => String(row[idField]);
  const isSnapshot = job === 'ai-signals' && dated;
  let proven: Row[] | undefined;

  function look(): Row[] | undefined {
    const moment = pages.momentOf(job);
    if (typeof moment === 'string') {
      expect(moment).toBe('unread');
      return undefined;
    }
    const rows = rowsOf(pages, moment).map(stable);
    expect(new Set(rows.map(key)).size).toBe(moment.total);
    expect(rows).toEqual(seen.get(moment.seq) ?? rows);
    seen.set(moment.seq, rows);
    if (moment.generatedAt !== null) expect(rows).toEqual(proven ?? rows);
    else expect(rows.map(versionOf).sort()).toEqual(mirrored());
    return rows;
  }

  /** As far as it shows what a version is in the mirror, too. */
  const versionOf = (row: Row) =>
    JSON.stringify(job === 'ai-signals' ? [key(row), row['action'], row['rationale']] : row);
  const mirrored = () =>
    [...bench.table(table).values()]
      .map(({ id, action, rationale, _body: body }) =>
        JSON.stringify(body === undefined ? [id, action, rationale] : JSON.parse(String(body))),
      )
      .sort();

  return {
    beforeAnswer: () => void look(),
    afterPassage(passage: Passage) {
      if (isProof(passage)) proven = undefined;
      const rows = look() ?? [];
      if (!isProof(passage)) return;
      proven = rows;
      const upstream = [...(passage.upstream.at(-1)?.keys() ?? [])];
      const shown = rows.map(key);
      const isCalm = passage.upstream.every((then) => sameEntries(then, passage.upstream[0]));
      if (isCalm && passage.walk.renewalOf === null) {
        const there = bench.upstream(job).rows.map((row) => stable(JSON.parse(JSON.stringify(row))));
        expect(shown.slice(0, upstream.length)).toEqual(upstream);
        expect(rows.slice(0, isSnapshot ? rows.length : there.length)).toEqual(there);
      }
      if (wildness !== 'feed') return;
      expect(shown.filter((one) => upstream.includes(one))).toEqual(
        upstream.filter((one) => shown.includes(one)),
      );
    },
    lookBack(pageSizes: readonly number[]) {
      for (const [seq, rows] of seen) {
        const moment = pages.momentOf(job, seq);
        if (typeof moment === 'string') throw new Error(`${seq} is ${moment}`);
        expect(moment.seq).toBe(seq);
        expect(rowsOf(pages, moment, pageSizes).map(stable)).toEqual(rows);
      }
    },
  };
}

const sameEntries = (one: Map<string, string>, other: Map<string, string> = new Map()) =>
  JSON.stringify([...one]) === JSON.stringify([...other]);

/** Without what is always the latest. */
function stable(row: Row): Row {
  const { quality, ...rest } = row;
  if (typeof quality !== 'object') return row;
  const { ageSeconds: _, freshness: __, ...others } = quality as Row;
  return { ...rest, quality: others };
}
