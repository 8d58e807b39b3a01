/** zod's issues in the words of the quarantine and of drift. */

import type { z } from 'zod';
import type { Drift, Problem } from './types.ts';

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

export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
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
