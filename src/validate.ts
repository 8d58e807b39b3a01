/** A response of the API as rows that fit, rows that do not, and what is new about them. */

import type { Body } from './api/call.ts';
import { Failure } from './errors.ts';
import type { Job, RowValues } from './job.ts';
import { PageAsStored, readAsStored } from './validate/as-stored.ts';
import type {
  CheckedPage,
  CheckedRows,
  DiscoveredShape,
  Drift,
  PageFields,
  RefusedRow,
  Row,
  StoredRow,
  StoredRows,
} from './validate/checked.ts';
import { checkDiscovered } from './validate/discovered.ts';
import { asRecord, readEnvelope } from './validate/envelope.ts';
import { type CheckedRow, identityOf } from './validate/findings.ts';
import { profileRows } from './validate/profile.ts';
import { type Slice, sliceElements } from './validate/raw.ts';
import { checkSpecified } from './validate/specified.ts';
import { findRepeatedNameIn, inspect, mayHoldHostileText, withPlainNames } from './validate/storable.ts';

const noFields: PageFields = { rows: 0, fields: [] };

/**
 * Reads a page, for `checkPage`.
 * @param known the shape discovered of this dataset before, if it needs one.
 * @param stored its rows as they are stored, where those that are the same need not be looked at.
 * @param before the rows of the page before, behind which these may lie.
 * @throws SyntaxError where it is no JSON.
 */
export function readPage(
  body: Body,
  known: DiscoveredShape | undefined,
  stored: StoredRows | undefined,
  before: readonly Row[] = [],
): unknown {
  return (known && stored && readAsStored(body, known, stored, before)) ?? JSON.parse(body.text());
}

/**
 * @param json what `readPage` or `JSON.parse` made of the body.
 * @param known the shape discovered of this dataset before, if it needs one; it comes back where nothing speaks against it.
 * @throws Failure `contract` where the envelope is broken.
 */
export function checkPage(
  job: Job,
  body: Pick<Body, 'text'>,
  json: unknown,
  known: DiscoveredShape | undefined,
): CheckedPage {
  if (json instanceof PageAsStored)
    return json.shape === known
      ? describeStored(job, json)
      : checkPage(job, body, JSON.parse(body.text()), known);
  const text = body.text();
  const { rows, path, drifts, ...envelope } = readEnvelope(job, json, known?.rowsPath);
  const slices = once(() => slicesOf(job, text, path, rows.length));
  const { checked, fields, shape } = job.contract
    ? checkContract(job.contract, rows, slices, mayHoldHostileText(text))
    : checkDiscovered(rows, slices(), path, known);
  const received = rows.length;
  return { ...envelope, received, ...collect(job, checked, slices, drifts), fields, shape };
}

function describeStored(job: Job, { rows, json, shape }: PageAsStored): CheckedPage {
  const { pagination, generatedAt, drifts } = readEnvelope(job, json, shape.rowsPath);
  return {
    pagination,
    generatedAt,
    received: rows.length,
    keys: rows.map(({ key }) => key),
    accepted: rows.map((stored) => new RowAsStored(stored)),
    refused: [],
    drifts,
    fields: { rows: rows.length, fields: [], areStored: true },
    shape,
  };
}

/** A class, since there are many, and hardly anybody asks for their values. */
class RowAsStored implements Row {
  readonly key: string;
  readonly stored: StoredRow;

  constructor(stored: StoredRow) {
    this.key = stored.key;
    this.stored = stored;
  }

  get values(): RowValues {
    return { _body: this.stored.body() };
  }
}

/**
 * What is wrong with a dataset of whose first page no row fits: it is halted, since its contract is another. Rows
 * further down that do not fit are no more than rows that do not fit, however many.
 */
export function describeBreach({
  refused,
  received,
}: Pick<CheckedPage, 'refused' | 'received'>): string | undefined {
  const problem = refused[0]?.problems[0];
  if (!problem || refused.length < received) return undefined;
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

/** A row that was refused before, looked at again, by the shape discovered of its dataset. */
export function checkAgain(job: Job, body: string, known: DiscoveredShape | undefined): CheckedRows {
  const row: unknown = JSON.parse(body);
  const slices = () => sliceElements(`[${body}]`, []);
  const { checked, fields } = job.contract
    ? checkContract(job.contract, [row], slices, true)
    : checkDiscovered([row], slices(), [], known);
  return { ...collect(job, checked, slices, []), fields };
}

type Slices = () => readonly Slice[];

function checkContract(
  contract: NonNullable<Job['contract']>,
  rows: readonly unknown[],
  slices: Slices,
  suspicious: boolean,
) {
  const body = (at: number) => () => slices()[at]?.text ?? '';
  const checked = rows.map((row, at) => checkSpecified(contract, row, suspicious, body(at)));
  return { checked, fields: noFields, shape: undefined };
}

function collect(
  { contract }: Job,
  checked: readonly CheckedRow[],
  slices: Slices,
  first: readonly Drift[],
): Omit<CheckedRows, 'fields'> {
  const accepted = new Map<string, Row>();
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
