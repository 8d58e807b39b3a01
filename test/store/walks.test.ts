import { expect, test } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { isoTime } from '../../src/base/clock.ts';
import type { Keep } from '../../src/store.ts';
import { noteGlance } from '../helpers/glance-row.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { keepFor, passDays } from './support.ts';

const DAY = 24 * 3_600_000;
/** Rows on three pages, so that one call may renew a proof and save others. */
const setupPaged = () => setup({ rows: 101, faults: [() => faults.limitIgnored(40)] });

const lists = ['ai-signals', 'news'] as const;

/** Days on which each dataset is mirrored twice; every other day a row changes, comes, goes or is refused. */
async function live(bench: Bench, days: number): Promise<void> {
  for (let day = 0; day < days; day += 1) {
    for (const [job, field] of [
      ['ai-signals', 'confidence'],
      ['news', 'headline'],
    ] as const) {
      const upstream = bench.upstream(job);
      const rows = [...upstream.rows];
      if (day % 2 === 1) rows[day % 7] = { ...rows[day % 7], [field]: day / 100 };
      if (day % 4 === 1) rows.splice(12, 1);
      if (day % 6 === 1) rows.push(...upstream.make(1));
      upstream.rows = rows;
      if (day % 2 === 1 && job === 'ai-signals') upstream.generatedAt = isoTime(bench.clock.now());
      for (let walk = 0; walk < 2; walk += 1) {
        await bench.mirror(job);
        bench.clock.advance(DAY / 12);
      }
    }
    await bench.mirror('usage');
    bench.clock.advance(DAY / 2);
  }
}

const walksOf = (bench: Bench, job: string) =>
  bench.sql<{ id: number; finished_at: string; renewal_of: number | null; verdict: string }>(
    'SELECT id, finished_at, renewal_of, verdict FROM walks WHERE job = ? ORDER BY id',
    job,
  );

const idsOf = (bench: Bench, job: string) => walksOf(bench, job).map(({ id }) => id);

function pruneAll(bench: Bench, kept: Keep): void {
  for (const job of [...lists, 'usage']) bench.store.prune(bench.job(job), kept);
}

test('walks go when they are old; the first stays, and what is said of the rows is the same without them', async () => {
  const bench = await setupPaged();
  await live(bench, 8);
  const answers = () => [
    bench.sql('SELECT seq, at, job, key, change FROM changes ORDER BY seq, key'),
    bench.sql('SELECT job, rows, complete_as_of, verdict, status FROM freshness ORDER BY job'),
  ];
  const before = answers();
  const all = lists.map((job) => walksOf(bench, job));
  passDays(bench, 1);
  pruneAll(bench, keepFor({ records: 3 }));
  expect(answers()).toEqual(before);
  const horizon = isoTime(bench.clock.now() - 3 * DAY);
  expect(all.flat().length).toBeGreaterThan(30);
  lists.forEach((job, at) => {
    const walks = all[at] ?? [];
    const recent = walks.filter(({ finished_at }) => finished_at >= horizon);
    // Held rows count them.
    const proofs = walks.filter((walk) => walk.verdict !== 'union' && walk.renewal_of === null).slice(-2);
    expect(walksOf(bench, job)).toEqual(
      walks.filter((walk, nth) => nth === 0 || [...proofs, ...recent].includes(walk)),
    );
    expect(recent.length).toBeLessThan(walks.length / 2);
  });
  expect(await bench.mirror('ai-signals')).toMatchObject({ verdict: 'snapshot', inserted: 0, deleted: 0 });
});

test('the last proof stays, and what it rests on, however old it is', async () => {
  const bench = await setupPaged();
  await bench.mirror('ai-signals');
  await live(bench, 1);
  const proof = walksOf(bench, 'ai-signals').at(-1);
  expect(proof?.renewal_of).toBeGreaterThan(0);
  passDays(bench, 1_000);
  pruneAll(bench, keepFor({ records: 1 }));
  expect(idsOf(bench, 'ai-signals')).toEqual(expect.arrayContaining([proof?.id, proof?.renewal_of]));
});

test('the last proof stays though later walks prove nothing; of those the last one stays', async () => {
  const bench = await setup({ rows: 10 });
  for (let walk = 0; walk < 2; walk += 1) await bench.mirror('news');
  bench.model.faults = [() => [faults.withoutPagination()]];
  for (let walk = 0; walk < 5; walk += 1)
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'union' });
  passDays(bench, 10);
  bench.store.prune(bench.job('news'), keepFor({ records: 1 }));
  expect(idsOf(bench, 'news')).toEqual([1, 2, 7]);
});

test('walks that broke off stay until a later one reads all, since rows may be missing behind theirs', async () => {
  const bench = await setup({ rows: 250, walked: ['news'] });
  bench.model.faults = [when({}, faults.pagination({ hasMore: true }))];
  await expect(bench.mirror('news')).rejects.toThrow('lead nowhere');
  const prune = () => {
    passDays(bench, 10);
    bench.store.prune(bench.job('news'), keepFor({ records: 1 }));
    return idsOf(bench, 'news');
  };
  expect(prune()).toEqual([1, 2]);
  bench.model.faults = [];
  await bench.mirror('news');
  // The first one, which tells since when there is a mirror, and the last proof.
  expect(prune()).toEqual([1, 3]);
});

test('glances go like walks, once a later walk has read all', async () => {
  const bench = await setup({ rows: 10 });
  const glances = (count: number) => Array.from({ length: count }, () => noteGlance(bench, { job: 'news' }));
  await bench.mirror('news');
  glances(120);
  const last = await bench.mirror('news');
  passDays(bench, 10);
  const after = glances(2);
  bench.store.prune(bench.job('news'), keepFor({ records: 1 }));
  expect(idsOf(bench, 'news')).toEqual([1, last.id, ...after]);
});

test('a walk that is given up keeps the ages that it has read', async () => {
  const bench = await setup({ rows: 120, walked: ['ai-signals'] });
  const upstream = bench.upstream('ai-signals');
  const ages = () => bench.sql('SELECT sum(quality_age_seconds) AS sum FROM ai_signals');
  const aged = (row: Record<string, unknown>) => ({
    ...row,
    quality: { ...(row['quality'] as object), ageSeconds: 7 },
  });
  upstream.rows = upstream.rows.map(aged);
  upstream.generatedAt = isoTime(bench.clock.now());
  bench.model.faults = [when({}, faults.pagination({ hasMore: true }))];
  await expect(bench.mirror('ai-signals')).rejects.toThrow('lead nowhere');
  expect(ages()).toEqual([{ sum: 7 * 120 }]);
});
