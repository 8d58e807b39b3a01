/**
 * The process that a query runs in. SQLite computes without a pause, so only a process of its own can be ended
 * at any moment, by a time limit or Ctrl-C, and leaves the asking one free to be asked to stop.
 */

import { systemClock } from '../../clock.ts';
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
import { type Opened, type QueryRequest, type Question, READING } from '../query.ts';
import { outOfFile, outOfMemory, type ServedQuestion } from '../served-query.ts';
import { lookBack, refusePresent } from './as-of.ts';
import { checkFirst, exportFile, type Reading, sendLines } from './served.ts';
import { latestSeq, refuseUnread, sourcesOf } from './sources.ts';
import { prepareReading, wouldWrite } from './statement.ts';

/** A batch ends at the first of these, so that rows come while others are still being looked for. */
const BATCH = { rows: 1_000, size: 256 * 1_024, ms: 500 };

/** How often it is said that rows are being read, where there is nothing else to say. */
const READING_MS = 1_000;

let sendMore = () => {};
let saidAt = 0;

// Ctrl-C reaches both processes; the asking one decides.
process.on('SIGINT', () => undefined);
process.on('disconnect', () => process.exit());
process.on('message', (request: QueryRequest | ServedQuestion) => {
  if (request === 'more') sendMore();
  else void answer(request);
});

async function answer(question: Question | ServedQuestion): Promise<void> {
  const isServed = 'form' in question;
  let connection: Connection | undefined;
  let isOpened = false;
  let end: object;
  try {
    const jobs = question.survey ? await followedJobs() : [];
    if (question.asOf !== null) refusePresent(question.sql);
    connection = openMirror(question.dir);
    const { opened, rows } = open(connection, question, jobs);
    isOpened = true;
    await send({ opened });
    if (isServed) end = { end: await serve(question, { opened, rows, batches: batchesOf(rows), send }) };
    else {
      for (const batch of batchesOf(rows)) await send({ rows: batch });
      end = { rows: [] };
    }
  } catch (thrown) {
    end = sentFailure(failureOf(thrown, isOpened ? 'the query' : question.dir, isServed));
  }
  // Lets go of the moment that was read, which keeps the log of the mirror from beginning anew.
  connection?.close();
  reply(end);
}

function open(
  connection: Connection,
  { sql, params, tables, asOf, survey = false }: Question,
  jobs: readonly FollowedJob[],
): { opened: Opened; rows: Iterable<unknown[]> } {
  if (asOf !== null) lookBack(connection, Object.keys(tables), asOf);
  // What is said of the sources and what is read from them belong to one moment.
  connection.exec('BEGIN');
  const { statement, asksForData } = prepareReading(connection, sql, params);
  const sources = asksForData ? sourcesOf(connection, sql, params, tables, asOf) : [];
  if (asOf !== null) refuseUnread(connection, sources, asOf);
  const named = statement.columns();
  const read = () => tellingOf(() => statement.iterate(params));
  const surveyed = survey ? surveyRows(read(), named.length) : [];
  const holds = holdings(connection, jobs, named, surveyed);
  const columns = named.map(({ name, type }, at) => ({ name, type, ...(holds[at] && { holds: holds[at] }) }));
  return { opened: { columns, sources, seq: latestSeq(connection, asOf) }, rows: read() };
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

async function serve({ form, asOf }: ServedQuestion, reading: Reading): Promise<unknown> {
  if (form.as === 'check') return checkFirst(reading);
  return form.as === 'lines'
    ? await sendLines(reading, form.limit)
    : await exportFile(reading, form.order, asOf);
}

/** The rows, and now and then a word that they are being read. */
function* tellingOf(read: () => Iterable<unknown[]>): Generator<unknown[]> {
  for (const row of read()) {
    if (systemClock.monotonic() - saidAt >= READING_MS) reply(READING);
    yield row;
  }
}

function* batchesOf(rows: Iterable<unknown[]>): Generator<Cell[][], void> {
  let batch: Cell[][] = [];
  let size = 0;
  let begunAt = systemClock.monotonic();
  for (const row of rows) {
    const cells = row.map(asCell);
    size += cells.reduce<number>((sum, cell) => sum + sizeOf(cell), 0);
    batch.push(cells);
    const isFull = batch.length >= BATCH.rows || size >= BATCH.size;
    if (!isFull && systemClock.monotonic() - begunAt < BATCH.ms) continue;
    yield batch;
    batch = [];
    size = 0;
    begunAt = systemClock.monotonic();
  }
  if (batch.length > 0) yield batch;
}

/** Integers come as bigint, so that the large ones keep their digits. */
function asCell(value: unknown): Cell {
  if (typeof value !== 'bigint') return value as Cell;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

const sizeOf = (cell: Cell) => (typeof cell === 'string' || cell instanceof Uint8Array ? cell.length : 8);

function failureOf(thrown: unknown, where: string, isServed: boolean): Failure {
  if (isWriteRefused(thrown)) return wouldWrite();
  const limit = isServed ? limitOf(thrown) : undefined;
  if (limit !== undefined) return new Failure('incomplete', limit);
  const known = storeFailure(thrown, where);
  const mistake = known instanceof Failure ? undefined : statementError(thrown);
  return mistake === undefined ? asFailure(known) : new Failure('usage', mistake);
}

/** Which limit of the process it ran into, as SQLite and V8 tell it. */
function limitOf(thrown: unknown): string | undefined {
  const { code = '', message = '' } = thrown as NodeJS.ErrnoException;
  if (code === 'SQLITE_IOERR_WRITE') return outOfFile;
  const isMemory = code.startsWith('SQLITE_NOMEM') || code === 'SQLITE_IOERR_NOMEM';
  return isMemory || /allocation failed|out of memory/i.test(message) ? outOfMemory : undefined;
}

/** Says it, and waits until more is asked for. */
async function send(response: object): Promise<void> {
  await new Promise<void>((resolve) => {
    sendMore = resolve;
    reply(response);
  });
}

function reply(response: object | typeof READING): void {
  saidAt = systemClock.monotonic();
  process.send?.(response);
}
