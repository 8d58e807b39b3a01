/** The order of a dataset's rows, from what a walk has met of them. */

import { setImmediate as breath } from 'node:timers/promises';
import { rowsOf } from '../../job.ts';
import type { Connection } from '../connection.ts';
import { draftOrder, type OrderDraft } from '../order/keep.ts';
import { createSequence } from '../records/changes.ts';
import type { WalkRow } from '../schema.ts';
import { quoted } from '../sql.ts';
import type { OpenWalk } from './open-walk.ts';
import { unpackRows } from './seen.ts';

/** An order, and whose it is. */
export type MetOrder = { walk: OpenWalk; draft: OrderDraft };

const ROWS_AT_ONCE = 5_000;

/** Puts the rows that the walk has met in the order in which the API shows them: those of the last look at its head in front. */
export async function readOrder(connection: Connection, walk: OpenWalk): Promise<MetOrder> {
  const head = new Set<number>();
  for (const { rowids } of readHeads(connection, walk.row))
    for (const number of unpackRows(rowids)) head.add(number);
  const draft = draftOrder(connection, walk.job.name);
  for (const number of head) draft.push(number);
  let taken = 0;
  for (const { rowids } of readRows(connection, walk.row)) {
    for (const number of unpackRows(rowids)) {
      if (!head.has(number)) draft.push(number);
      taken += 1;
      if (taken % ROWS_AT_ONCE === 0) await breath();
    }
  }
  await draft.writeAhead();
  return { walk, draft };
}

type Commit = { id: number; rowids: Buffer };

/** What was met at the head, which is little. */
function readHeads(connection: Connection, { id: walkId }: WalkRow): Commit[] {
  return connection
    .prepare<[number], Commit>(
      `SELECT id, rowids FROM walk_seen WHERE walk_id = ? AND part = 'head' ORDER BY id`,
    )
    .all(walkId);
}

/** One after the other, and no statement left open meanwhile: others use the connection, too. */
function* readRows(connection: Connection, { id: walkId }: WalkRow): Generator<Commit> {
  const next = connection.prepare<[number, number], Commit>(
    `SELECT id, rowids FROM walk_seen WHERE id > ? AND walk_id = ? AND part = 'rows' ORDER BY id LIMIT 1`,
  );
  for (let after = 0; ; ) {
    const commit = next.get(after, walkId);
    if (!commit) return;
    yield commit;
    after = commit.id;
  }
}

/** Keeps the order with the proof that the walk is; call it in the transaction that ends it, when rows have been removed. */
export function keepOrder(
  connection: Connection,
  row: Readonly<WalkRow>,
  { order, verdict, unmet }: { order: MetOrder; verdict: 'snapshot' | 'verified'; unmet: readonly number[] },
  now: number,
): void {
  const { job } = order.walk;
  const table = quoted(rowsOf(job));
  const isThere = connection.prepare<[number]>(`SELECT 1 FROM ${table} WHERE rowid = ?`);
  const top = connection.prepare<[], number | null>(`SELECT max(rowid) FROM ${table}`).pluck();
  const proven = {
    walkId: row.id,
    verdict,
    completeAsOf: row.startedAt,
    // Without the proof of a snapshot its rows may be of several.
    generatedAt: verdict === 'snapshot' ? row.generatedAt : null,
    held: row.held,
    top: top.get() ?? 0,
  };
  const left = unmet.filter((number) => isThere.get(number) !== undefined);
  // The rows that this transaction removed have taken a number already.
  const nextSeq = () =>
    row.deleted > 0 && row.lastSeq !== null
      ? row.lastSeq
      : createSequence(connection, 'order_seq')(job.name, now);
  order.draft.keep(proven, left, nextSeq);
}
