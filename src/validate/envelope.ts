/** Finds the rows and the paging information in a response, whether its envelope is specified or not. */

import * as z from 'zod';
import { Failure } from '../errors.ts';
import type { Job } from '../job.ts';
import type { CheckedPage, Drift } from './checked.ts';
import { describeIssue, softDrifts } from './specified.ts';
import { asRecord } from './values.ts';

type Contract = NonNullable<Job['contract']>;

type Envelope = Pick<CheckedPage, 'pagination' | 'generatedAt'> & {
  rows: unknown[];
  /** The names that lead to the array of rows; none for a bare array. */
  path: readonly string[];
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

/**
 * @param known the path at which the rows were found before, which they must keep.
 * @throws Failure `contract` where the envelope is not what it must be.
 */
export function readEnvelope(job: Job, json: unknown, known: readonly string[] | undefined): Envelope {
  return job.contract ? readSpecified(job, job.contract, json) : readDiscovered(job, json, known);
}

function readSpecified(job: Job, contract: Contract, json: unknown): Envelope {
  const { rows, pagination, ...page } = asRecord(json) ?? {};
  const drifts = [
    ...check(job, contract.page, page, []),
    ...check(job, standardPagination, pagination, ['pagination']),
  ];
  if (!Array.isArray(rows)) throw broken(job, ['rows'], 'an array');
  const { generatedAt } = page as { generatedAt?: string | null };
  return { rows, path: ['rows'], pagination: pagination as Envelope['pagination'], generatedAt, drifts };
}

function check(job: Job, schema: z.ZodType, value: unknown, at: string[]): Drift[] {
  const checked = schema.safeParse(value);
  if (checked.success) return [];
  return checked.error.issues.flatMap((issue) => {
    const drifts = isUnusable(issue) ? undefined : softDrifts(issue, value);
    if (!drifts) throw broken(job, [...at, ...issue.path.map(String)], describeIssue(issue).expected);
    return drifts.map((drift) => ({ ...drift, path: [...at, drift.path].join('.') }));
  });
}

/** A walk goes by these numbers: below zero they would lead it backwards. */
function isUnusable({ code, path }: z.core.$ZodIssue): boolean {
  return code === 'too_small' && path[0] !== 'limit';
}

function readDiscovered(job: Job, json: unknown, known: readonly string[] | undefined): Envelope {
  const found = findRows(json, known);
  if (!found) throw broken(job, known ?? [], 'an array of rows');
  const root = asRecord(json) ?? {};
  const holder = asRecord(within(json, found.path.slice(0, -1)));
  const candidates = [holder?.['pagination'], root['pagination'], holder, root].map(asRecord);
  const paging: Record<string, unknown> = candidates.find(saysIfMore) ?? candidates.find((one) => one) ?? {};
  const dated = [holder, root].find((one) => one && Object.hasOwn(one, 'generatedAt'));
  const generatedAt = dated?.['generatedAt'];
  return {
    ...found,
    pagination: {
      offset: asCount(paging['offset']),
      limit: asCount(paging['limit']),
      total: asCount(paging['total']),
      returned: asCount(paging['returned']),
      hasMore: saysIfMore(paging) ? paging['hasMore'] : undefined,
    },
    generatedAt: typeof generatedAt === 'string' || generatedAt === null ? generatedAt : undefined,
    drifts: [],
  };
}

function saysIfMore(
  record: Record<string, unknown> | undefined,
): record is Record<string, unknown> & { hasMore: boolean } {
  return typeof record?.['hasMore'] === 'boolean';
}

type Found = { rows: unknown[]; path: readonly string[] };

/** `rows`, else the one array of objects, at the top level or one below; else a bare array. */
function findRows(json: unknown, known: readonly string[] | undefined): Found | undefined {
  if (known) {
    const rows = within(json, known);
    return Array.isArray(rows) ? { rows, path: known } : undefined;
  }
  if (Array.isArray(json)) return { rows: json, path: [] };
  const arrays = arraysWithin(json);
  const named = arrays.filter(({ path }) => path.at(-1) === 'rows').sort(byDepth);
  if (named[0] && named[0].path.length < (named[1]?.path.length ?? 3)) return named[0];
  const ofObjects = arrays.filter(({ rows }) => rows.length > 0 && rows.every((row) => asRecord(row)));
  if (ofObjects.length === 1) return ofObjects[0];
  // An empty dataset: it does not matter yet which of several empty arrays holds the rows.
  return arrays.every(({ rows }) => rows.length === 0) ? arrays[0] : undefined;
}

function within(json: unknown, path: readonly string[]): unknown {
  return path.reduce((at: unknown, name) => asRecord(at)?.[name], json);
}

const byDepth = (one: Found, other: Found) => one.path.length - other.path.length;

function arraysWithin(json: unknown): Found[] {
  return Object.entries(asRecord(json) ?? {}).flatMap(([name, value]) => {
    if (Array.isArray(value)) return [{ rows: value as unknown[], path: [name] }];
    return Object.entries(asRecord(value) ?? {}).flatMap(([inner, rows]) =>
      Array.isArray(rows) ? [{ rows: rows as unknown[], path: [name, inner] }] : [],
    );
  });
}

function broken(job: Job, path: readonly string[], expected: string): Failure {
  return new Failure(
    'contract',
    `${job.name}: the API broke its contract at ${path.join('.') || 'the response'}: expected ${expected}; nothing was changed, the rows already mirrored stay`,
  );
}

function asCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
