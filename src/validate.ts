/** A response of the API as rows that fit, rows that do not, and what is new about them. */

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Body } from './api/response.ts';
import { Failure } from './base/errors.ts';
import { hintSettings, settingOf } from './config/settings.ts';
import type { Job, RowValues } from './job.ts';
import {
  type CheckedPage,
  type CheckedRow,
  type CheckedRows,
  type DiscoveredShape,
  type Drift,
  type FieldPath,
  type Hints,
  type PageFields,
  sharedKey,
  unknownShape,
} from './validate/checked.ts';
import { checkDiscovered } from './validate/discovered.ts';
import {
  broken,
  type FoundRows,
  findRows,
  type Place,
  readDiscovered,
  readSpecified,
  rowsAt,
} from './validate/envelope.ts';
import { findRepeatedName, isSuspicious, sliceElements, withPlainNames } from './validate/json-text.ts';
import { digestOf, keyedRow } from './validate/keys.ts';
import { checkSpecified } from './validate/specified.ts';
import { asRecord, inspect, profileRows } from './validate/values.ts';

export { type Hints, unknownShape } from './validate/checked.ts';
export { errorInBody } from './validate/envelope.ts';

const noFields: PageFields = { rows: 0, fields: [] };

/** What is known of a list without a contract before a page of it is checked. */
export type KnownOfList = { shape: DiscoveredShape; hints: Hints };

const nothingKnown: KnownOfList = { shape: unknownShape, hints: {} };

/**
 * @param json what `JSON.parse` made of the body.
 * @throws Failure `contract` where the envelope is broken; `MissingPlace` where rows are no longer where they were.
 */
export function checkPage(
  job: Job,
  body: Pick<Body, 'text'>,
  json: unknown,
  known: KnownOfList = nothingKnown,
): CheckedPage {
  const text = body.text();
  if (job.contract) {
    const { rows, drifts, place: _, ...envelope } = readSpecified(job, job.contract, json);
    const page = {
      rows,
      bodies: bodiesOf(job, text, ['rows'], rows.length),
      suspicious: isSuspicious(text, json),
    };
    const checked = checkSpecifiedRows(job.contract, page, drifts);
    return { ...envelope, received: rows.length, ...checked, shape: undefined };
  }
  const { found, drifts } = findPlace(job, json, text, known);
  const { rows, place, ...envelope } = readDiscovered(json, found);
  const bodies = bodiesOf(job, text, place, rows.length)();
  const shape = { ...known.shape, place, runsWithoutPlace: 0 };
  const checked = checkDiscovered(rows, bodies, shape);
  return { ...envelope, received: rows.length, ...checked, drifts: [...drifts, ...checked.drifts] };
}

/** Rows are no longer where they were: the next run follows them if they are still missing. */
export class MissingPlace extends Failure {}

/** A place is followed once it was missing in so many runs in a row. */
const RUNS_TO_FOLLOW = 2;

/** Where the rows are: where the user says, where they were before, or where they are found now. */
function findPlace(
  job: Job,
  json: unknown,
  text: string,
  { shape, hints }: KnownOfList,
): { found: FoundRows; drifts: Drift[] } {
  const told = hints.place && rowsAt(json, hints.place);
  if (told) return { found: told, drifts: [] };
  if (hints.place)
    throw broken(
      job,
      `at ${nameOf(hints.place)}: ${settingOf(job.name, hintSettings.place)} says that its rows are there, but there is no list${sight(text)}`,
    );
  const known = shape.place && rowsAt(json, shape.place);
  if (known) return { found: known, drifts: [] };
  const found = findRows(json);
  if (!shape.place) {
    if ('rows' in found) return { found, drifts: [] };
    throw broken(job, describeAbsence(job, found.places, text));
  }
  if (!('rows' in found)) throw new MissingPlace('contract', broken(job, missing(shape.place, text)).message);
  if (shape.runsWithoutPlace + 1 < RUNS_TO_FOLLOW)
    throw new MissingPlace(
      'contract',
      `${job.name}: the rows are no longer at ${nameOf(shape.place)}, there are some at ${nameOf(found.place)}: the next run reads them there if that is still so`,
    );
  const drift: Drift = {
    kind: 'moved-rows',
    path: nameOf(shape.place),
    detail: nameOf(found.place),
    times: 1,
  };
  return { found, drifts: [drift] };
}

const missing = (place: Place, text: string) =>
  `at ${nameOf(place)}: expected an array of rows${sight(text)}`;

function describeAbsence({ name }: Job, places: readonly Place[], text: string): string {
  if (places.length === 0) return `at the response: expected an array of rows${sight(text)}`;
  return `at the response: its rows may be ${places.map(nameOf).join(' or ')}; say which with ${settingOf(name, hintSettings.place)}`;
}

const nameOf = (place: Place) => place.join('.') || 'the response';

/** How the response begins. */
function sight(text: string): string {
  const start = text
    .slice(0, 200)
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim();
  return `, received ${start}`;
}

/** A digest of a page of a published snapshot, without its ages and volatile values; undefined of any other page. */
export function digestOfPage(job: Job, page: CheckedPage, ages: readonly FieldPath[]): string | undefined {
  if (typeof page.generatedAt !== 'string') return undefined;
  const stable = page.rows.map(({ key, row, refused }) => [
    key,
    row?.discovered?.digest() ?? (row && stableValues(job, row.values, ages)),
    refused?.problems,
  ]);
  return createHash('sha256').update(JSON.stringify(stable)).digest('base64');
}

function stableValues({ contract }: Job, values: RowValues, ages: readonly FieldPath[]): [string, unknown][] {
  return Object.entries(values)
    .filter(([column]) => !contract?.volatile.includes(column))
    .map(([column, value]) => [
      column,
      column === 'extra' && value !== null ? digestOf(keyedRow(String(value)), ages) : value,
    ]);
}

/** Why a dataset halts when no row of its first page fits: its contract is another. On later pages such rows are only refused. */
export function describeBreach({ rows }: Pick<CheckedRows, 'rows'>): string | undefined {
  const problem = rows[0]?.refused?.problems[0];
  if (!problem || !rows.every(({ refused }) => refused)) return undefined;
  const where = problem.path ? `${problem.path.replace(/[^\x20-\x7e]+/g, ' ')}: ` : '';
  return `the API broke its contract: no row of the first page fits (${where}expected ${problem.expected}, received ${problem.received}); they are in quarantine, the rows already mirrored stay`;
}

/** Checks a response that is kept whole, as one row under `key`. */
export function checkSnapshot(text: string, json: unknown, key: string, fetchedAt: string): CheckedRows {
  const { problem: hostile, members } = inspect(json);
  const problem = hostile ?? findRepeatedName(text, members);
  const nothing = { drifts: [], withoutKeyField: 0 };
  if (problem) {
    const refused = { key: null, body: text, problems: [problem] };
    return { ...nothing, rows: [{ key: null, refused }], fields: noFields };
  }
  const record = asRecord(json);
  const values = { _fetched_at: fetchedAt, _body: withPlainNames(text) };
  return {
    ...nothing,
    rows: [{ key, row: { key, values } }],
    fields: profileRows(record ? [record] : []),
  };
}

/** Checks a refused row again. */
export function checkAgain(job: Job, body: string, shape: DiscoveredShape = unknownShape): CheckedRows {
  const rows = [JSON.parse(body)];
  const text = body.trim();
  if (job.contract)
    return checkSpecifiedRows(job.contract, { rows, bodies: () => [text], suspicious: true }, []);
  // A single row does not show which field is the key.
  return checkDiscovered(rows, [text], { ...shape, hasLookedForKey: true });
}

type ReceivedRows = {
  rows: readonly unknown[];
  /** Each as received; mostly nobody asks for them. */
  bodies: () => readonly string[];
  /** True where they may hold text that no table can keep, or a name twice in an object. */
  suspicious: boolean;
};

function checkSpecifiedRows(
  contract: NonNullable<Job['contract']>,
  { rows: received, bodies, suspicious }: ReceivedRows,
  ofEnvelope: readonly Drift[],
): CheckedRows {
  const drifts = new Map<string, Drift>();
  const addDrift = (drift: Drift) => {
    const id = `${drift.kind} ${drift.path} ${drift.detail}`;
    drifts.set(id, { ...drift, times: (drifts.get(id)?.times ?? 0) + drift.times });
  };
  ofEnvelope.forEach(addDrift);
  const bodyAt = (at: number) => bodies()[at] ?? '';
  const rows = received.map((one, at): CheckedRow => {
    const checked = checkSpecified(contract, one, suspicious, () => bodyAt(at));
    const { key } = checked;
    if (!checked.fits) return { key, refused: { key, body: bodyAt(at), problems: checked.problems } };
    checked.drifts.forEach(addDrift);
    return { key: checked.key, row: { key: checked.key, values: checked.values } };
  });
  return {
    rows: refuseTwins(rows, bodyAt),
    drifts: [...drifts.values()],
    fields: noFields,
    withoutKeyField: 0,
  };
}

/** Of two different rows of a page with one key, the last counts, and the other must not go without a word. */
function refuseTwins(rows: readonly CheckedRow[], bodyAt: (at: number) => string): CheckedRow[] {
  const last = new Map(rows.map(({ key, row }) => [key, row]));
  if (last.size === rows.length) return [...rows];
  return rows.map((one, at) => {
    const other = last.get(one.key);
    if (!one.row || !other || isDeepStrictEqual(one.row.values, other.values)) return one;
    return { key: one.key, refused: { key: one.key, body: bodyAt(at), problems: [sharedKey] } };
  });
}

/** Returns what cuts the rows out of the text, once. */
function bodiesOf(job: Job, text: string, place: Place, rows: number): () => string[] {
  let found: string[] | undefined;
  return () => {
    // An empty list may be null.
    found ??= rows === 0 ? [] : sliceElements(text, place);
    if (found.length !== rows)
      throw new Failure(
        'bug',
        `${job.name}: ${rows} rows were parsed, but ${found.length} found in the text`,
      );
    return found;
  };
}
