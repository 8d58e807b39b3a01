import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { seededRandom, shuffled } from '../../model-api/index.ts';
import { isoTime } from '../../src/clock.ts';
import { openReadOnly } from '../../src/store/connection.ts';
import { countRows, servedSince } from '../../src/store/orders.ts';
import { packRowids, RowidSet, unpackRowids } from '../../src/store/rowids.ts';
import { bump, change, insert, publish, remove } from '../helpers/edits.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { keysNow, setupPages, setupRead } from '../reading/pages/support.ts';
import { keepFor, passDays } from './support.ts';

const HOUR = 3_600_000;
const WEEK_MS = 7 * 24 * HOUR;

/** What orders take, and what the database does. */
function bytesOf(bench: Bench) {
  const [orders] = bench.sql<{ bytes: number; count: number }>(
    'SELECT sum(coalesce(length(rowids), 0) + 100) AS bytes, count(*) AS count FROM orders',
  );
  const [database] = bench.sql<{ bytes: number }>(
    'SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size',
  );
  return { orders: orders?.bytes ?? 0, count: orders?.count ?? 0, database: database?.bytes ?? 0 };
}

const orderSeqs = (bench: Bench) =>
  bench.sql<{ seq: number }>('SELECT seq FROM orders ORDER BY seq').map(({ seq }) => seq);

/** Orders that have a list of their own. */
const lists = (bench: Bench) =>
  bench.sql('SELECT seq FROM orders WHERE rowids IS NOT NULL ORDER BY seq').map(({ seq }) => seq);

it('a published snapshot is served since its latest proof, and another list since no time', async () => {
  const bench = await setup({ rows: 1, walked: ['news'] });
  const connection = openReadOnly(bench.store.file);
  onTestFinished(() => void connection.close());
  expect(servedSince(connection, 'ai-signals')).toBeUndefined();
  await bench.mirror('ai-signals');
  expect(servedSince(connection, 'ai-signals')).toBe(isoTime(orderSeqs(bench).at(-1) ?? 0));
  expect(servedSince(connection, 'news')).toBeUndefined();
});

it('with what glances brought since, the last order tells how many rows there are', async () => {
  const bench = await setup({ rows: 150, walked: ['news'] });
  const connection = openReadOnly(bench.store.file);
  onTestFinished(() => void connection.close());
  for (const rows of [153, 155]) {
    insert(0, rows - bench.table('news').size)(bench.upstream('news'));
    expect(await bench.glance('news')).toMatchObject({ kind: 'glance' });
    expect(countRows(connection, 'news', 'news_rows')).toBe(rows);
  }
});

describe('the order of rows', () => {
  it('is read back at each kept seq as it was proven, for a week, whatever came since', async () => {
    const edit = fc.oneof(
      fc.nat(90).map(bump),
      fc.nat(90).map((at) => insert(at, 3)),
      fc.nat(90).map((at) => remove(at, 2)),
      fc.nat(90).map((at) => change(at, { headline: 'changed' })),
      fc.constant(() => undefined),
    );
    const life = fc.array(fc.tuple(edit, fc.nat(40)), { minLength: 5, maxLength: 15 });
    await fc.assert(
      fc.asyncProperty(life, async (steps) => {
        const { bench, dataset, pages, now, keys } = await setupRead('news', 120);
        const proven = new Map<number, string[]>();
        for (const [edit, hours] of steps) {
          edit(dataset);
          await bench.mirror('news');
          proven.set(now().seq, keys());
          bench.clock.advance(hours * HOUR);
        }
        const orders = orderSeqs(bench);
        passDays(bench, 6);
        await bench.store.prune(bench.job('news'), keepFor({}));
        for (const [seq, shown] of proven) {
          const next = orders.find((order) => order > seq);
          if (next === undefined || next > bench.clock.now() - WEEK_MS) expect(keys(seq)).toEqual(shown);
          else expect(pages.momentOf('news', seq)).toBe('gone');
        }
      }),
      { numRuns: 3 },
    );
  });

  it('of a list that is shuffled before each of many proofs takes a tenth of the database, the latest first', async () => {
    const bench = await setup({ rows: 300 });
    const dataset = bench.upstream('news');
    const pages = setupPages(bench);
    const earlier = Array.from({ length: 250 }, (_, at) => at + 1);
    let evicted = 0;
    for (let proofs = 0; proofs < 40; proofs += 1) {
      dataset.rows = shuffled(dataset.rows, seededRandom(proofs + 1));
      bench.clock.advance(60_000);
      await bench.mirror('news');
      // As if many others had been before it, and rows removed in between.
      if (proofs === 1)
        bench.tamper(`INSERT INTO removed_rows SELECT 'news', value, value, value FROM json_each('[${earlier}]');
          INSERT INTO orders
          SELECT job, seq - value, walk_id, verdict, complete_as_of, generated_at, rowids, same_as, rows, met, held, top
          FROM orders, json_each('[${earlier}]') WHERE seq = (SELECT max(seq) FROM orders)`);
      const { count } = bytesOf(bench);
      await bench.store.prune(bench.job('news'), keepFor({}));
      const { orders, database, count: left } = bytesOf(bench);
      expect(orders).toBeLessThanOrEqual(database / 10);
      evicted += count - left;
    }
    expect(evicted).toBeGreaterThan(20);
    const kept = orderSeqs(bench);
    expect(kept.length).toBeGreaterThan(20);
    expect(keysNow(bench, pages, 'news', kept.at(-1))).toEqual(dataset.rows.map(({ id }) => id));
    expect(pages.momentOf('news', (kept[0] ?? 0) - 1)).toBe('gone');
    expect(bench.sql('SELECT 1 FROM removed_rows')).toEqual([]);
  });

  it('of every dataset stays in its latest form, though another one takes all the room', async () => {
    const bench = await setup({ rows: 100, walked: ['meme-signals'] });
    await bench.mirror('news');
    bench.tamper('UPDATE orders SET rowids = zeroblob(10000000)');
    passDays(bench, 400);
    await bench.store.prune(bench.job('news'), keepFor({}));
    expect(bench.sql('SELECT job FROM orders ORDER BY job')).toEqual([
      { job: 'meme-signals' },
      { job: 'news' },
    ]);
  });

  it('is written once where snapshot after snapshot has the same, and passed on when the first is evicted', async () => {
    const { bench, dataset, now, keys } = await setupRead('ai-signals');
    dataset.rows = shuffled(dataset.rows, seededRandom(1));
    const shown = new Map<number, string[]>();
    for (let day = 0; day < 4; day += 1) {
      change(day, { action: `of day ${day}` })(dataset);
      publish(isoTime(bench.clock.now()))(dataset);
      await bench.mirror('ai-signals');
      shown.set(now().seq, keys());
      bench.clock.advance(24 * HOUR);
    }
    const [first, second, third, latest] = [...shown.keys()];
    expect(lists(bench).slice(1)).toEqual([first]);
    bench.clock.advance(WEEK_MS - 2 * 24 * HOUR + HOUR);
    passDays(bench, 0);
    await bench.store.prune(bench.job('ai-signals'), keepFor({}));
    expect(lists(bench)).toEqual([third]);
    expect([third, latest].map((seq) => keys(seq))).toEqual(
      [third, latest].map((seq) => shown.get(seq ?? 0)),
    );
    expect(bench.sql('SELECT seq FROM orders WHERE seq <= ?', second ?? 0)).toEqual([]);
  });
});

it('packed rowids come back as they went, in their order; of rows that lie together a list takes next to nothing', () => {
  const number = fc.oneof(fc.integer({ min: 1, max: 2 ** 40 }), fc.integer({ min: 1, max: 300 }));
  const run = fc
    .record({ first: number, rows: fc.integer({ min: 1, max: 40 }), step: fc.constantFrom(1, -1) })
    .map(({ first, rows, step }) => Array.from({ length: rows }, (_, at) => first + 40 + at * step));
  const list = fc.array(fc.oneof(run, fc.array(number, { maxLength: 5 }))).map((runs) => runs.flat());
  fc.assert(
    fc.property(list, (rowids) => {
      expect(unpackRowids(packRowids(rowids))).toEqual(rowids);
      const set = new RowidSet();
      const added = rowids.map((rowid) => set.add(rowid));
      expect(added).toEqual(rowids.map((rowid, at) => rowids.indexOf(rowid) === at));
      expect([set.size, rowids.every((rowid) => set.has(rowid))]).toEqual([new Set(rowids).size, true]);
    }),
  );
  const together = Array.from({ length: 1_000 }, (_, at) => 70_000 + at);
  for (const rowids of [together, together.toReversed()]) expect(packRowids(rowids).length).toBeLessThan(10);
});
