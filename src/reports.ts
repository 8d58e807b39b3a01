/** Saved queries that run, and tell: one run of a report, from its query to the message that is to be sent. */

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { writing } from './base/atomic-file.ts';
import { doubledMs } from './base/backoff.ts';
import { ageOf, type Clock, isoTime, isTooOld } from './base/clock.ts';
import { asFailure, Failure } from './base/errors.ts';
import { nearest } from './base/near.ts';
import { printable } from './base/printable.ts';
import { nextDue } from './base/schedule.ts';
import { version } from './base/version.ts';
import { type Cell, type Column, hex } from './output/answer.ts';
import { rowToJson } from './output/forms.ts';
import { count, number } from './output/numbers.ts';
import { exportAnswer, openFiles } from './reading/export.ts';
import { judge } from './reading/query/sources.ts';
import type { Answer, Question, RunQuery } from './reading/query.ts';
import { fileOf, mistakesByReport, type Report, type ReportFiles } from './reports/file.ts';
import { describeHolder, isLock, type ReportState, tryLock } from './store.ts';

export {
  type Mistake,
  mistakesByReport,
  type Report,
  type ReportFiles,
  readReportFiles,
  reportOf,
} from './reports/file.ts';
export { type SendParts, sendMessages } from './reports/send.ts';

/** Where reports read and write. */
type ReportParts = {
  /** The folder of the mirror. */
  dir: string;
  /** The folder of their files. */
  to: string;
  /** The mirrored tables with their jobs. */
  tables: Readonly<Record<string, string>>;
  state: ReportState;
  clock: Clock;
};

/** Lets the mirror know which reports there are, and what is wrong with them. */
export function noteReports(state: ReportState, { reports, mistakes }: ReportFiles): void {
  state.follow([
    ...reports.map(({ name, title, sql }) => ({ name, title, sql, mistake: null })),
    ...[...mistakesByReport(mistakes)].map(([name, mistake]) => ({ name, title: name, sql: '', mistake })),
  ]);
}

/** What a run came to. */
export type ReportRun = {
  rows: number;
  /** Rows that are told of for the first time; all of them where it is no alert. */
  newRows: number;
  /** The path of its file, where it writes one. */
  file: string | null;
  /** The `id` of its message, where it tells. */
  messageId: string | null;
  /** Rows whose watched columns are null: nobody can tell them apart, and so nobody is told of them. */
  error: string | null;
};

/** Its data is not proven recently enough: it waits for the next proof. `message` says of which dataset. */
export class Unproven extends Error {
  override readonly name = 'Unproven';
}

const MAX_ROWS_TOLD = 50;
/** Of the rows of a message, as JSON. */
const MAX_BYTES_TOLD = 256 * 1_024;
/** How long a query may take. */
const MAX_QUERY_MS = 10 * 60_000;
/** How long a report rests after a run that failed: the longer, the more of them failed in a row. */
const rests = { firstMs: 60_000, longestMs: 60 * 60_000 };

/**
 * Runs a report once: its query, its file, and then in one transaction what it came to, its keys and its message.
 * @throws Unproven, Failure: both are noted; `incomplete` where another process runs it; the signal's reason.
 */
export async function runReport(
  parts: ReportParts,
  report: Report,
  ask: RunQuery,
  signal: AbortSignal,
): Promise<ReportRun> {
  const { dir, clock, state } = parts;
  const lock = tryLock(dir, `report-${report.name}`);
  if (!isLock(lock)) throw new Failure('incomplete', `${report.name}: ${describeHolder(lock)} is running it`);
  const ranAt = clock.now();
  try {
    return await ask(questionOf(parts, report), boundsOf(clock, signal), async (answer) => {
      await refuseUnproven(parts, report, answer);
      return await write(parts, report, answer, ranAt);
    });
  } catch (thrown) {
    if (thrown instanceof Unproven || signal.aborted) throw thrown;
    const failure = inFile(report, asFailure(thrown));
    state.fail(report.name, report.sql, ranAt, failure);
    throw failure;
  } finally {
    lock.release();
  }
}

const questionOf = ({ dir, tables }: ReportParts, { sql, to }: Report): Question => ({
  ...{ dir, sql, params: {}, tables, asOf: null, json: true },
  infersTypes: to?.format === 'parquet',
});

const boundsOf = ({ now }: Clock, signal: AbortSignal) => ({ signal, now, timeoutMs: MAX_QUERY_MS });

/** What a report reads. `unproven`: why it would wait; null where it would not. */
export type ReportCheck = {
  reads: readonly { job: string; completeAsOf: string | null }[];
  unproven: string | null;
};

/** Looks at a report without running it. @throws Failure for SQL that cannot run, and for a watched column that is not there. */
export async function checkReport(
  parts: Omit<ReportParts, 'state' | 'to'>,
  report: Report,
  ask: RunQuery,
  signal: AbortSignal,
): Promise<ReportCheck> {
  try {
    const question = questionOf(parts as ReportParts, { ...report, to: undefined });
    return await ask(question, boundsOf(parts.clock, signal), async (answer) => {
      watchedColumns(report, answer.columns);
      const reads = answer.sources.map(({ job, completeAsOf }) => ({ job, completeAsOf }));
      if (reads.length === 0 && report.run === 'on change')
        throw new Failure(
          'usage',
          'it reads no dataset, so no change runs it: add a line such as -- run: every 5m',
        );
      return { reads, unproven: whyUnproven(report, answer, parts.clock.now()) };
    });
  } catch (thrown) {
    throw inFile(report, asFailure(thrown));
  }
}

/** A mistake in the SQL names file and line, and is one of the settings. */
function inFile({ name }: Report, failure: Failure): Failure {
  const { kind, message } = failure;
  if (kind !== 'usage') return failure;
  const [first = ''] = message.split('\n');
  const [, said = first, line] = /^(.*), line (\d+)$/s.exec(first) ?? [];
  return new Failure('config', `${name}.sql${line === undefined ? '' : `:${line}`}: ${said}`, {
    cause: failure,
  });
}

async function refuseUnproven({ state, clock }: ReportParts, report: Report, answer: Answer): Promise<void> {
  const why = whyUnproven(report, answer, clock.now());
  if (why === null) return;
  state.wait(report.name, report.sql, jobsOf(answer), why);
  throw new Unproven(why);
}

function whyUnproven({ sql, freshMs }: Report, { sources }: Answer, now: number): string | null {
  try {
    judge(sources, { sql, asOf: null }, { maxAgeMs: freshMs }, now);
    return null;
  } catch (thrown) {
    if (thrown instanceof Failure && thrown.kind === 'incomplete') return thrown.message;
    throw thrown;
  }
}

const jobsOf = ({ sources }: Answer) => sources.map(({ job }) => job);

async function write(
  { to, state, clock }: ReportParts,
  report: Report,
  answer: Answer,
  ranAt: number,
): Promise<ReportRun> {
  const { name, title, tell } = report;
  const at = isoTime(ranAt);
  const rows = rowsToTell(report, answer, state);
  const path = await writing(join(to, report.to?.pattern ?? ''), async () => fileOf(report, to, at));
  const files = path === undefined ? undefined : await openFiles(path, true);
  try {
    const order = {
      ...{ format: report.to?.format ?? 'ndjson', exact: false, sql: report.sql, params: {} },
      ...{ job: null, asOf: null, since: null, exportedAt: at, by: `market-mirror ${version()}` },
      report: { name, title },
    } as const;
    const read = { ...answer, batches: rows.noted(answer.batches) };
    const exported = await exportAnswer(read, order, files?.write ?? (async () => true));
    const receipt = files ? await files.commit(exported) : { ...exported, format: null };
    const told = rows.told();
    const isTold = tell === 'always' || (tell === 'rows' && told.newRows > 0);
    const seq = answer.seq;
    // The same rows are the same message; that there are none is one of each run.
    const isOfRows = report.watch.length > 0 && told.newRows > 0;
    const id = isTold ? digestOf(name, isOfRows ? told.keys : at, seq) : null;
    const error = told.nulls === 0 ? null : describeNulls(report, told.nulls);
    state.finish({
      ...{ report: name, sql: report.sql, reads: jobsOf(answer), seq, ranAt, rows: exported.rows },
      ...{ durationMs: clock.now() - ranAt, newRows: told.newRows, isAlert: report.watch.length > 0 },
      ...{ receipt: { ...receipt, file: path ?? null }, error },
      message:
        id === null
          ? null
          : {
              id,
              receiver: report.command === undefined ? 'webhook' : 'command',
              body: messageOf({ id, report, at, told, answer, file: path ?? null, receipt }),
            },
    });
    return { rows: exported.rows, newRows: told.newRows, file: path ?? null, messageId: id, error };
  } finally {
    await files?.close();
  }
}

const digestOf = (...of: readonly (string | number)[]) =>
  createHash('sha256').update(JSON.stringify(of)).digest('hex').slice(0, 32);

/** @throws Failure `usage` for a column that is not there. */
function watchedColumns({ watch, lines }: Report, columns: readonly Column[]): number[] {
  const names = columns.map(({ name }) => name);
  return watch.map((wanted) => {
    const at = names.indexOf(wanted);
    const named = names.filter((name) => name === wanted).length;
    if (named > 1)
      throw new Failure(
        'usage',
        `watch: ${wanted} names ${named} columns of the result: give each a name of its own with AS, line ${lines.watch}`,
      );
    if (at >= 0) return at;
    const help = nearest(wanted, names) || `; its columns are ${names.join(', ')}`;
    throw new Failure('usage', `watch: ${wanted} is no column of the result${help}, line ${lines.watch}`);
  });
}

const describeNulls = ({ watch, lines, name }: Report, nulls: number) =>
  `${name}.sql:${lines.watch}: watch: ${watch.join(', ')} is null in ${count(nulls, 'row')}, of which nobody is told: leave such rows out, or watch another column`;

type NewRows = {
  newRows: number;
  nulls: number;
  /** As JSON, as many as a message takes. */
  shown: readonly string[];
  /** The first of them in words. */
  words: readonly string[];
  /** A digest of the watched values of all of them. */
  keys: string;
};

const MAX_ROWS_IN_WORDS = 3;

/** Finds the rows to tell of among those that pass by. @throws Failure `usage` for a watched column that is not there. */
function rowsToTell(report: Report, { columns }: Answer, state: ReportState) {
  const watched = watchedColumns(report, columns);
  const isNew = watched.length > 0 ? state.beginAlert(report.name) : undefined;
  const toJson = rowToJson(columns);
  const keys = createHash('sha256');
  const told = { newRows: 0, nulls: 0, shown: [] as string[], words: [] as string[] };
  let left = report.tell === 'never' ? 0 : MAX_BYTES_TOLD;

  /** The watched values of a row; null where one of them is. */
  function keyOf(row: readonly Cell[]): string | null {
    const values = watched.map((at) => row[at] ?? null);
    return values.includes(null) ? null : JSON.stringify(values.map(inKey));
  }

  function note(batch: readonly Cell[][]): void {
    const known = batch.flatMap((row) => {
      const key = keyOf(row);
      return key === null ? [] : [{ row, key }];
    });
    told.nulls += batch.length - known.length;
    const areNew = isNew?.(known.map(({ key }) => key));
    for (const [at, { row, key }] of known.entries()) if (areNew?.[at] ?? true) tell(row, key);
  }

  function tell(row: readonly Cell[], key: string): void {
    told.newRows += 1;
    keys.update(`${key}\n`);
    if (left === 0 || told.shown.length === MAX_ROWS_TOLD) return;
    const json = toJson(row);
    left = Math.max(0, left - Buffer.byteLength(json));
    if (left > 0) told.shown.push(json);
    if (told.words.length < MAX_ROWS_IN_WORDS) told.words.push(inWords(row));
  }

  return {
    async *noted(batches: Answer['batches']): Answer['batches'] {
      for await (const batch of batches) {
        note(batch);
        yield batch;
      }
    },
    told: (): NewRows => ({ ...told, keys: keys.digest('hex') }),
  };
}

/** What JSON has no form for stands in a list: no text has the same key. */
function inKey(cell: Cell): Cell | [string] {
  if (cell instanceof Uint8Array) return [hex(cell)];
  const isPlain = cell === null || typeof cell === 'string' || Number.isFinite(cell);
  return isPlain ? cell : [String(cell)];
}

const MAX_LETTERS_OF_CELL = 60;
/** Slack cuts a longer line, and no environment of a command takes one of many columns. */
const MAX_LETTERS_OF_ROW = 600;

function inWords(row: readonly Cell[]): string {
  const words = row.flatMap((cell) => {
    if (cell === null) return [];
    return cut(printable(String(inKey(cell))), MAX_LETTERS_OF_CELL);
  });
  return cut(words.join(' '), MAX_LETTERS_OF_ROW);
}

const cut = (text: string, letters: number) =>
  text.length > letters ? `${text.slice(0, letters).toWellFormed()}…` : text;

/** The JSON that is sent. */
function messageOf(of: {
  id: string;
  report: Report;
  at: string;
  told: NewRows;
  answer: Answer;
  file: string | null;
  receipt: unknown;
}): string {
  const { id, report, at, told, answer, file, receipt } = of;
  const proofs = answer.sources.map(({ job, table, completeAsOf, proof }) => ({
    ...{ job, table, completeAsOf, verdict: proof?.verdict ?? null, walkId: proof?.walkId ?? null },
  }));
  const head = JSON.stringify({
    text: lineOf(report, told),
    id,
    report: report.name,
    title: report.title,
    at,
    proofs,
  });
  const tail = JSON.stringify({ more: told.newRows - told.shown.length, file, receipt });
  return `${head.slice(0, -1)},"rows":[${told.shown.join(',')}],${tail.slice(1)}`;
}

/** One line for a chat. What the API sends calls nobody there. */
function lineOf({ title, watch }: Report, { newRows, words }: NewRows): string {
  const rows =
    newRows === 0
      ? 'no rows'
      : `${number(newRows)} ${watch.length > 0 ? 'new ' : ''}${newRows === 1 ? 'row' : 'rows'}`;
  const more =
    newRows > words.length && words.length > 0 ? [`and ${number(newRows - words.length)} more`] : [];
  const what = [...words, ...more].join(' · ');
  return `${title}: ${rows}${what === '' ? '' : `: ${what}`}`.replace(
    /[<>@]/g,
    (sign) => quiet[sign] ?? sign,
  );
}

const quiet: Record<string, string> = { '<': '‹', '>': '›', '@': '＠' };

/** What is due of a report: `at` in epoch milliseconds, infinite where only a change, or a proof, makes it due. */
type ReportDue = { at: number; unproven: string | null };

type Known = Pick<
  ReturnType<ReportState['all']>[number],
  'ranAt' | 'sql' | 'error' | 'failures' | 'reads' | 'seq' | 'waits'
>;

/**
 * When a report is due, by what the mirror knows of its last run.
 * @param facts.completeAsOf of a job, epoch milliseconds; null where it is not proven.
 */
export function reportDue(
  report: Report,
  known: Known | undefined,
  facts: {
    now: number;
    latestChanges: ReadonlyMap<string, number>;
    completeAsOf(job: string): number | null;
  },
): ReportDue {
  const at = dueAt(report, known, facts);
  if (at > facts.now || report.freshMs === undefined || known?.sql !== report.sql)
    return { at, unproven: null };
  const old = known.reads.filter((job) => {
    const complete = facts.completeAsOf(job);
    return isTooOld(complete === null ? null : ageOf(complete, facts.now), report.freshMs);
  });
  if (old.length === 0) return { at, unproven: null };
  return { at: Number.POSITIVE_INFINITY, unproven: known.waits ?? `${old.join(', ')} waits for a proof` };
}

function dueAt(
  { run, sql }: Report,
  known: Known | undefined,
  { now, latestChanges }: { now: number; latestChanges: ReadonlyMap<string, number> },
): number {
  const ranAt = known?.ranAt == null ? null : Date.parse(known.ranAt);
  // A run ahead of the clock is of a clock that was set back since.
  if (!known || ranAt === null || ageOf(ranAt, now) === null || known.sql !== sql) return now;
  const again = known.error === null ? Number.POSITIVE_INFINITY : ranAt + doubledMs(known.failures, rests);
  if (run !== 'on change') return Math.min(again, nextDue(run, ranAt, ranAt) ?? Number.POSITIVE_INFINITY);
  // What it reads is known once it could run: a column may come with the first walk.
  const reads = known.error !== null && known.reads.length === 0 ? [...latestChanges.keys()] : known.reads;
  const isChanged = reads.some((job) => (latestChanges.get(job) ?? 0) > (known.seq ?? 0));
  return isChanged ? now : again;
}
