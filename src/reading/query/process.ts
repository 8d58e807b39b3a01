/** What runs in the process of a query: it reads the rows of one statement at one moment of the mirror, and sends what is made of them. */

import { systemClock } from '../../base/clock.ts';
import { asFailure, Failure } from '../../base/errors.ts';
import type { TaskChannel } from '../../base/worker.ts';
import { type ListedJob, listJobs } from '../../job/list.ts';
import {
  accepts,
  type Cell,
  type Column,
  inferTypes,
  isJsonForm,
  type ValueType,
  valueTypeOf,
} from '../../output/answer.ts';
import { count } from '../../output/numbers.ts';
import {
  type Connection,
  isWriteRefused,
  openMirror,
  statementError,
  storeFailure,
} from '../../store/read.ts';
import { type Kind, kindsOf, ownKindOf } from '../columns.ts';
import { exportAnswer, type Order } from '../export.ts';
import {
  type FileEnd,
  type LinesEnd,
  MAX_ANSWER_BYTES,
  MAX_CELL_BYTES,
  type Opened,
  outOfFile,
  outOfMemory,
  type QueryPiece,
  type QueryRequest,
  type QueryResult,
  type Question,
} from '../query.ts';
import { lookBack, refusePresent, refuseUndated } from './as-of.ts';
import { judge, latestSeq, refuseUnread, sourcesOf, tablesRead } from './sources.ts';
import { prepareReading, wouldWrite } from './statement.ts';

/** A batch ends at the first of these, so that rows come while others are still being looked for. */
const BATCH = { rows: 1_000, size: 256 * 1_024, ms: 500 };

/** A file is sent in pieces of so many bytes, so that no other answer waits long. */
const PIECE_BYTES = 256 * 1_024;

type QueryChannel = TaskChannel<QueryPiece>;

export async function answerQuestion(request: QueryRequest, channel: QueryChannel): Promise<QueryResult> {
  const { dir, sql, asOf, infersTypes, form } = request;
  const isJson = request.json === true || (form.as === 'file' && isJsonForm(form.order.format));
  let connection: Connection | undefined;
  let where = dir;
  try {
    const jobs = infersTypes || isJson ? await listJobs() : [];
    if (asOf !== null) refusePresent(sql, Object.keys(request.tables));
    connection = openMirror(dir);
    const { opened, rows } = open(connection, { ...request, json: isJson }, jobs, channel);
    where = 'the query';
    await channel.send(opened);
    return await sendRows(request, opened, rows, channel);
  } catch (thrown) {
    throw failureOf(thrown, where, request.form.as !== 'rows');
  } finally {
    // An open read transaction keeps the log of the mirror from being emptied.
    connection?.close();
  }
}

function open(
  connection: Connection,
  { sql, params, tables, asOf, infersTypes = false, json = false }: Question,
  jobs: readonly ListedJob[],
  channel: QueryChannel,
): { opened: Opened; rows: Iterable<unknown[]> } {
  if (asOf !== null) lookBack(connection, Object.keys(tables), asOf);
  // The sources and the rows are of one moment.
  connection.exec('BEGIN');
  const { statement, asksForData } = prepareReading(connection, sql, params);
  const sources = asksForData ? sourcesOf(connection, sql, params, tables, asOf) : [];
  if (asOf !== null) {
    const opened = asksForData ? tablesRead(connection, sql, params) : [];
    refuseUndated(connection, opened, Object.keys(tables), asOf);
    refuseUnread(connection, sources, asOf);
  }
  const named = statement.columns();
  function* read() {
    for (const row of statement.iterate(params)) {
      channel.beat();
      yield row;
    }
  }
  const inferred = infersTypes ? inferTypes(read(), named.length) : [];
  const kinds = kindsOfColumns(connection, jobs, named);
  const columns = named.map(({ name, type }, at): Column => {
    const kind = kinds[at] ?? 'text';
    const found = inferred[at];
    const known = declared[kind];
    const holds = found && (known && accepts(known, found) ? known : valueTypeOf(found));
    const inJson = json && (kind === 'boolean' || kind === 'json') ? kind : undefined;
    return { name, type, ...(holds && { holds }), ...(inJson && { inJson }) };
  });
  return { opened: { columns, sources, seq: latestSeq(connection, asOf) }, rows: read() };
}

/** What is known of the columns of the mirror: a column of a dataset holds the same as in Postgres, wherever all of its values here fit that. */
function kindsOfColumns(
  connection: Connection,
  jobs: readonly ListedJob[],
  columns: readonly { table: string | null; column: string | null; type: string | null }[],
): (Kind | undefined)[] {
  const kinds = new Map<string, ReadonlyMap<string, Kind>>();
  for (const job of jobs)
    for (const table of [job.rows, job.volatileTable, job.versions])
      if (table !== null && columns.some((column) => column.table === table))
        kinds.set(table, kindsOf(connection, job));
  return columns.map(({ table, column, type }) => {
    if (table === null || column === null) return undefined;
    return (
      kinds.get(table)?.get(column) ?? (kinds.has(table) ? undefined : ownKindOf(table, column, type ?? ''))
    );
  });
}

const declared: Partial<Record<Kind, ValueType>> = {
  boolean: 'boolean',
  bigint: 'integer',
  'double precision': 'real',
  'timestamp with time zone': 'timestamp',
};

async function sendRows(
  { form, asOf }: QueryRequest,
  opened: Opened,
  rows: Iterable<unknown[]>,
  channel: QueryChannel,
): Promise<QueryResult> {
  switch (form.as) {
    case 'rows':
      for (const batch of batchesOf(rows)) await channel.send(batch);
      return null;
    case 'check':
      for (const _ of rows) break;
      return null;
    case 'lines':
      return await sendLines(rows, form.limit, channel);
    case 'file':
      return await sendFile(rows, opened, form.order, asOf, channel);
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

/** Which limit of the process was reached, by the errors of SQLite and V8. */
function limitOf(thrown: unknown): string | undefined {
  const { code = '', message = '' } = thrown as NodeJS.ErrnoException;
  if (code === 'SQLITE_IOERR_WRITE') return outOfFile;
  const isMemory = code.startsWith('SQLITE_NOMEM') || code === 'SQLITE_IOERR_NOMEM';
  return isMemory || /allocation failed|out of memory/i.test(message) ? outOfMemory : undefined;
}

/** Sends `{"rows":[[…],…]}` a line, in the cells of `PageCell` (serve/page/wire.ts). */
async function sendLines(rows: Iterable<unknown[]>, limit: number, channel: QueryChannel): Promise<LinesEnd> {
  const cutter = cutCells();
  const end: LinesEnd = { rows: 0, isCut: false, notes: [] };
  let bytes = 0;
  read: for (const batch of batchesOf(rows)) {
    const lines: string[] = [];
    for (const row of batch) {
      end.isCut = end.rows === limit;
      const line = end.isCut ? undefined : lineOf(cutter.row(row), MAX_ANSWER_BYTES - bytes);
      if (line === undefined) {
        await sendRowLines(lines, channel);
        if (!end.isCut) end.notes.push(describeCutAnswer(end.rows));
        end.isCut = true;
        break read;
      }
      end.rows += 1;
      bytes += Buffer.byteLength(line);
      lines.push(line);
    }
    await sendRowLines(lines, channel);
  }
  if (cutter.cut() > 0) end.notes.push(describeCutCells(cutter.cut()));
  return end;
}

const describeCutAnswer = (rows: number) =>
  `the answer is cut at ${MAX_ANSWER_BYTES / 1_000_000} MB, after ${count(rows, 'row')}: ask for fewer columns, or download it`;

const describeCutCells = (cells: number) =>
  `${count(cells, 'cell')} cut at ${MAX_CELL_BYTES / 1_000_000} MB: market-mirror query and export have all of it`;

async function sendRowLines(lines: readonly string[], channel: QueryChannel): Promise<void> {
  if (lines.length > 0) await sendInPieces(`{"rows":[${lines.join(',')}]}\n`, channel);
}

async function sendInPieces(text: string | Uint8Array, channel: QueryChannel): Promise<void> {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    await channel.send(bytes.subarray(at, at + PIECE_BYTES));
}

/** A row as JSON; undefined where that would have more than `room` bytes. */
function lineOf(row: readonly Cell[], room: number): string | undefined {
  const cells: string[] = [];
  let length = row.length + 1;
  for (const cell of row) {
    const json = JSON.stringify(shownCell(cell));
    length += json.length;
    if (length > room) return undefined;
    cells.push(json);
  }
  const line = `[${cells.join(',')}]`;
  return Buffer.byteLength(line) > room ? undefined : line;
}

function shownCell(cell: Cell): string | number | null | { integer: string } | { bytes: number } {
  if (typeof cell === 'bigint') return { integer: String(cell) };
  if (typeof cell === 'number' && !Number.isFinite(cell)) return String(cell);
  return cell instanceof Uint8Array ? { bytes: cell.length } : cell;
}

/** Sends the file that `export` writes. */
async function sendFile(
  rows: Iterable<unknown[]>,
  opened: Opened,
  order: Order,
  asOf: string | null,
  channel: QueryChannel,
): Promise<FileEnd> {
  const cutter = cutCells();
  const judged = judge(opened.sources, { sql: order.sql, asOf }, {}, Date.parse(order.exportedAt));
  async function* batches() {
    for (const batch of batchesOf(rows)) yield batch.map((row) => cutter.row(row, true));
  }
  const exported = await exportAnswer({ ...opened, ...judged, batches: batches() }, order, async (piece) => {
    await sendInPieces(piece, channel);
    return true;
  });
  return { ...exported, cutCells: cutter.cut() };
}

/** Cuts texts, and bytes where they are not only counted, to `MAX_CELL_BYTES`. */
function cutCells() {
  let cut = 0;
  const cutCell = (cell: Cell, withBytes: boolean): Cell => {
    // No letter has more bytes than three for each of its units.
    if (typeof cell === 'string' && cell.length * 3 > MAX_CELL_BYTES) return cutText(cell);
    if (!withBytes || !(cell instanceof Uint8Array) || cell.length <= MAX_CELL_BYTES) return cell;
    cut += 1;
    return cell.subarray(0, MAX_CELL_BYTES);
  };
  const cutText = (text: string): string => {
    const size = Buffer.byteLength(text);
    if (size <= MAX_CELL_BYTES) return text;
    cut += 1;
    const bytes = Buffer.from(text.slice(0, MAX_CELL_BYTES)).subarray(0, MAX_CELL_BYTES);
    // Half of a letter at the end is left out.
    const kept = new TextDecoder().decode(bytes, { stream: true });
    return `${kept}… [cut: the first ${MAX_CELL_BYTES / 1_000_000} MB of ${Math.ceil(size / 1_000_000)} MB]`;
  };
  return {
    row: (row: readonly Cell[], withBytes = false): Cell[] => row.map((cell) => cutCell(cell, withBytes)),
    cut: () => cut,
  };
}
