/** Finding the rows and the paging information in a response, whether its envelope is specified or not. */

import { z } from 'zod';
import { Failure } from '../errors.ts';
import type { Job } from '../job.ts';
import { describeIssue, softDrift } from './issues.ts';
import type { Drift } from './types.ts';

/** StandardPagination of the specification; a member is undefined where an unspecified envelope lacks it. */
export type Pagination = {
  offset: number | undefined;
  limit: number | undefined;
  total: number | undefined;
  returned: number | undefined;
  hasMore: boolean | undefined;
};

type Contract = NonNullable<Job['contract']>;

export type Envelope = {
  rows: unknown[];
  /** Where the array of rows lies: names joined by a dot, empty for a bare array. */
  rowsPath: string;
  pagination: Pagination;
  /** Undefined where the envelope has no such property. */
  generatedAt: string | null | undefined;
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
 * @param known where the rows of this dataset were found before; held to.
 * @throws Failure `contract` where the envelope is not what it must be.
 */
export function readEnvelope(job: Job, json: unknown, known: string | undefined): Envelope {
  return job.contract ? readSpecified(job, job.contract, json) : readDiscovered(job, json, known);
}

function readSpecified(job: Job, contract: Contract, json: unknown): Envelope {
  const { rows, pagination, ...page } = asRecord(json) ?? {};
  const drifts = [
    ...check(job, contract.page, page, ''),
    ...check(job, standardPagination, pagination, 'pagination'),
  ];
  if (!Array.isArray(rows)) throw broken(job, 'rows', 'an array');
  const { generatedAt } = page as { generatedAt?: string | null };
  return { rows, rowsPath: 'rows', pagination: pagination as Pagination, generatedAt, drifts };
}

function check(job: Job, schema: z.ZodType, value: unknown, at: string): Drift[] {
  const checked = schema.safeParse(value, { reportInput: true });
  if (checked.success) return [];
  return checked.error.issues.map((issue) => {
    const drift = softDrift(issue, value);
    if (drift) return { ...drift, path: [at, drift.path].filter(Boolean).join('.') };
    const { path, expected } = describeIssue(issue);
    throw broken(job, [at, path].filter(Boolean).join('.'), expected);
  });
}

function readDiscovered(job: Job, json: unknown, known: string | undefined): Envelope {
  const found = findRows(json, known);
  if (!found) throw broken(job, known || 'the response', 'an array of rows');
  const root = asRecord(json) ?? {};
  const given = asRecord(root['pagination']) ?? root;
  const generatedAt = root['generatedAt'];
  return {
    ...found,
    pagination: {
      offset: asCount(given['offset']),
      limit: asCount(given['limit']),
      total: asCount(given['total']),
      returned: asCount(given['returned']),
      hasMore: typeof given['hasMore'] === 'boolean' ? given['hasMore'] : undefined,
    },
    generatedAt: typeof generatedAt === 'string' || generatedAt === null ? generatedAt : undefined,
    drifts: [],
  };
}

/** `rows`, else the one array of objects at the top level or one below, else a bare array. */
function findRows(
  json: unknown,
  known: string | undefined,
): { rows: unknown[]; rowsPath: string } | undefined {
  if (Array.isArray(json)) return known ? undefined : { rows: json, rowsPath: '' };
  const arrays = arraysWithin(json);
  const named = arrays.find(({ rowsPath }) => rowsPath === (known ?? 'rows'));
  if (named || known !== undefined) return named;
  const ofObjects = arrays.filter(({ rows }) => rows.length > 0 && rows.every((row) => asRecord(row)));
  if (ofObjects.length === 1) return ofObjects[0];
  return ofObjects.length === 0 && arrays.length === 1 ? arrays[0] : undefined;
}

function arraysWithin(json: unknown): { rows: unknown[]; rowsPath: string }[] {
  return Object.entries(asRecord(json) ?? {}).flatMap(([name, value]) => {
    if (Array.isArray(value)) return [{ rows: value as unknown[], rowsPath: name }];
    return Object.entries(asRecord(value) ?? {}).flatMap(([inner, rows]) =>
      Array.isArray(rows) ? [{ rows: rows as unknown[], rowsPath: `${name}.${inner}` }] : [],
    );
  });
}

function broken(job: Job, path: string, expected: string): Failure {
  return new Failure(
    'contract',
    `${job.name}: the API broke its contract at ${path}: expected ${expected}; nothing was changed, the rows already mirrored stay`,
  );
}

export function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function asCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
