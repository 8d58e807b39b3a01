/**
 * The order of rows: each proof that finds another order keeps it as one packed list of rowids, by which readers page through past
 * states. Orders stay for a week and take a tenth of the database at most; the latest of each dataset always stays.
 */

import { setImmediate as breath } from 'node:timers/promises';
import { DAY_MS, isoTime } from '../clock.ts';
import type { Job } from '../job.ts';
import { type Batch, ROWS_AT_ONCE } from './commits.ts';
import { type Connection, valueIn } from './connection.ts';
import { createRowidPacker, unpackRowids } from './rowids.ts';
import type { WalkRow } from './schema.ts';
import { createSequence } from './sequence.ts';
import { quoted, seqOf } from './sql.ts';

/** The order that a walk has met, to be kept as the walk ends. */
type OrderDraft = { rowids: Buffer; rows: number; met: number };

type Met = { id: number; rowids: Buffer };

const MET_AT_ONCE = 5_000;

/**
 * Puts the rows that the walk has met in the API's order, those of its last look at the head in front.
 * @param staying rows that it has not met, which come last.
 */
export async function draftOrder(
  connection: Connection,
  walkId: number,
  staying: readonly number[],
): Promise<OrderDraft> {
  const metAtHead = connection.prepare<[number], Met>(
    `SELECT id, rowids FROM rows_met WHERE walk_id = ? AND part = 'head' ORDER BY id`,
  );
  // Commit by commit, without an open statement in between: others use the connection, too.
  const nextMet = connection.prepare<[number, number], Met>(
    `SELECT id, rowids FROM rows_met WHERE id > ? AND walk_id = ? AND part = 'rows' ORDER BY id LIMIT 1`,
  );
  const packer = createRowidPacker();
  const head = new Set(metAtHead.all(walkId).flatMap(({ rowids }) => unpackRowids(rowids)));
  for (const rowid of head) packer.push(rowid);
  let met = head.size;
  let read = 0;
  for (let commit = nextMet.get(0, walkId); commit; commit = nextMet.get(commit.id, walkId))
    for (const rowid of unpackRowids(commit.rowids)) {
      read += 1;
      if (read % MET_AT_ONCE === 0) await breath();
      if (head.has(rowid)) continue;
      packer.push(rowid);
      met += 1;
    }
  for (const rowid of staying) packer.push(rowid);
  return { rowids: packer.end(), rows: met + staying.length, met };
}

type Order = {
  job: string;
  seq: number;
  walkId: number;
  verdict: 'snapshot' | 'verified';
  completeAsOf: string;
  generatedAt: string | null;
  rowids: Buffer | null;
  sameAs: number | null;
  rows: number;
  met: number;
  held: number;
  top: number;
};

/** Keeps the order of a proof, unless it equals the last one. Call it in the transaction that ends the walk, after removals. */
export function keepOrder(
  connection: Connection,
  job: Job,
  walk: Readonly<WalkRow>,
  verdict: Order['verdict'],
  { rowids, rows, met }: OrderDraft,
  now: number,
): void {
  const insert = connection.prepare<[Order]>(
    `INSERT INTO orders (job, seq, walk_id, verdict, complete_as_of, generated_at, rowids, same_as, rows, met, held, top)
     VALUES (:job, :seq, :walkId, :verdict, :completeAsOf, :generatedAt, :rowids, :sameAs, :rows, :met, :held, :top)`,
  );
  const last = latestOrder(connection, job.name);
  const isSameList = last !== undefined && readList(connection, job.name, last.seq)?.equals(rowids) === true;
  const order = {
    job: job.name,
    walkId: walk.id,
    verdict,
    completeAsOf: walk.startedAt,
    // Otherwise its rows may be of several snapshots.
    generatedAt: verdict === 'snapshot' ? walk.generatedAt : null,
    rows,
    met,
    held: walk.held,
    top: topOf(connection, job.rows),
  };
  const isSameProof = (['met', 'held', 'generatedAt'] as const).every((name) => last?.[name] === order[name]);
  const lastChange =
    valueIn<number>(connection, 'SELECT last_seq FROM datasets WHERE job = ?', job.name) ?? 0;
  // A published snapshot is served as it was proven: any change makes another one.
  const isChanged = order.generatedAt !== null && lastChange > (last?.seq ?? 0);
  if (walk.deleted === 0 && isSameList && isSameProof && !isChanged) return;
  // The rows that this walk has removed have taken a number already.
  const seq =
    (walk.deleted > 0 ? walk.lastSeq : null) ?? createSequence(connection, 'order_seq')(job.name, now);
  const list = isSameList ? { rowids: null, sameAs: last.sameAs ?? last.seq } : { rowids, sameAs: null };
  insert.run({ ...order, ...list, seq });
}

const latestOrder = (connection: Connection, job: string) =>
  connection
    .prepare<[string], Pick<Order, 'seq' | 'sameAs' | 'rows' | 'met' | 'held' | 'generatedAt' | 'top'>>(
      `SELECT seq, same_as AS sameAs, rows, met, held, generated_at AS generatedAt, top
       FROM orders WHERE job = ? ORDER BY seq DESC LIMIT 1`,
    )
    .get(job);

const readList = (connection: Connection, job: string, seq: number) =>
  connection
    .prepare<[string, number], Buffer>(
      `SELECT list.rowids FROM orders AS proven
       JOIN orders AS list ON list.job = proven.job AND list.seq = coalesce(proven.same_as, proven.seq)
       WHERE proven.job = ? AND proven.seq = ?`,
    )
    .pluck()
    .get(job, seq);

const topOf = (connection: Connection, table: string): number =>
  valueIn(connection, `SELECT max(rowid) FROM ${quoted(table)}`) ?? 0;

/** Returns what reads a page of rowids of an order. It keeps the last list of each dataset, since pages follow each other. */
export function orderReader(connection: Connection) {
  const lists = new Map<string, { seq: number; rowids: number[] }>();
  return (job: string, seq: number, offset: number, limit: number): number[] => {
    let list = lists.get(job);
    if (list?.seq !== seq) {
      const packed = readList(connection, job, seq);
      if (!packed) throw new Error(`${job} has no order ${seq} any longer`);
      list = { seq, rowids: unpackRowids(packed) };
      lists.set(job, list);
    }
    return list.rowids.slice(offset, offset + limit);
  };
}

/**
 * How many rows a dataset has, mostly without counting them: the last order has so many, and later rows have the rowids behind
 * `top`, one after the other.
 * @param table the one in which they lie.
 */
export function countRows(connection: Connection, job: string, table: string): number {
  const last = latestOrder(connection, job);
  if (!last || valueIn(connection, `SELECT ${removalSql}`, { job }) !== undefined)
    return valueIn(connection, `SELECT count(*) FROM ${quoted(table)}`) ?? 0;
  return last.rows + Math.max(0, topOf(connection, table) - last.top);
}

/** SQL for the first removal since the latest order of a job, whose proof has not ended yet; else null. */
export const removalSql = `(SELECT min(until) FROM removed_rows
  WHERE job = :job AND until > coalesce((SELECT max(seq) FROM orders WHERE job = :job), 0))`;

/** How many rows the last proof found; undefined where there was none. */
export const countMet = (connection: Connection, job: string) => latestOrder(connection, job)?.met;

/** Since when the latest published snapshot is served, ISO 8601; undefined where the latest proof is of another kind. */
export function servedSince(connection: Connection, job: string): string | undefined {
  const latest = latestOrder(connection, job);
  return latest && latest.generatedAt !== null ? isoTime(latest.seq) : undefined;
}

const ORDERS_KEPT_MS = 7 * DAY_MS;

const MAX_PART_OF_DATABASE = 0.1;
/** What an order takes beside its list. */
const ORDER_BYTES = 100;

/**
 * Evicts orders that were superseded more than a week before `now`, and the oldest ones while all take too much of the database.
 * @param now undefined where no time is believed.
 */
export function pruneOrders(connection: Connection, now: number | undefined): Batch[] {
  const bytes = `coalesce(length(rowids), 0) + ${ORDER_BYTES}`;
  const pairs = `SELECT job, seq, lead(seq) OVER (PARTITION BY job ORDER BY seq) AS next, ${bytes} AS bytes FROM orders`;
  const superseded = connection.prepare<[number, number], Superseded>(
    `SELECT * FROM (${pairs}) WHERE next <= ? ORDER BY seq LIMIT ?`,
  );
  const bytesOf = (query: string) => valueIn<number>(connection, query) ?? 0;
  const evict = prepareEviction(connection);
  return [
    () => {
      // Where no time is believed, nothing is a week old.
      const due = superseded.all((now ?? 0) - ORDERS_KEPT_MS, ROWS_AT_ONCE);
      for (const order of due) evict(order);
      return due.length === ROWS_AT_ONCE;
    },
    () => {
      const database = bytesOf('SELECT page_count * page_size FROM pragma_page_count, pragma_page_size');
      let excess = bytesOf(`SELECT sum(${bytes}) FROM orders`) - database * MAX_PART_OF_DATABASE;
      if (excess <= 0) return false;
      const due = superseded.all(Number.MAX_SAFE_INTEGER, ROWS_AT_ONCE);
      for (const order of due) {
        if (excess <= 0) break;
        evict(order);
        excess -= order.bytes;
      }
      return due.length > 0;
    },
    pruneRemovedRows(connection),
  ];
}

type Superseded = { job: string; seq: number; next: number; bytes: number };

function prepareEviction(connection: Connection): (order: Superseded) => void {
  const handOn = connection.prepare<[Superseded]>(
    `UPDATE orders SET rowids = (SELECT rowids FROM orders WHERE job = :job AND seq = :seq), same_as = NULL
     WHERE job = :job AND seq = :next AND same_as = :seq`,
  );
  const follow = connection.prepare<[Superseded]>(
    'UPDATE orders SET same_as = :next WHERE job = :job AND same_as = :seq',
  );
  const remove = connection.prepare<[Superseded]>('DELETE FROM orders WHERE job = :job AND seq = :seq');
  const note = connection.prepare<[Superseded]>(
    `INSERT INTO datasets (job, orders_from) VALUES (:job, :next) ON CONFLICT DO UPDATE SET orders_from = :next`,
  );
  return (order) => {
    // The next order, and those behind it, may use the list of this one.
    if (handOn.run(order).changes > 0) follow.run(order);
    remove.run(order);
    note.run(order);
  };
}

/** No reader needs removed rowids from before the kept orders and the kept history. */
function pruneRemovedRows(connection: Connection): Batch {
  const remove = connection.prepare<[number]>(
    `DELETE FROM removed_rows WHERE rowid IN (
       SELECT removed_rows.rowid FROM datasets JOIN removed_rows ON removed_rows.job = datasets.job
         AND until <= max(coalesce(orders_from, 0), coalesce(${seqOf('history_from')}, 0)) LIMIT ?)`,
  );
  return () => remove.run(ROWS_AT_ONCE).changes === ROWS_AT_ONCE;
}
