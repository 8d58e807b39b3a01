/** A response of the API as rows that fit, rows that do not, and what is new about them. */

import { Failure } from './errors.ts';
import type { Job } from './job.ts';
import { checkDiscovered, type KeyChoice } from './validate/discovered.ts';
import { asRecord, type Envelope, readEnvelope } from './validate/envelope.ts';
import { inspect, mayHoldHostileText } from './validate/hostile.ts';
import { identityOf } from './validate/identity.ts';
import { findRepeatedNameIn, withPlainNames } from './validate/names.ts';
import { profileRows } from './validate/profile.ts';
import { type Slice, sliceElements } from './validate/raw.ts';
import { checkSpecified } from './validate/specified.ts';
import type { AcceptedRow, CheckedRow, Drift, PageFields, RefusedRow } from './validate/types.ts';

export type { Pagination } from './validate/envelope.ts';
export type {
  AcceptedRow,
  Drift,
  DriftKind,
  PageFields,
  Problem,
  RefusedRow,
  SeenField,
} from './validate/types.ts';

/** How a dataset whose shape is not specified is read; chosen once, then held to. */
export type Choice = KeyChoice & {
  /** The names that lead to the array of rows within a page; none for a bare array. */
  rowsPath: readonly string[];
};

/** What rows come to, whatever brought them. */
export type CheckedRows = {
  /** The key of each row in the order of the page; null where a refused row shows none. */
  keys: (string | null)[];
  /** One row a key: where a page repeats a key, its last row. */
  accepted: AcceptedRow[];
  refused: RefusedRow[];
  drifts: Drift[];
  /** What was seen of the fields of a dataset whose shape is not specified. */
  fields: PageFields;
};

export type CheckedPage = CheckedRows &
  Pick<Envelope, 'pagination' | 'generatedAt'> & {
    /** How many rows came, whatever became of them. */
    received: number;
    /** The choice that this page was read by; undefined for a specified dataset and before the first row. */
    choice: Choice | undefined;
  };

const noFields: PageFields = { rows: 0, fields: [] };

/**
 * @param known the choice made for this dataset before, if it needs one; what the page says against it is in the
 * choice that comes back.
 * @throws Failure `contract` where the envelope is broken.
 */
export function checkPage(job: Job, text: string, json: unknown, known: Choice | undefined): CheckedPage {
  const { rows, path, pagination, generatedAt, drifts } = readEnvelope(job, json, known?.rowsPath);
  const slices = once(() => slicesOf(job, text, path, rows.length));
  const about = { pagination, generatedAt, received: rows.length };
  if (job.contract) {
    const checked = checkContract(job.contract, rows, slices, mayHoldHostileText(text));
    return { ...about, ...collect(job, checked, slices, drifts), fields: noFields, choice: undefined };
  }
  const { rows: checked, choice, fields } = checkDiscovered(rows, slices(), known);
  return {
    ...about,
    ...collect(job, checked, slices, drifts),
    fields,
    choice: choice === known ? known : choice && { ...choice, rowsPath: path },
  };
}

/**
 * What is wrong with a dataset of whose first page no row fits: it is halted, since its contract is another. Rows
 * further down that do not fit are no more than rows that do not fit, however many.
 */
export function describeBreach(
  page: Pick<CheckedPage, 'refused' | 'received'> & { offset: number },
): string | undefined {
  const { refused, received, offset } = page;
  const problem = refused[0]?.problems[0];
  if (!problem || refused.length < received || offset > 0) return undefined;
  const where = problem.path ? `${problem.path.replace(/[^\x20-\x7e]+/g, ' ')}: ` : '';
  return `the API broke its contract: no row of the first page fits (${where}expected ${problem.expected}, received ${problem.received}); they are in quarantine, the rows already mirrored stay`;
}

/** A response that is kept whole, whatever it looks like, under the key given. */
export function checkSnapshot(text: string, json: unknown, key: string, fetchedAt: string): CheckedRows {
  const { problem: hostile, members } = inspect(json);
  const problem = hostile ?? findRepeatedNameIn(text, members);
  const record = asRecord(json);
  if (problem)
    return {
      keys: [null],
      accepted: [],
      refused: [{ key: null, identity: identityOf(text, undefined), body: text, problems: [problem] }],
      drifts: [],
      fields: noFields,
    };
  const values = { _fetched_at: fetchedAt, _body: withPlainNames(text) };
  return {
    keys: [key],
    accepted: [{ key, values }],
    refused: [],
    drifts: [],
    fields: profileRows(record ? [record] : []),
  };
}

/** Rows that were refused before, looked at again: each of its own, by the choice made for its dataset. */
export function checkAgain(job: Job, body: string, known: Choice | undefined): CheckedRows {
  const row: unknown = JSON.parse(body);
  const slices = () => sliceElements(`[${body}]`, []);
  if (job.contract)
    return {
      ...collect(job, checkContract(job.contract, [row], slices, true), slices, []),
      fields: noFields,
    };
  const { rows, fields } = checkDiscovered([row], slices(), known);
  return { ...collect(job, rows, slices, []), fields };
}

type Slices = () => readonly Slice[];

function checkContract(
  contract: NonNullable<Job['contract']>,
  rows: readonly unknown[],
  slices: Slices,
  suspicious: boolean,
): CheckedRow[] {
  return rows.map((row, at) => checkSpecified(contract, row, suspicious, () => slices()[at]?.text ?? ''));
}

function collect(
  { contract }: Job,
  checked: readonly CheckedRow[],
  slices: Slices,
  first: readonly Drift[],
): Omit<CheckedRows, 'fields'> {
  const accepted = new Map<string, AcceptedRow>();
  const refused: RefusedRow[] = [];
  const drifts = createTally(first);
  checked.forEach((row, at) => {
    if (row.fits) {
      for (const drift of row.drifts) drifts.add(drift);
      accepted.set(row.key, { key: row.key, values: row.values });
    } else {
      const { key, problems } = row;
      const body = slices()[at]?.text ?? '';
      refused.push({ key, identity: key ?? identityOf(body, contract), body, problems });
    }
  });
  return {
    keys: checked.map(({ key }) => key),
    accepted: [...accepted.values()],
    refused,
    drifts: drifts.all(),
  };
}

function slicesOf(job: Job, text: string, path: readonly string[], rows: number): Slice[] {
  const slices = sliceElements(text, path);
  if (slices.length !== rows)
    throw new Failure('bug', `${job.name}: ${rows} rows were parsed, but ${slices.length} found in the text`);
  return slices;
}

function createTally(first: readonly Drift[]) {
  const found = new Map<string, Drift>();
  const add = (drift: Drift) => {
    const id = `${drift.kind} ${drift.path} ${drift.detail}`;
    found.set(id, { ...drift, times: (found.get(id)?.times ?? 0) + drift.times });
  };
  first.forEach(add);
  return { add, all: () => [...found.values()] };
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
