/**
 * Reads the answer to a question: its rows, written in the form that was asked for, and the state of the dataset at that moment.
 * This runs in a query process, which can be killed.
 */

import type { Cell } from '../../../output/answer.ts';
import { csv } from '../../../output/forms.ts';
import { endFinder } from '../../../reading/moment.ts';
import { type Connection, PROOF } from '../../../store/read.ts';
import { type Encoding, type Packed, packed } from '../../http/response.ts';
import { inReadTransaction, prepared } from '../mirror.ts';
import type { PointInTime } from './parse.ts';
import type { RowsSql, Shape, Sql } from './sql.ts';

/** How rows are written: a list of JSON, lines of JSON, one object of JSON, or CSV. */
export type Form = 'json' | 'ndjson' | 'object' | 'csv';

export type RowsQuestion = {
  readonly rows: RowsSql;
  readonly form: Form;
  /** Further rows are counted, and not shown; null where the question sets its own limit. */
  readonly maxRows: number | null;
  readonly isCounted: boolean;
  readonly at: PointInTime | null;
  readonly encoding: Encoding;
};

export type RowsAnswer = {
  readonly state: DatasetState;
  /** Undefined where they have more than `MAX_BYTES`. */
  readonly body: Packed | undefined;
  readonly returned: number;
  /** Null where they were not counted. */
  readonly total: number | null;
};

/** The state of a dataset. */
export type DatasetState = {
  /** Of its latest change. */
  readonly seq: number;
  /** Of that, or of its latest order: the greatest that `/api/v1` has named it by. */
  readonly lastNamed: number;
  /** Grows with changes that no `seq` counts: of volatile values, and of what is held. */
  readonly volatileSeq: number | null;
  /** Up to here history was dropped; null where nothing was. */
  readonly historyFrom: string | null;
  /** The change from which on its rows have their present keys; null where they never changed. */
  readonly keysSeq: number | null;
  /** By which change the first full walk had ended; null where none has. */
  readonly readSeq: number | null;
  /** `union` where nothing had been proven. */
  readonly verdict: 'snapshot' | 'verified' | 'union';
  /** When the walk began that had proved it complete, ISO 8601. */
  readonly completeAsOf: string | null;
  readonly held: number;
  /** The last time at which it was so, ISO 8601; null where it still is. */
  readonly end: string | null;
};

/** Of one answer. */
export const MAX_BYTES = 8_000_000;

type StateRow = {
  keysSeq: number | null;
  lastSeq: number | null;
  reorderedSeq: number | null;
  volatileSeq: number | null;
  historyFrom: string | null;
  readSeq: number | null;
};

function endOf(connection: Connection, job: string, at: PointInTime | null): string | null {
  if (at === null) return null;
  return 'seq' in at ? endFinder(connection)(job, at.seq) : at.time;
}

/** @param rows the table in which its rows lie. @param at null for the present. */
export function stateOf(
  connection: Connection,
  { name, rows }: { name: string; rows: string },
  at: PointInTime | null,
): DatasetState {
  const end = endOf(connection, name, at);
  const until = end ?? '9999';
  const { lastSeq, reorderedSeq, volatileSeq, historyFrom, keysSeq, readSeq } = prepared(
    connection,
    `SELECT last_seq AS lastSeq, reordered_seq AS reorderedSeq, volatile_seq AS volatileSeq, history_from AS historyFrom, keys_seq AS keysSeq,
       (SELECT coalesce(last_seq, 0) FROM walks
        WHERE job = :job AND kind = 'walk' AND status = 'complete' AND renewal_of IS NULL ORDER BY id LIMIT 1) AS readSeq
     FROM (SELECT 1) LEFT JOIN _datasets ON job = :job`,
  ).get({ job: name }) as StateRow;
  const proof = prepared(
    connection,
    `SELECT verdict, started_at AS completeAsOf FROM walks
     WHERE job = :job AND ${PROOF} AND finished_at <= :until ORDER BY id DESC LIMIT 1`,
  ).get({ job: name, until }) as Pick<DatasetState, 'verdict' | 'completeAsOf'> | undefined;
  const { held } = prepared(
    connection,
    `SELECT count(*) AS held FROM "${rows}" WHERE _held_since IS NOT NULL AND _held_since <= :until`,
  ).get({ until }) as { held: number };
  const seq = Math.trunc(lastSeq ?? 0);
  return {
    ...{
      seq,
      lastNamed: Math.max(seq, reorderedSeq ?? 0),
      volatileSeq,
      historyFrom,
      keysSeq,
      readSeq,
      held,
      end,
    },
    ...(proof ?? { verdict: 'union', completeAsOf: null }),
  };
}

/** Rows, count and state are those of one moment. */
export async function readRows(
  connection: Connection,
  dataset: { name: string; rows: string },
  { rows, form, maxRows, isCounted, at, encoding }: RowsQuestion,
): Promise<RowsAnswer> {
  const { row, whole } = form === 'csv' ? csvWriter(rows.columns) : jsonWriter(rows.columns, form);
  const { state, found, total } = inReadTransaction(connection, () => {
    const found = collect(connection, rows.rows, row, maxRows);
    const total = isCounted || found.isMore ? count(connection, rows.count) : null;
    return { state: stateOf(connection, dataset, at), found, total };
  });
  const bytes = Buffer.from(found.isTooLong ? '' : await whole(found.written));
  const isTooLong = found.isTooLong || bytes.length > MAX_BYTES;
  const body = isTooLong ? undefined : await packed(bytes, encoding);
  return { state, returned: found.written.length, total, body };
}

function count(connection: Connection, { sql, params }: Sql): number {
  return (prepared(connection, sql).get(params) as { total: number }).total;
}

/** The rows as they are written; no more than may be sent. */
function collect(
  connection: Connection,
  { sql, params }: Sql,
  write: Writer['row'],
  maxRows: number | null,
): { written: WrittenRow[]; isMore: boolean; isTooLong: boolean } {
  const written: WrittenRow[] = [];
  let length = 0;
  for (const row of prepared(connection, sql).raw().iterate(params)) {
    const isMore = written.length === maxRows;
    if (isMore || length > MAX_BYTES) return { written, isMore, isTooLong: !isMore };
    const one = write(row as unknown[]);
    length +=
      typeof one === 'string' ? one.length : one.reduce<number>((sum, cell) => sum + lengthOf(cell), 0);
    written.push(one);
  }
  return { written, isMore: false, isTooLong: length > MAX_BYTES };
}

const lengthOf = (cell: Cell) => (typeof cell === 'string' ? cell.length + 1 : 2);

type Columns = RowsSql['columns'];

/** A row as its JSON, or as the cells of its line. */
type WrittenRow = string | Cell[];

type Writer = {
  row(row: readonly unknown[]): WrittenRow;
  whole(rows: readonly WrittenRow[]): string | Promise<string>;
};

export function jsonWriter(columns: Columns, form: Exclude<Form, 'csv'>) {
  const heads = columns.map(({ name }, at) => `${at === 0 ? '' : ','}${JSON.stringify(name)}:`);
  const shapes = columns.map(({ shape }) => shape);
  return {
    row(row: readonly unknown[]): string {
      let text = '{';
      for (let at = 0; at < heads.length; at += 1) text += heads[at] + jsonOf(row[at], shapes[at] as Shape);
      return `${text}}`;
    },
    whole(rows: readonly WrittenRow[]): string {
      if (form === 'json') return `[${rows.join(',\n')}]`;
      return form === 'object' ? rows.join('') : rows.map((row) => `${row}\n`).join('');
    },
  };
}

function jsonOf(value: unknown, shape: Shape): string {
  if (value === null || value === undefined) return 'null';
  if (shape === 'raw') return String(value);
  if (shape === 'rawText') return JSON.stringify(textOfJson(String(value)));
  if (shape === 'boolean') return value === 1 ? 'true' : 'false';
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null';
  return JSON.stringify(String(value));
}

/** A text as itself, anything else as it is written in JSON, null as null. */
function textOfJson(json: string): string | null {
  if (json === 'null') return null;
  return json.startsWith('"') ? (JSON.parse(json) as string) : json;
}

function csvWriter(columns: Columns): Writer {
  return {
    row: (row) => row.map((value, at) => cellOf(value, columns[at]?.shape ?? 'text')),
    async whole(rows) {
      const named = columns.map(({ name }) => ({ name, type: null }));
      async function* batches() {
        yield rows as Cell[][];
      }
      let text = '';
      for await (const part of csv({ columns: named, batches: batches() }, false, { cells: 0 })) text += part;
      return text;
    },
  };
}

function cellOf(value: unknown, shape: Shape): Cell {
  if (value === null || value === undefined) return null;
  if (shape === 'raw' || shape === 'rawText') return textOfJson(String(value));
  return shape === 'boolean' ? String(value === 1) : (value as Cell);
}
