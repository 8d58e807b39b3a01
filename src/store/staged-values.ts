/**
 * Volatile values. The API's order is random among their rowids: written as they come, every commit would change most pages of
 * their table. So they are staged, one row a commit, and merged at the end of the walk in the order of the rowids.
 */

import { setImmediate as breath } from 'node:timers/promises';
import type { Job, RowValues, SqlValue } from '../job.ts';
import { inBatches } from './commits.ts';
import type { Connection } from './connection.ts';
import { RowidSet } from './rowids.ts';
import { quoted } from './sql.ts';

/** What one commit staged: rowids, and the values of each volatile column. */
type Content = { rowids: number[]; values: SqlValue[][] };

export type VolatileValues = NonNullable<ReturnType<typeof openVolatile>>;

/** The volatile values of the rows of one dataset, by their rowids; undefined where it has none. */
export function openVolatile(connection: Connection, job: Job) {
  const table = job.aging;
  if (table === null) return undefined;
  const columns = job.volatile;
  const names = columns.map(quoted);
  const marks = columns.map(() => '?');
  const upsert = connection.prepare<[SqlValue[]]>(
    `INSERT INTO ${quoted(table)} (_number, ${names}) VALUES (?, ${marks})
     ON CONFLICT DO UPDATE SET ${names.map((name) => `${name} = excluded.${name}`)}`,
  );
  const insert = connection.prepare<[string, string]>(
    'INSERT INTO staged_volatile (job, content) VALUES (?, ?)',
  );
  const staged = readStaged(connection, job.name);
  const none = (): Content => ({ rowids: [], values: columns.map(() => []) });
  const note = noteUnversioned(connection, job.name);
  let fresh = none();
  let hasPut = false;

  /** Shown once the walk has ended. */
  function stage(rowid: number, values: RowValues): void {
    staged.add(rowid);
    fresh.rowids.push(rowid);
    for (const [at, name] of columns.entries()) fresh.values[at]?.push(values[name] ?? null);
  }

  return {
    /** SQL over a row named `stored`: whether its values differ from those bound, in the order of `columns`. */
    differ: `coalesce((SELECT (${names}) IS NOT (${marks}) FROM ${quoted(table)} WHERE _number = stored.rowid), 1)`,
    columns,
    /** Shown from this commit on, for a row that is written anyway. */
    put(rowid: number, values: RowValues): void {
      hasPut = true;
      upsert.run([rowid, ...columns.map((name) => values[name] ?? null)]);
      // Else values that were staged before would be merged over these.
      if (staged.has(rowid)) stage(rowid, values);
    },
    stage,
    /** Whether values of the row are staged. */
    isStaged: (rowid: number) => staged.has(rowid),
    /** Writes what was staged since the last commit; call it inside its transaction. */
    commit(): void {
      if (hasPut) note();
      hasPut = false;
      if (fresh.rowids.length === 0) return;
      insert.run(job.name, JSON.stringify(fresh));
      fresh = none();
    },
  };
}

function readStaged(connection: Connection, job: string): RowidSet {
  const rows = new RowidSet();
  for (const { rowids } of stagedOf(connection, job)) for (const rowid of rowids) rows.add(rowid);
  return rows;
}

/** Commit by commit, without an open statement in between: others use the connection, too. */
function* stagedOf(connection: Connection, job: string): Generator<Content> {
  const next = connection.prepare<[number, string], { id: number; content: string }>(
    'SELECT id, content FROM staged_volatile WHERE id > ? AND job = ? ORDER BY id LIMIT 1',
  );
  for (let after = 0; ; ) {
    const commit = next.get(after, job);
    if (!commit) return;
    yield JSON.parse(commit.content) as Content;
    after = commit.id;
  }
}

/** Values of so many rowids are held in memory at once. */
const PIECE_ROWS = 2 ** 17;
/** Rows a transaction. */
const MERGED_AT_ONCE = 2_000;
/** Staged commits that are read, or deleted, at once. */
const COMMITS_AT_ONCE = 10;

/** Shows all staged values of the job, some at a time. They stay staged until all are shown: after a crash they are merged again. */
export async function mergeStaged(connection: Connection, job: Job): Promise<void> {
  const table = job.aging;
  if (table === null) return;
  const names = job.volatile.map(quoted);
  // Equal values cost no write.
  const update = connection.prepare<[SqlValue[]]>(
    `UPDATE ${quoted(table)} SET ${names.map((name) => `${name} = ?`)}
     WHERE _number = ? AND (${names}) IS NOT (${names.map(() => '?')})`,
  );
  const note = noteUnversioned(connection, job.name);
  for (const piece of await piecesOf(connection, job.name)) {
    const { from, isStaged, values } = await readPiece(connection, job, piece);
    let at = isStaged.indexOf(1);
    const batch = () => {
      let changes = 0;
      for (let rows = 0; at >= 0 && rows < MERGED_AT_ONCE; rows += 1, at = isStaged.indexOf(1, at + 1)) {
        const row = values.map((column) => column[at] ?? null);
        changes += update.run([...row, from + at, ...row]).changes;
      }
      if (changes > 0) note();
      return at >= 0;
    };
    await inBatches(connection, [batch]);
  }
  const forget = connection.prepare<[string, number]>(
    'DELETE FROM staged_volatile WHERE id IN (SELECT id FROM staged_volatile WHERE job = ? ORDER BY id LIMIT ?)',
  );
  await inBatches(connection, [() => forget.run(job.name, COMMITS_AT_ONCE).changes === COMMITS_AT_ONCE]);
}

/** Tells readers that rows of the job have changed without a version. */
export function noteUnversioned(connection: Connection, job: string): () => void {
  const note = connection.prepare<[string]>(
    `INSERT INTO datasets (job, volatile_seq) VALUES (?, 1)
     ON CONFLICT DO UPDATE SET volatile_seq = volatile_seq + 1`,
  );
  return () => void note.run(job);
}

/** The pieces in which a row is staged, in ascending order. */
async function piecesOf(connection: Connection, job: string): Promise<number[]> {
  const pieces = new Set<number>();
  for await (const { rowids } of calmly(stagedOf(connection, job)))
    for (const rowid of rowids) pieces.add(Math.floor(rowid / PIECE_ROWS));
  return [...pieces].sort((one, other) => one - other);
}

/** The values staged last for the rows of a piece: by column, at the row's position in the piece. */
async function readPiece(connection: Connection, job: Job, piece: number) {
  const from = piece * PIECE_ROWS;
  const isStaged = new Uint8Array(PIECE_ROWS);
  const values = job.volatile.map(() => new Array<SqlValue>(PIECE_ROWS));
  for await (const { rowids, values: staged } of calmly(stagedOf(connection, job.name)))
    for (const [at, rowid] of rowids.entries()) {
      const inPiece = rowid - from;
      if (inPiece < 0 || inPiece >= PIECE_ROWS) continue;
      isStaged[inPiece] = 1;
      for (const [column, cells] of values.entries()) cells[inPiece] = staged[column]?.[at] ?? null;
    }
  return { from, isStaged, values };
}

async function* calmly<T>(items: Iterable<T>): AsyncGenerator<T> {
  let count = 0;
  for (const item of items) {
    yield item;
    count += 1;
    if (count % COMMITS_AT_ONCE === 0) await breath();
  }
}
