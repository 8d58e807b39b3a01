/** What checking a row finds, in the words of the quarantine and of drift, and what a refused row is known by. */

import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { Job } from '../job.ts';
import type { Drift, Problem, Row } from './checked.ts';

/** `key`: null where a refused row shows none. */
export type CheckedRow =
  | ({ fits: true; drifts: readonly Drift[] } & Row)
  | { fits: false; key: string | null; problems: Problem[] };

type Issue = z.core.$ZodIssue;

const LONGEST_DETAIL = 100;

/**
 * The drifts that an issue amounts to where it does not keep the row out: properties the contract does not list,
 * a value outside an enumeration, a number outside its range. Undefined for everything else.
 * @param value what was checked.
 */
export function softDrifts(issue: Issue, value: unknown): Drift[] | undefined {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((name) => softDrift('extra-property', [...issue.path, shorten(name)], ''));
  const received = valueAt(value, issue.path);
  if (issue.code === 'invalid_value' && issue.values.length > 1 && typeof received === 'string')
    return [softDrift('new-value', issue.path, shorten(received))];
  if ((issue.code === 'too_small' || issue.code === 'too_big') && Number.isFinite(received))
    return [softDrift('out-of-range', issue.path, shorten(issue.message))];
  return undefined;
}

const softDrift = (kind: Drift['kind'], path: readonly PropertyKey[], detail: string): Drift => ({
  kind,
  path: path.map(String).join('.'),
  detail,
  times: 1,
});

const shorten = (text: string) => text.slice(0, LONGEST_DETAIL).toWellFormed();

export function describeIssue(issue: Issue, value?: unknown): Problem {
  return { path: pathOf(issue), expected: expectation(issue), received: kindOf(valueAt(value, issue.path)) };
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, name) =>
      inner === null || inner === undefined ? undefined : (inner as Record<PropertyKey, unknown>)[name],
    value,
  );
}

function expectation(issue: Issue): string {
  if (issue.code === 'invalid_type') return `a value of type ${issue.expected}`;
  if (issue.code === 'invalid_value') return issue.values.map((value) => JSON.stringify(value)).join(' or ');
  return issue.message;
}

/** What kind of JSON value came, in a word; never the value itself. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' && !Number.isFinite(value) ? 'a number too large' : typeof value;
}

const pathOf = (issue: Issue) => issue.path.map(String).join('.');

type Member = [path: string, value: unknown];

/** Members that lie deeper do not tell rows apart, which therefore may be nested as deep as they like. */
const DEEPEST = 16;

/**
 * How a refused row that shows no key is known again: by a digest of what is stable in it. Stable are, where there is a
 * contract, all members but its volatile ones; elsewhere the texts that are neither a time nor a number, since the rest
 * may have moved on when the row is read again. A row without any is known by its text.
 * @param body the row's JSON as received.
 */
export function identityOf(body: string, contract: Job['contract']): string {
  const members = [...membersOf(JSON.parse(body), [])];
  const stable = members.filter(([path, value]) =>
    contract ? !contract.volatile.includes(path) : isStableText(value),
  );
  return createHash('sha256')
    .update(stable.length > 0 ? JSON.stringify(stable.sort(byPath)) : body)
    .digest('hex');
}

/** Every value that is no object or array, under the names that lead to it, as a column would be named. */
function* membersOf(value: unknown, path: readonly string[]): Generator<Member> {
  if (typeof value !== 'object' || value === null) {
    if (path.length > 0) yield [columnOf(path), value];
  } else if (path.length < DEEPEST)
    for (const [name, inner] of Object.entries(value)) yield* membersOf(inner, [...path, name]);
}

function columnOf(path: readonly string[]): string {
  return path
    .join('_')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase();
}

function isStableText(value: unknown): boolean {
  return typeof value === 'string' && !/^\d{4}-\d{2}-\d{2}|^[-+]?\d*\.\d+%?$/.test(value);
}

const byPath = ([one]: Member, [other]: Member) => (one < other ? -1 : Number(one > other));
