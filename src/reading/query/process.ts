/**
 * The process that a query runs in. SQLite computes without a pause, so only a process of its own can be ended
 * at any moment, by a time limit or Ctrl-C, and leaves the asking one free to be asked to stop.
 */

import { asFailure, Failure, sentFailure } from '../../errors.ts';
import { type FollowedJob, followedJobs } from '../../job-list.ts';
import { type Cell, fits, type Holding, heldBy, type Surveyed, surveyRows } from '../../output/answer.ts';
import {
  type Connection,
  isWriteRefused,
  openMirror,
  statementError,
  storeFailure,
} from '../../store/read.ts';
import { type Kind, kindsOf } from '../columns.ts';
import type { Answered, Asked, Opened, Question } from '../query.ts';
import { lookBack, refusePresent } from './as-of.ts';
import { latestSeq, refuseUnread, sourcesOf } from './sources.ts';
import { prepareReading, wouldWrite } from './statement.ts';

const BATCH = { rows: 1_000, size: 256 * 1_024 };

let connection: Connection | undefined;
let rows: IterableIterator<unknown[]> | undefined;

// Ctrl-C reaches both processes; the asking one decides.
process.on('SIGINT', () => undefined);
process.on('disconnect', () => process.exit());

process.on('message', async (asked: Asked) => {
  try {
    reply(asked === 'more' ? { rows: nextBatch() } : { opened: await open(asked) });
  } catch (thrown) {
    const failure = failureOf(thrown, asked === 'more' ? 'the query' : asked.dir);
    close();
    reply(sentFailure(failure));
  }
});

async function open({ dir, sql, params, tables, asOf, survey = false }: Question): Promise<Opened> {
  const jobs = survey ? await followedJobs() : [];
  if (asOf !== null) refusePresent(sql);
  connection = openMirror(dir);
  if (asOf !== null) lookBack(connection, Object.keys(tables), asOf);
  // What is said of the sources and what is read from them belong to one moment.
  connection.exec('BEGIN');
  const { statement, asksForData } = prepareReading(connection, sql, params);
  const sources = asksForData ? sourcesOf(connection, sql, params, tables, asOf) : [];
  if (asOf !== null) refuseUnread(connection, sources, asOf);
  const named = statement.columns();
  const surveyed = survey ? surveyRows(statement.iterate(params), named.length) : [];
  const holds = holdings(connection, jobs, named, surveyed);
  const columns = named.map(({ name, type }, at) => ({ name, type, ...(holds[at] && { holds: holds[at] }) }));
  rows = statement.iterate(params);
  return { columns, sources, seq: latestSeq(connection, asOf) };
}

/** A column of a dataset holds what it is known to hold, as in Postgres, wherever all of its values here fit that. */
function holdings(
  connection: Connection,
  jobs: readonly FollowedJob[],
  columns: readonly { table: string | null; column: string | null }[],
  surveyed: readonly Surveyed[],
): Holding[] {
  const kinds = new Map<string, ReadonlyMap<string, Kind>>();
  for (const job of jobs)
    for (const table of [job.rows, `${job.table}_volatile`, job.versions])
      if (table !== null && columns.some((column) => column.table === table))
        kinds.set(table, kindsOf(connection, job));
  return surveyed.map((found, at) => {
    const { table, column } = columns[at] ?? {};
    const known = declared[kinds.get(table ?? '')?.get(column ?? '') ?? 'text'];
    return known && fits(known, found) ? known : heldBy(found);
  });
}

const declared: Partial<Record<Kind, Holding>> = {
  boolean: 'boolean',
  bigint: 'integer',
  'double precision': 'real',
};

function nextBatch(): Cell[][] {
  const batch: Cell[][] = [];
  for (let size = 0; batch.length < BATCH.rows && size < BATCH.size; ) {
    const { value, done } = rows?.next() ?? { value: undefined, done: true };
    if (done) return batch.length === 0 ? close() : batch;
    const cells = (value as unknown[]).map(asCell);
    size += cells.reduce<number>((sum, cell) => sum + (typeof cell === 'string' ? cell.length : 8), 0);
    batch.push(cells);
  }
  return batch;
}

/** Lets go of the moment that was read, which keeps the log of the mirror from beginning anew. @returns the end. */
function close(): Cell[][] {
  rows?.return?.();
  connection?.close();
  rows = undefined;
  connection = undefined;
  return [];
}

/** Integers come as bigint, so that the large ones keep their digits. */
function asCell(value: unknown): Cell {
  if (typeof value !== 'bigint') return value as Cell;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function failureOf(thrown: unknown, where: string): Failure {
  if (isWriteRefused(thrown)) return wouldWrite();
  const known = storeFailure(thrown, where);
  const mistake = known instanceof Failure ? undefined : statementError(thrown);
  return mistake === undefined ? asFailure(known) : new Failure('usage', mistake);
}

function reply(answered: Answered): void {
  process.send?.(answered);
}
