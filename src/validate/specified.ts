/** Rows of a dataset with a contract: those that fit, those that do not, and what is new about them. */

import * as z from 'zod';
import type { Job, RowValues } from '../job.ts';
import type { Drift, Problem } from './checked.ts';
import { findRepeatedName, sliceValue, withPlainNames } from './json-text.ts';
import { asRecord, inspect, kindOf, LONGEST_SHOWN } from './values.ts';

type Contract = NonNullable<Job['contract']>;
type Issue = z.core.$ZodIssue;

const noDrifts: readonly Drift[] = [];

/** Contracts as compiled code, which tells in a quarter of the time whether a row fits, but not why it does not. */
const compiled = new WeakMap<Contract, Contract['row']>();

function fits(contract: Contract, row: unknown): boolean {
  let quick = compiled.get(contract);
  if (!quick) {
    quick = z.compile(contract.row);
    compiled.set(contract, quick);
  }
  return quick.validate(row);
}

/**
 * @param suspicious true where the page may hold text that no table can keep, or a name twice in an object.
 * @param body gives the row as received.
 */
export function checkSpecified(
  contract: Contract,
  row: unknown,
  suspicious: boolean,
  body: () => string,
): SpecifiedRow {
  if (!suspicious && fits(contract, row)) return accept(contract, row, null, noDrifts);

  const issues = contract.row.safeParse(row).error?.issues ?? [];
  const drifts: Drift[] = [];
  const problems: Problem[] = [];
  for (const issue of issues) {
    const soft = softDrifts(issue, row);
    if (soft) drifts.push(...soft);
    else problems.push(describeIssue(issue, row));
  }
  const { problem: hostile, members } = inspect(row);
  const problem = hostile ?? findRepeatedName(body(), members);
  if (problem && problems.length === 0) problems.push(problem);
  if (problems.length > 0) return { fits: false, key: readableKey(contract, row), problems };
  return accept(contract, row, extraOf(issues, body), drifts);
}

/** What became of one row. `key`: null where a refused row shows none. */
type SpecifiedRow =
  | { fits: true; key: string; values: RowValues; drifts: readonly Drift[] }
  | { fits: false; key: string | null; problems: Problem[] };

function accept(
  contract: Contract,
  row: unknown,
  extra: string | null,
  drifts: readonly Drift[],
): SpecifiedRow {
  const values = contract.columns(row) as RowValues;
  values['extra'] = extra;
  return { fits: true, key: contract.key(row), values, drifts };
}

function readableKey(contract: Contract, row: unknown): string | null {
  try {
    const key: unknown = asRecord(row) && contract.key(row);
    return typeof key === 'string' && key !== '' && key.isWellFormed() ? key : null;
  } catch {
    return null;
  }
}

type UnrecognizedKeys = Extract<Issue, { code: 'unrecognized_keys' }>;

const isUnrecognized = (issue: Issue): issue is UnrecognizedKeys => issue.code === 'unrecognized_keys';

/** Members by name: objects, or values as JSON. */
type Extra = Map<string, Extra | string>;

/**
 * The properties that the contract does not list, as JSON with the digits as received, within the objects that had them; null where
 * there are none.
 */
function extraOf(issues: readonly Issue[], body: () => string): string | null {
  const unrecognized = issues.filter(isUnrecognized);
  if (unrecognized.length === 0) return null;
  const text = withPlainNames(body());
  const extra: Extra = new Map();
  for (const { path, keys } of unrecognized) {
    let inner = extra;
    for (const step of path.map(String)) {
      const known = inner.get(step);
      const next: Extra = known instanceof Map ? known : new Map();
      inner.set(step, next);
      inner = next;
    }
    for (const name of keys)
      inner.set(name, sliceValue(text, [...(path as (string | number)[]), name]) ?? 'null');
  }
  return render(extra);
}

function render(extra: Extra): string {
  const members = [...extra].map(
    ([name, value]) => `${JSON.stringify(name)}:${typeof value === 'string' ? value : render(value)}`,
  );
  return `{${members.join(',')}}`;
}

/**
 * The drifts of an issue that does not keep the row out: properties that the contract does not list, a value outside an
 * enumeration, a number outside its range. Undefined for any other issue.
 */
export function softDrifts(issue: Issue, value: unknown): Drift[] | undefined {
  if (isUnrecognized(issue))
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
  path: pathOf(path),
  detail,
  times: 1,
});

const shorten = (text: string) => text.slice(0, LONGEST_SHOWN).toWellFormed();
const pathOf = (path: readonly PropertyKey[]) => path.map(String).join('.');

export function describeIssue(issue: Issue, value?: unknown): Problem {
  const received = kindOf(valueAt(value, issue.path));
  return { path: pathOf(issue.path), expected: expectation(issue), received };
}

function expectation(issue: Issue): string {
  if (issue.code === 'invalid_type') return `a value of type ${issue.expected}`;
  if (issue.code === 'invalid_value') return issue.values.map((value) => JSON.stringify(value)).join(' or ');
  return issue.message;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, name) => (inner as Record<PropertyKey, unknown> | null)?.[name], value);
}
