import { expect, test } from 'vitest';
import { faults } from '../../model-api/index.ts';
import { isoTime } from '../../src/clock.ts';
import { retryRefused } from '../../src/mirror.ts';
import type { Keep } from '../../src/store.ts';
import { remove } from '../helpers/edits.ts';
import { noteGlance } from '../helpers/glance-row.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { keepFor, passDays } from './support.ts';

const DAY = 24 * 3_600_000;
/** Rows on three pages, so that one call may renew a proof and save others. */
const setupPaged = () => setup({ rows: 101, faults: [() => faults.limitIgnored(40)] });

const lists = ['ai-signals', 'news'] as const;

/** Days on which each dataset is mirrored four times; every other day a row changes, comes, goes or is refused. */
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
      for (let walk = 0; walk < 4; walk += 1) {
        await bench.mirror(job);
        bench.clock.advance(DAY / 24);
      }
    }
    await bench.mirror('usage');
    bench.clock.advance(DAY / 2);
  }
}

/** Walks to which something refers, and which are not there. */
function missing(bench: Bench): unknown[] {
  const tables = ['ai_signals', 'ai_signals_history', 'news', 'news_history', 'usage'];
  const rows = tables.map((table) => `SELECT _walk_id AS id FROM ${table}`);
  const others = ['quarantine', 'fields', 'drift'].map((table) => `SELECT walk_id FROM ${table}`);
  const proofs = ['SELECT renewal_of FROM walks WHERE renewal_of IS NOT NULL', 'SELECT walk_id FROM changes'];
  const referred = [...rows, ...others, ...proofs].join(' UNION ');
  return bench.sql(`SELECT id FROM (${referred}) WHERE id IS NULL OR id NOT IN (SELECT id FROM walks)`);
}

const walksOf = (bench: Bench, job: string) =>
  bench.sql<{ id: number; finished_at: string; last_seq: number | null; renewal_of: number | null }>(
    'SELECT id, finished_at, last_seq, renewal_of FROM walks WHERE job = ? ORDER BY id',
    job,
  );

async function pruneAll(bench: Bench, kept: Keep): Promise<void> {
  for (const job of [...lists, 'usage']) await bench.store.prune(bench.job(job), kept);
}

test('walks that changed nothing go when they are old; what refers to a walk finds it', async () => {
  const bench = await setupPaged();
  await live(bench, 8);
  const answers = () => [
    bench.sql('SELECT * FROM changes ORDER BY seq, key'),
    bench.sql('SELECT job, rows, complete_as_of, verdict, status FROM freshness ORDER BY job'),
    bench.sql('SELECT job, calls_saved FROM _datasets ORDER BY job'),
  ];
  const before = { answers: answers(), walks: lists.map((job) => walksOf(bench, job)) };
  expect(missing(bench)).toEqual([]);
  const [saved] = bench.sql<{ calls: number }>('SELECT sum(calls_saved) AS calls FROM walks');
  expect(saved?.calls).toBeGreaterThan(10);
  expect(bench.sql('SELECT sum(calls_saved) AS calls FROM _datasets')).toEqual([saved]);

  await pruneAll(bench, keepFor({ walks: 3 }));

  expect(missing(bench)).toEqual([]);
  expect(answers()).toEqual(before.answers);
  const horizon = isoTime(bench.clock.now() - 3 * DAY);
  lists.forEach((job, at) => {
    const walks = before.walks[at] ?? [];
    const left = walksOf(bench, job);
    expect(left[0]).toEqual(walks[0]);
    expect(left.filter((walk) => walk.finished_at >= horizon)).toEqual(
      walks.filter((walk) => walk.finished_at >= horizon),
    );
    expect(left.filter((walk) => walk.last_seq)).toEqual(walks.filter((walk) => walk.last_seq));
    // The walk that began the mirror, the last whole one of those that are due, and what a field or a row refers to.
    const idle = left.filter((walk) => walk.finished_at < horizon && !walk.last_seq);
    expect(idle.length).toBeLessThan(8);
    expect(walks.filter((walk) => walk.finished_at < horizon && !walk.last_seq).length).toBeGreaterThan(12);
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
  await pruneAll(bench, keepFor({ walks: 1 }));
  const ids = walksOf(bench, 'ai-signals').map(({ id }) => id);
  expect(ids).toContain(proof?.id);
  expect(ids).toContain(proof?.renewal_of);
  expect(missing(bench)).toEqual([]);
});

test('the last proof stays, though later walks proved nothing', async () => {
  const bench = await setup({ rows: 10 });
  const [, proof] = [await bench.mirror('news'), await bench.mirror('news')];
  bench.model.faults = [() => [faults.withoutPagination('hasMore')]];
  for (let walk = 0; walk < 3; walk += 1)
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'union' });
  passDays(bench, 10);
  await bench.store.prune(bench.job('news'), keepFor({ walks: 1 }));
  expect(walksOf(bench, 'news').map(({ id }) => id)).toContain(proof?.id);
});

test('a walk on which a renewal rests stays as long as that', async () => {
  const bench = await setupPaged();
  const walks = [];
  for (const hours of [24, 1, 1, 23, 24, 0]) {
    walks.push(await bench.mirror('ai-signals'));
    bench.clock.advance((hours * DAY) / 24);
  }
  expect(walks.map(({ renewalOf }) => renewalOf)).toEqual([
    null,
    null,
    walks[1]?.id,
    walks[1]?.id,
    null,
    null,
  ]);
  // Between the two renewals of the second walk.
  await bench.store.prune(bench.job('ai-signals'), keepFor({ walks: 47.5 / 24 }));
  const kept = walks.filter((_, at) => at !== 2);
  expect(walksOf(bench, 'ai-signals').map(({ id }) => id)).toEqual(kept.map(({ id }) => id));
});

test('a walk on which a renewal rests stays, where something refers to the renewal alone', async () => {
  const bench = await setupPaged();
  for (const hours of [24, 1, 23, 24, 240]) {
    await bench.mirror('ai-signals');
    bench.clock.advance((hours * DAY) / 24);
  }
  bench.tamper(`INSERT INTO drift (job, kind, path, detail, times, walk_id, first_seen_at, last_seen_at)
    SELECT job, 'extra-property', '', '', 1, id, '', '9' FROM walks WHERE renewal_of IS NOT NULL`);
  await bench.mirror('ai-signals');
  await bench.store.prune(bench.job('ai-signals'), keepFor({ walks: 1, drift: 1 }));
  expect(walksOf(bench, 'ai-signals').filter((walk) => walk.renewal_of)).toHaveLength(1);
  expect(missing(bench)).toEqual([]);
});

test('the first walk stays, though it found nothing, since it tells since when there is a mirror', async () => {
  const bench = await setup({ rows: 0 });
  const walks = [];
  for (let day = 0; day < 6; day += 1) {
    walks.push(await bench.mirror('news'));
    bench.clock.advance(DAY);
  }
  await bench.store.prune(bench.job('news'), keepFor({ walks: 1 }));
  const left = walksOf(bench, 'news').map(({ id }) => id);
  expect(left[0]).toBe(walks[0]?.id);
  expect(left.length).toBeLessThan(walks.length);
});

test('a walk that did nothing but remove a row stays as long as the history shows that', async () => {
  const bench = await setup({ rows: 10, walked: ['news'] });
  remove(3)(bench.upstream('news'));
  await bench.mirror('news');
  const { id, deleted } = await bench.mirror('news');
  expect(deleted).toBe(1);
  bench.tamper(`UPDATE sqlite_sequence SET seq = 20000 WHERE name = 'walks'`);
  for (let day = 0; day < 5; day += 1) {
    bench.clock.advance(DAY);
    await bench.mirror('news');
  }
  await bench.store.prune(bench.job('news'), keepFor({ walks: 1, history: 100 }));
  expect(walksOf(bench, 'news').map((walk) => walk.id)).toContain(id);
  expect(missing(bench)).toEqual([]);
});

test('walks whose changes no row shows any longer go too, once a history is bounded', async () => {
  const bench = await setupPaged();
  await live(bench, 8);
  const [first] = walksOf(bench, 'usage');
  // A sweep comes every ten thousand walks.
  bench.tamper(`UPDATE sqlite_sequence SET seq = 20000 WHERE name = 'walks'`);
  await live(bench, 8);
  const before = walksOf(bench, 'ai-signals').length + walksOf(bench, 'usage').length;
  await pruneAll(bench, keepFor({ walks: 2, history: 2, usage: 2 }));
  expect(missing(bench)).toEqual([]);
  const left = [...walksOf(bench, 'ai-signals'), ...walksOf(bench, 'usage')];
  expect(left.length).toBeLessThan(before / 2);
  expect(walksOf(bench, 'usage').length).toBeLessThan(8);
  expect(walksOf(bench, 'usage')[0]).toEqual(first);
});

test('glances go like walks that changed nothing; those that changed something stay, and stop nobody', async () => {
  const bench = await setup({ rows: 10 });
  const walk = () => bench.mirror('news');
  const glances = (count: number, lastSeq?: number) =>
    Array.from({ length: count }, () => noteGlance(bench, { job: 'news', ...(lastSeq && { lastSeq }) }));
  const [first, , idle] = [await walk(), glances(3), await walk()];
  const changed = glances(120, 7);
  glances(120);
  const rest = [await walk()];
  passDays(bench, 10);
  rest.push(await walk());
  const after = glances(2);
  await bench.store.prune(bench.job('news'), keepFor({ walks: 1 }));
  const left = walksOf(bench, 'news').map(({ id }) => id);
  expect(left).toEqual([first.id, ...changed, ...rest.map(({ id }) => id), ...after]);
  expect(left).not.toContain(idle.id);
});

test('a walk says how many rows glances have brought since the walk before; a glance says that of no others', async () => {
  const bench = await setup({ rows: 150, walked: ['news'] });
  const { rows, make } = bench.upstream('news');
  for (const news of [9, 2]) {
    rows.unshift(...make(news));
    expect(await bench.glance('news')).toMatchObject({ inserted: news, glanced: 0 });
  }
  rows.splice(130, 0, ...make(3));
  expect(await bench.mirror('news')).toMatchObject({ inserted: 3, glanced: 11 });
  expect(await bench.mirror('news')).toMatchObject({ inserted: 0, glanced: 0 });
});

test('a row that a retry let in finds its walk', async () => {
  const bench = await setupPaged();
  await live(bench, 1);
  bench.tamper(`INSERT INTO quarantine (job, identity, body, problems, walk_id, first_seen_at, last_seen_at)
    SELECT job, 'x', '{"id":"back"}', '[]', max(id), '', '' FROM walks WHERE job = 'news'`);
  await live(bench, 1);
  bench.tamper(`UPDATE walks SET renewal_of = NULL;
    UPDATE quarantine SET walk_id = (SELECT max(id) FROM walks WHERE job = 'news'), resolved_at = NULL`);
  expect(retryRefused(bench.job('news'), bench.store)).toMatchObject({ mirrored: 1 });
  bench.tamper('DELETE FROM quarantine');
  await bench.mirror('news');
  passDays(bench, 10);
  await bench.mirror('news');
  await pruneAll(bench, keepFor({ walks: 1 }));
  expect(missing(bench)).toEqual([]);
});

test('a store that has nothing to forget writes nothing', async () => {
  const bench = await setupPaged();
  await live(bench, 3);
  bench.tamper('PRAGMA wal_checkpoint(TRUNCATE)');
  const changes = () => bench.sql('SELECT * FROM _datasets');
  const before = changes();
  await pruneAll(bench, keepFor({ walks: 400, history: 90, drift: 90, quarantine: 90 }));
  expect(changes()).toEqual(before);
  expect(bench.sql<{ frames: number }>('PRAGMA wal_checkpoint')[0]).toMatchObject({ log: 0 });
});
