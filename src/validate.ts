/** A response of the API as rows that fit, rows that do not, and what is new about them. */

import { createHash } from 'node:crypto';
import type { Body } from './api/response.ts';
import { Failure } from './errors.ts';
import type { Job } from './job.ts';
import { columnName } from './properties.ts';
import type {
  CheckedPage,
  CheckedRows,
  DiscoveredShape,
  Drift,
  PageFields,
  RefusedRow,
  Row,
} from './validate/checked.ts';
import { checkDiscovered } from './validate/discovered.ts';
import { readEnvelope } from './validate/envelope.ts';
import { findRepeatedName, mayHoldHostileText, sliceElements, withPlainNames } from './validate/json-text.ts';
import { checkSpecified } from './validate/specified.ts';
import { type FindStoredRun, readUnchanged, UnchangedPage } from './validate/unchanged.ts';
import { asRecord, inspect, profileRows } from './validate/values.ts';

const noFields: PageFields = { rows: 0, fields: [] };

/**
 * Reads a page, for `checkPage`.
 * @param known the shape discovered before, where none is specified.
 * @param findRun finds stored rows that equal the page's; undefined where each row must be looked at.
 * @throws SyntaxError where it is no JSON.
 */
export function readPage(
  body: Body,
  known: DiscoveredShape | undefined,
  findRun: FindStoredRun | undefined,
): unknown {
  return (known && findRun && readUnchanged(body, known, findRun)) ?? JSON.parse(body.text());
}

/**
 * @param json what `readPage` or `JSON.parse` made of the body.
 * @param known the shape discovered before; it comes back unless the page contradicts it.
 * @throws Failure `contract` where the envelope is broken.
 */
export function checkPage(
  job: Job,
  body: Pick<Body, 'text'>,
  json: unknown,
  known: DiscoveredShape | undefined,
): CheckedPage {
  if (json instanceof UnchangedPage)
    return json.shape === known
      ? describeUnchanged(job, json)
      : checkPage(job, body, JSON.parse(body.text()), known);
  const text = body.text();
  const { rows, path, drifts, ...envelope } = readEnvelope(job, json, known?.rowsPath);
  let found: string[] | undefined;
  const bodies = () => {
    found ??= bodiesOf(job, text, path, rows.length);
    return found;
  };
  const page = { rows, path, bodies, suspicious: mayHoldHostileText(text), drifts };
  return { ...envelope, received: rows.length, ...checkRows(job, page, known) };
}

function describeUnchanged(job: Job, { rows, json, shape }: UnchangedPage): CheckedPage {
  const { pagination, generatedAt, drifts } = readEnvelope(job, json, shape.rowsPath);
  return {
    pagination,
    generatedAt,
    received: rows.length,
    keys: rows.map(({ key }) => key),
    accepted: rows,
    refused: [],
    drifts,
    fields: { rows: rows.length, fields: [], areStored: true },
    shape,
  };
}

/** Why a dataset halts when no row of its first page fits: its contract is another. On later pages such rows are only refused. */
export function describeBreach({
  refused,
  received,
}: Pick<CheckedPage, 'refused' | 'received'>): string | undefined {
  const problem = refused[0]?.problems[0];
  if (!problem || refused.length < received) return undefined;
  const where = problem.path ? `${problem.path.replace(/[^\x20-\x7e]+/g, ' ')}: ` : '';
  return `the API broke its contract: no row of the first page fits (${where}expected ${problem.expected}, received ${problem.received}); they are in quarantine, the rows already mirrored stay`;
}

/** Checks a response that is kept whole, as one row under `key`. */
export function checkSnapshot(text: string, json: unknown, key: string, fetchedAt: string): CheckedRows {
  const { problem: hostile, members } = inspect(json);
  const problem = hostile ?? findRepeatedName(text, members);
  const nothing = { accepted: [], refused: [], drifts: [], fields: noFields };
  if (problem) {
    const refused = { key: null, identity: identityOf(text, undefined), body: text, problems: [problem] };
    return { ...nothing, keys: [null], refused: [refused] };
  }
  const record = asRecord(json);
  const values = { _fetched_at: fetchedAt, _body: withPlainNames(text) };
  return {
    ...nothing,
    keys: [key],
    accepted: [{ key, values }],
    fields: profileRows(record ? [record] : []),
  };
}

/** Checks a refused row again. Without a discovered shape it stays refused: a single row does not show which field is the key. */
export function checkAgain(job: Job, body: string, known: DiscoveredShape | undefined): CheckedRows {
  const rows = [JSON.parse(body)];
  const received = { rows, path: [], bodies: () => [body.trim()], suspicious: true, drifts: [] };
  const checked = checkRows(job, received, known);
  if (job.contract || known || checked.refused.length > 0) return checked;
  const problem = { path: '', expected: 'a page that shows the key of its rows', received: 'none yet' };
  const refused = { key: null, identity: identityOf(body, undefined), body, problems: [problem] };
  return { keys: [null], accepted: [], refused: [refused], drifts: [], fields: noFields };
}

type ReceivedRows = {
  rows: readonly unknown[];
  /** The names that led to them. */
  path: readonly string[];
  /** Each as received; mostly nobody asks for them. */
  bodies: () => readonly string[];
  /** True where they may hold text that no table can keep. */
  suspicious: boolean;
  /** Those of the envelope. */
  drifts: readonly Drift[];
};

function checkRows(
  { contract }: Job,
  { rows, path, bodies, suspicious, drifts: ofEnvelope }: ReceivedRows,
  known: DiscoveredShape | undefined,
): CheckedRows & Pick<CheckedPage, 'shape'> {
  const bodyAt = (at: number) => bodies()[at] ?? '';
  const { checked, fields, shape } = contract
    ? {
        checked: rows.map((row, at) => checkSpecified(contract, row, suspicious, () => bodyAt(at))),
        fields: noFields,
        shape: undefined,
      }
    : checkDiscovered(rows, bodies(), path, known);
  const accepted = new Map<string, Row>();
  const refused: RefusedRow[] = [];
  const drifts = new Map<string, Drift>();
  const addDrift = (drift: Drift) => {
    const id = `${drift.kind} ${drift.path} ${drift.detail}`;
    drifts.set(id, { ...drift, times: (drifts.get(id)?.times ?? 0) + drift.times });
  };
  ofEnvelope.forEach(addDrift);
  checked.forEach((row, at) => {
    if (row.fits) {
      row.drifts.forEach(addDrift);
      accepted.set(row.key, { key: row.key, values: row.values });
    } else {
      const { key, problems } = row;
      const body = bodyAt(at);
      refused.push({ key, identity: key ?? identityOf(body, contract), body, problems });
    }
  });
  const keys = checked.map(({ key }) => key);
  return { keys, accepted: [...accepted.values()], refused, drifts: [...drifts.values()], fields, shape };
}

function bodiesOf(job: Job, text: string, path: readonly string[], rows: number): string[] {
  const bodies = sliceElements(text, path);
  if (bodies.length !== rows)
    throw new Failure('bug', `${job.name}: ${rows} rows were parsed, but ${bodies.length} found in the text`);
  return bodies;
}

/** Deeper members do not tell rows apart, so that any depth of nesting will do. */
const MAX_IDENTITY_LEVELS = 16;

type Member = [path: string, value: unknown];

/**
 * By which a refused row without a key is known again: a digest of its stable members. With a contract those are all but the
 * volatile ones; elsewhere texts that are neither a time nor a number. A row without any is known by its text.
 * @param body the row's JSON as received.
 */
function identityOf(body: string, contract: Job['contract']): string {
  const members = [...membersOf(JSON.parse(body), [])];
  const stable = members
    .filter(([path, value]) => (contract ? !contract.volatile.includes(path) : isStableText(value)))
    .map((member) => JSON.stringify(member));
  return createHash('sha256')
    .update(stable.length > 0 ? stable.sort().join() : body)
    .digest('hex');
}

/** Every value that is no object or array, named as its column would be. */
function* membersOf(value: unknown, path: readonly string[]): Generator<Member> {
  if (typeof value !== 'object' || value === null) {
    if (path.length > 0) yield [columnName(path), value];
  } else if (path.length < MAX_IDENTITY_LEVELS)
    for (const [name, inner] of Object.entries(value)) yield* membersOf(inner, [...path, name]);
}

function isStableText(value: unknown): boolean {
  return typeof value === 'string' && !/^\d{4}-\d{2}-\d{2}|^[-+]?\d*\.\d+%?$/.test(value);
}
