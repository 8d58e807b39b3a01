import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom, shuffled } from '../../../model-api/index.ts';
import { isoTime } from '../../../src/clock.ts';
import { loadJobs } from '../../../src/load-jobs.ts';
import { inBatches } from '../../../src/store/commits.ts';
import type { Connection } from '../../../src/store/connection.ts';
import { chunkReader } from '../../../src/store/order/chunks.ts';
import { pruneOrders } from '../../../src/store/order/forget.ts';
import { draftOrder, type OrderDraft } from '../../../src/store/order/keep.ts';
import { chunksOf, numbersAt } from '../../../src/store/order/list.ts';
import { openTables } from '../support.ts';

const jobs = await loadJobs();
const proof = {
  walkId: 1,
  verdict: 'verified',
  completeAsOf: '',
  generatedAt: null,
  held: 0,
  top: 0,
} as const;

/** Keeps the order as of `seq`, or writes nothing. */
async function keep(connection: Connection, seq: number, met: readonly number[], unmet: number[] = []) {
  const draft = draftOrder(connection, 'news');
  for (const number of met) draft.push(number);
  await draft.writeAhead();
  keepDraft(connection, draft, seq, unmet);
}

function keepDraft(connection: Connection, draft: OrderDraft, seq: number, unmet: number[] = []): void {
  const note = connection.prepare<[number]>(
    `INSERT INTO datasets (job, order_seq) VALUES ('news', ?) ON CONFLICT DO UPDATE SET order_seq = excluded.order_seq`,
  );
  const nextSeq = () => {
    note.run(seq);
    return seq;
  };
  connection.transaction(() => draft.keep(proof, unmet, nextSeq))();
}

type Kept = { seq: number; root: number | null; rows: number; met: number };

const versions = (connection: Connection) =>
  connection.prepare<[], Kept>('SELECT seq, root, rows, met FROM orders ORDER BY seq').all();

const listOf = (connection: Connection, { root, rows }: Kept) =>
  root === null ? [] : numbersAt(chunkReader(connection), root, 0, rows);

const count = (connection: Connection, table: string) =>
  connection.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;

/** What orders take in the database, as they lie there. */
const bytesOf = (connection: Connection) =>
  connection
    .prepare<[], number>(
      `SELECT (SELECT sum(length(content) + 8) FROM order_chunks) + (SELECT count(*) * 80 FROM orders)
         + (SELECT coalesce(sum(length(chunks) + 24), 0) FROM order_releases)`,
    )
    .pluck()
    .get() ?? 0;

const prune = (connection: Connection, horizon: number) =>
  inBatches(connection, pruneOrders(connection, 'news', isoTime(horizon)));

const rising = (from: number, many: number) => Array.from({ length: many }, (_, at) => from + at);

/** New rows in front, a page's in their order, as a feed shows them. */
const ofFeed = (before: readonly number[], top: number, news: number) => [
  ...rising(top + 1, news),
  ...before,
];

describe('the order of rows', () => {
  it('is kept once for as long as it is the same', async () => {
    const connection = openTables(jobs);
    await keep(connection, 1, rising(1, 1_000));
    await keep(connection, 2, rising(1, 1_000));
    expect(versions(connection).map(({ seq }) => seq)).toEqual([1]);
    await keep(connection, 3, rising(2, 999), [1]);
    await keep(connection, 4, [...rising(2, 999), 1]);
    expect(versions(connection)).toMatchObject([
      { seq: 1, rows: 1_000, met: 1_000 },
      { seq: 3, rows: 1_000, met: 999 },
      { seq: 4, rows: 1_000, met: 1_000 },
    ]);
  });

  it('is read as it was, whatever came later and whatever was forgotten, and nothing else is left', async () => {
    const change = fc.record({
      cut: fc.nat(3_000),
      into: fc.nat(3_000),
      gone: fc.nat(3),
      come: fc.nat(200),
      isTurned: fc.boolean(),
    });
    const life = fc.array(change, { minLength: 2, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(life, fc.nat(12), async (changes, forgotten) => {
        const connection = openTables(jobs);
        const model = new Map<number, number[]>();
        let list = rising(1, 2_000);
        let top = 2_000;
        for (const [at, { cut, into, gone, come, isTurned }] of changes.entries()) {
          list = [...list];
          const moved = list.splice(cut % list.length, 5).slice(gone);
          list.splice(into % list.length, 0, ...moved, ...rising(top + 1, come));
          if (isTurned && at % 3 === 0) list.reverse();
          top += come;
          await keep(connection, at + 1, list);
          model.set(at + 1, list);
        }
        await prune(connection, forgotten);
        const kept = versions(connection);
        expect(kept.length).toBeGreaterThan(0);
        expect(kept.slice(1).every(({ seq }) => seq > forgotten)).toBe(true);
        const used = new Set<number>();
        for (const version of kept) {
          expect(listOf(connection, version)).toEqual(model.get(version.seq));
          chunksOf(chunkReader(connection), version.root ?? 0, used);
        }
        expect(count(connection, 'order_chunks')).toBe(used.size);
      }),
      { numRuns: 25 },
    );
  });

  it('of a feed takes 80 bytes a new row at most, over 300 proofs that find five each', async () => {
    const connection = openTables(jobs);
    let list = rising(1, 6_000);
    await keep(connection, 1, list);
    expect(bytesOf(connection)).toBeLessThan(1_500);
    for (let proofs = 1; proofs <= 300; proofs += 1) {
      list = ofFeed(list, 6_000 + (proofs - 1) * 5, 5);
      await keep(connection, proofs + 1, list);
    }
    expect(versions(connection)).toHaveLength(301);
    expect(bytesOf(connection) / 1_500).toBeLessThan(80);
  });

  it('that was shuffled takes three bytes a row', async () => {
    const connection = openTables(jobs);
    await keep(connection, 1, rising(1, 20_000));
    await keep(connection, 2, shuffled(rising(1, 20_000), seededRandom(1)));
    expect(bytesOf(connection) / 20_000).toBeLessThan(3.2);
  });

  it('that is being written is not forgotten meanwhile; what a crash leaves of one goes with the history', async () => {
    const connection = openTables(jobs);
    const lists = [1, 2, 3, 4].map((seed) => shuffled(rising(1, 60_000), seededRandom(seed)));
    const write = async (list: readonly number[] = []) => {
      const draft = draftOrder(connection, 'news');
      for (const number of list) draft.push(number);
      await draft.writeAhead();
      return draft;
    };
    await keep(connection, 1, lists[0] ?? []);
    const whole = count(connection, 'order_chunks');
    const draft = await write(lists[1]);
    expect(count(connection, 'order_chunks')).toBeGreaterThan(whole + 100);
    await prune(connection, 5);
    keepDraft(connection, draft, 2);
    expect(versions(connection).map((version) => listOf(connection, version))).toEqual(lists.slice(0, 2));

    await write(lists[2]);
    await keep(connection, 3, lists[3] ?? []);
    await prune(connection, 3);
    expect(versions(connection).map((version) => listOf(connection, version))).toEqual(lists.slice(3));
    expect(count(connection, 'order_chunks')).toBeLessThan(1.1 * whole);
    expect(count(connection, 'order_releases')).toBe(0);
  });

  it('says since when it is kept, and leaves alone what another dataset keeps', async () => {
    const connection = openTables(jobs);
    for (const seq of [10, 20, 30]) await keep(connection, seq, rising(seq, 50));
    const other = draftOrder(connection, 'meme-signals');
    for (const number of rising(10, 50)) other.push(number);
    connection.transaction(() => other.keep(proof, [], () => 12))();
    await prune(connection, 25);
    expect(connection.prepare('SELECT job, seq FROM orders ORDER BY job, seq').raw().all()).toEqual([
      ['meme-signals', 12],
      ['news', 20],
      ['news', 30],
    ]);
    expect(connection.prepare('SELECT history_from FROM datasets').pluck().all()).toEqual([isoTime(20)]);
    const [version] = connection.prepare<[], Kept>(`SELECT * FROM orders WHERE seq = 12`).all();
    expect(listOf(connection, version as Kept)).toEqual(rising(10, 50));
  });
});
