/**
 * Keeps the order in which a proof met the rows of a dataset, where it changed. Chunks of the order before it are used again;
 * those that are not are released, and go with the history.
 */

import { createHash } from 'node:crypto';
import { type Batch, inBatches, ROWS_AT_ONCE } from '../commits.ts';
import type { Connection } from '../connection.ts';
import { chunkReader } from './chunks.ts';
import { chunksOf, createListBuilder } from './list.ts';
import { pushNumber } from './runs.ts';

/** What the proof tells of the dataset beside the order of its rows. */
export type Proven = {
  walkId: number;
  verdict: 'snapshot' | 'verified';
  completeAsOf: string;
  generatedAt: string | null;
  /** How many rows it did not meet that are held. */
  held: number;
  /** The greatest number of a row in the table. */
  top: number;
};

/** One order that is being put together. */
export type OrderDraft = {
  /** Adds a row that the walk met. */
  push(number: number): void;
  /** Writes what is much ahead of the transaction that ends the walk, a little at a time. */
  writeAhead(): Promise<void>;
  /**
   * Keeps the order, unless it is the one before and nothing else would be told. Call it in that transaction.
   * @param unmet the rows that are there although the walk did not meet them.
   * @param nextSeq gives the number of this change.
   */
  keep(proven: Proven, unmet: readonly number[], nextSeq: () => number): void;
};

type Version = Proven & { seq: number; root: number | null; rows: number; met: number };

/** Those of one job are drafted one at a time: by who holds its lock. */
export function draftOrder(connection: Connection, job: string): OrderDraft {
  const last = latestOrder(connection, job);
  const read = chunkReader(connection);
  const before = last?.root ? chunksOf(read, last.root) : new Set<number>();
  const chunks = createChunks(connection, job, before);
  const list = createListBuilder(chunks.keep);
  const insert = connection.prepare<[Version & { job: string }]>(
    `INSERT INTO orders (job, seq, walk_id, verdict, complete_as_of, generated_at, root, rows, met, held, top)
     VALUES (:job, :seq, :walkId, :verdict, :completeAsOf, :generatedAt, :root, :rows, :met, :held, :top)`,
  );
  const lastSeq = connection
    .prepare<[string], number | null>('SELECT last_seq FROM datasets WHERE job = ?')
    .pluck();
  const changedAt = () => lastSeq.get(job) ?? 0;
  let met = 0;

  /** A published snapshot is served as it was proven, so it is another one with any change. */
  const isAsBefore = (version: Omit<Version, 'seq'>) =>
    last !== undefined &&
    (['root', 'met', 'held', 'generatedAt'] as const).every((name) => last[name] === version[name]) &&
    (version.generatedAt === null || changedAt() <= last.seq);

  return {
    push(number) {
      list.push(number);
      met += 1;
    },
    // Released from the next change on, lest they go before this order is there.
    writeAhead: () => chunks.writeAhead(Math.max(changedAt(), last?.seq ?? 0) + 1),
    keep(proven, unmet, nextSeq) {
      for (const number of unmet) list.push(number);
      const root = list.end();
      const version = { ...proven, root: root?.id ?? null, rows: root?.rows ?? 0, met };
      if (isAsBefore(version)) return;
      const seq = nextSeq();
      chunks.write();
      insert.run({ ...version, job, seq });
      const unused = [...before].filter((id) => !chunks.used.has(id));
      release(connection, job, seq, unused);
    },
  };
}

function latestOrder(connection: Connection, job: string): Version | undefined {
  return connection
    .prepare<[string], Version>(
      `SELECT seq, walk_id AS walkId, verdict, complete_as_of AS completeAsOf, generated_at AS generatedAt,
         root, rows, met, held, top FROM orders WHERE job = ? ORDER BY seq DESC LIMIT 1`,
    )
    .get(job);
}

/** The chunks of one order: those of the order before it where they say the same, else new ones. */
function createChunks(connection: Connection, job: string, before: ReadonlySet<number>) {
  const find = connection.prepare<[number], Buffer>('SELECT content FROM order_chunks WHERE id = ?').pluck();
  const insert = connection.prepare<[number, Buffer]>('INSERT INTO order_chunks (id, content) VALUES (?, ?)');
  const used = new Set<number>();
  const fresh = new Map<number, Buffer>();
  const marks: number[] = [];

  const write = (most = Number.POSITIVE_INFINITY) => {
    const due = [...fresh].slice(0, most);
    for (const [id, content] of due) {
      insert.run(id, content);
      fresh.delete(id);
    }
    return due.map(([id]) => id);
  };

  return {
    used: used as ReadonlySet<number>,
    keep(content: Buffer): number {
      for (let id = idOf(job, content); ; id += 1) {
        const held = fresh.get(id) ?? find.get(id);
        const isKept = before.has(id) && held?.equals(content) === true;
        if (held && !isKept) continue;
        if (!isKept) fresh.set(id, content);
        used.add(id);
        return id;
      }
    },
    /** What a crash leaves of this is released already. */
    async writeAhead(seq: number) {
      if (fresh.size <= ROWS_AT_ONCE) return;
      const batch: Batch = () => {
        marks.push(...release(connection, job, seq, write(ROWS_AT_ONCE)));
        return fresh.size > 0;
      };
      await inBatches(connection, [batch]);
    },
    write() {
      write();
      const unmark = connection.prepare<[number]>('DELETE FROM order_releases WHERE id = ?');
      for (const mark of marks) unmark.run(mark);
    },
  };
}

/** Mostly free. Where it is not, the next one is taken. */
function idOf(job: string, content: Buffer): number {
  return createHash('sha256').update(job).update(content).digest().readUInt32BE(0) + 1;
}

/** Notes that no order from `seq` on uses these chunks. Returns the numbers of the notes. */
function release(connection: Connection, job: string, seq: number, chunks: readonly number[]): number[] {
  const note = connection.prepare<[string, number, Buffer]>(
    'INSERT INTO order_releases (job, seq, chunks) VALUES (?, ?, ?)',
  );
  const notes: number[] = [];
  for (let from = 0; from < chunks.length; from += ROWS_AT_ONCE) {
    const bytes: number[] = [];
    for (const id of chunks.slice(from, from + ROWS_AT_ONCE)) pushNumber(bytes, id);
    notes.push(Number(note.run(job, seq, Buffer.from(bytes)).lastInsertRowid));
  }
  return notes;
}
