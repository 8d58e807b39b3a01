/** Finds the rows and the paging information in a response, whether its envelope is specified or not; and errors told with status 200. */

import * as z from 'zod';
import type { BodyError } from '../api/response.ts';
import { Failure } from '../base/errors.ts';
import type { Job } from '../job.ts';
import type { CheckedPage, Drift } from './checked.ts';
import { describeIssue, softDrifts } from './specified.ts';
import { asRecord } from './values.ts';

type Contract = NonNullable<Job['contract']>;

export type Place = readonly string[];

type Envelope = Pick<CheckedPage, 'pagination' | 'generatedAt'> & {
  rows: unknown[];
  /** The names that lead to the array of rows; none for a bare array. */
  place: Place;
  drifts: Drift[];
};

const count = z.int().min(0);
const standardPagination = z.strictObject({
  offset: count,
  limit: z.int().min(1).max(100),
  total: count,
  returned: count,
  hasMore: z.boolean(),
});

/** @throws Failure `contract` where the envelope is not what the specification says. */
export function readSpecified(job: Job, contract: Contract, json: unknown): Envelope {
  const { rows, pagination, ...page } = asRecord(json) ?? {};
  const drifts = [
    ...check(job, contract.page, page, []),
    ...check(job, standardPagination, pagination, ['pagination']),
  ];
  if (!Array.isArray(rows)) throw broken(job, `at rows: expected an array`);
  const { generatedAt } = page as { generatedAt?: string | null };
  return { rows, place: ['rows'], pagination: pagination as Envelope['pagination'], generatedAt, drifts };
}

function check(job: Job, schema: z.ZodType, value: unknown, at: string[]): Drift[] {
  const checked = schema.safeParse(value);
  if (checked.success) return [];
  return checked.error.issues.flatMap((issue) => {
    const drifts = isUnusable(issue) ? undefined : softDrifts(issue, value);
    const path = [...at, ...issue.path.map(String)].join('.') || 'the response';
    if (!drifts) throw broken(job, `at ${path}: expected ${describeIssue(issue).expected}`);
    return drifts.map((drift) => ({ ...drift, path: [...at, drift.path].join('.') }));
  });
}

/** A walk goes by these numbers: below zero they would lead it backwards. */
function isUnusable({ code, path }: z.core.$ZodIssue): boolean {
  return code === 'too_small' && path[0] !== 'limit';
}

/** The rows of an envelope that is not specified, at this place. */
export function readDiscovered(json: unknown, { rows, place }: FoundRows): Envelope {
  const paging = pagingBeside(json, place);
  const { holder, root } = around(json, place);
  const dated = [holder, root].find((one) => one && Object.hasOwn(one, 'generatedAt'));
  const generatedAt = dated?.['generatedAt'];
  return {
    rows,
    place,
    pagination: {
      offset: asCount(paging['offset']),
      limit: asCount(paging['limit']),
      total: asCount(paging['total']),
      returned: asCount(paging['returned']),
      hasMore: asFlag(paging['hasMore']),
    },
    generatedAt: typeof generatedAt === 'string' || generatedAt === null ? generatedAt : undefined,
    drifts: [],
  };
}

function around(json: unknown, place: Place) {
  return { holder: asRecord(within(json, place.slice(0, -1))), root: asRecord(json) };
}

function pagingBeside(json: unknown, place: Place): Record<string, unknown> {
  const { holder, root } = around(json, place);
  const candidates = [holder?.['pagination'], root?.['pagination'], holder, root].map(asRecord);
  return candidates.find(saysIfMore) ?? candidates.find((one) => one) ?? {};
}

const saysIfMore = (record: Record<string, unknown> | undefined): boolean =>
  asFlag(record?.['hasMore']) !== undefined;

/** Some servers write it as a text. */
function asFlag(value: unknown): boolean | undefined {
  if (value === true || value === 'true') return true;
  return value === false || value === 'false' ? false : undefined;
}

export type FoundRows = { rows: unknown[]; place: Place };

/** The rows at a place that is known; undefined where there are none. */
export function rowsAt(json: unknown, place: Place): FoundRows | undefined {
  const rows = within(json, place);
  if (Array.isArray(rows)) return { rows, place };
  if (rows !== null || place.length === 0) return undefined;
  // Some servers write null for an empty list.
  const { total, returned } = pagingBeside(json, place);
  return total === 0 && returned === 0 ? { rows: [], place } : undefined;
}

/** Arrays by these names never hold the rows. */
const neverRows = new Set(['errors', 'warnings', 'facets', 'included']);

/**
 * `rows`, else the body itself if it is an array, else the only array whose members are all objects, else the only empty one; reached
 * through objects alone. Where several may be meant, their places.
 */
export function findRows(json: unknown): FoundRows | { places: Place[] } {
  if (Array.isArray(json)) return { rows: json, place: [] };
  const named = rowsAt(json, ['rows']);
  if (named) return named;
  const arrays = arraysWithin(json, []);
  const candidates = [
    arrays.filter(({ place }) => place.at(-1) === 'rows'),
    arrays.filter(({ rows }) => rows.length > 0 && rows.every((row) => asRecord(row))),
    arrays.filter(({ rows }) => rows.length === 0),
  ].find((some) => some.length > 0);
  const [only, ...more] = candidates ?? [];
  return only && more.length === 0 ? only : { places: (candidates ?? []).map(({ place }) => place) };
}

function within(json: unknown, place: Place): unknown {
  return place.reduce<unknown>((at, name) => {
    const members = asRecord(at);
    return members && Object.hasOwn(members, name) ? members[name] : undefined;
  }, json);
}

/** An envelope that is nested deeper is none. */
const MAX_LEVELS = 8;

function arraysWithin(json: unknown, around: Place): FoundRows[] {
  if (around.length >= MAX_LEVELS) return [];
  return Object.entries(asRecord(json) ?? {}).flatMap(([name, value]) => {
    if (neverRows.has(name)) return [];
    const place = [...around, name];
    return Array.isArray(value) ? [{ rows: value as unknown[], place }] : arraysWithin(value, place);
  });
}

/**
 * The error in a body with status 200; undefined where there is none. The specification's Error has two texts, `error`
 * and `message`, and nothing else. In any other body without rows, `error` or `errors` may say so, or `success: false`.
 */
export function errorInBody(
  json: unknown,
  { contract, reading }: Pick<Job, 'contract' | 'reading'>,
): BodyError | undefined {
  const body = asRecord(json);
  if (!body) return undefined;
  const names = Object.keys(body).sort().join();
  const isSpecified =
    names === 'error,message' && typeof body['error'] === 'string' && typeof body['message'] === 'string';
  if (isSpecified) return describeError(body);
  const isList = reading === 'list';
  if (isList && holdsRows(json, contract !== undefined)) return undefined;
  const says = body['success'] === false || saysError(body['error']) || (isList && saysError(body['errors']));
  return says ? describeError(body) : undefined;
}

/** An empty list beside an error is none: its rows would look gone. */
function holdsRows(json: unknown, isSpecified: boolean): boolean {
  const found = isSpecified ? rowsAt(json, ['rows']) : findRows(json);
  return found !== undefined && ('rows' in found ? found.rows.length > 0 : found.places.length > 0);
}

/** A number is a count of errors. */
function saysError(value: unknown): boolean {
  if (typeof value === 'string') return value !== '';
  if (typeof value !== 'object' || value === null) return value === true;
  return Object.keys(value).length > 0;
}

function describeError(body: Record<string, unknown>): BodyError {
  const { error, errors } = body;
  const first = Array.isArray(errors) ? errors[0] : errors;
  const inner = [error, first].map(asRecord).find((one) => one);
  const texts = [error, body['code'], inner?.['code'], body['message'], inner?.['message'], first];
  const shown = texts.filter((text): text is string => typeof text === 'string' && text !== '');
  const message = [...new Set(shown)].join(': ');
  const code = [error, inner?.['code'], body['code']].find((text) => typeof text === 'string');
  return {
    code: typeof code === 'string' && /^[\w.:-]{1,64}$/.test(code) ? code : null,
    message: message || 'an error without words',
  };
}

/** @param what such as `at rows: expected an array`. */
export function broken({ name }: Pick<Job, 'name'>, what: string): Failure {
  return new Failure(
    'contract',
    `${name}: the API broke its contract ${what}; nothing was changed, the rows already mirrored stay`,
  );
}

/** A count, also as a text of digits. */
function asCount(value: unknown): number | undefined {
  const count = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(count) && (count as number) >= 0 ? (count as number) : undefined;
}
