/** Rows of a dataset with a contract: those that fit, those that do not, and what is new about them. */

import * as z from 'zod';
import type { Job, RowValues } from '../job.ts';
import type { Drift, Problem } from './checked.ts';
import { asRecord } from './envelope.ts';
import { type CheckedRow, describeIssue, softDrifts } from './findings.ts';
import { sliceValue } from './raw.ts';
import { findRepeatedNameIn, inspect, withPlainNames } from './storable.ts';

type Contract = NonNullable<Job['contract']>;
type Issues = NonNullable<ReturnType<Contract['row']['safeParse']>['error']>['issues'];

const none: readonly Drift[] = [];

/** Contracts as code of their own, which tells in a quarter of the time that a row fits, and of any other row no more than that it does not. */
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
 * @param suspicious true where the page may hold text that no table can keep.
 * @param body gives the row as received.
 */
export function checkSpecified(
  contract: Contract,
  row: unknown,
  suspicious: boolean,
  body: () => string,
): CheckedRow {
  if (!suspicious && fits(contract, row)) return accept(contract, row, null, none);

  const issues = contract.row.safeParse(row).error?.issues ?? [];
  const drifts: Drift[] = [];
  const problems: Problem[] = [];
  for (const issue of issues) {
    const soft = softDrifts(issue, row);
    if (soft) drifts.push(...soft);
    else problems.push(describeIssue(issue, row));
  }
  const { problem: hostile, members, inexact } = inspect(row);
  // Values come from what was parsed; only a number that has lost digits by that is taken from the text.
  const text = inexact && issues.some(isUnrecognized) ? body() : undefined;
  const problem = hostile ?? (text && findRepeatedNameIn(text, members));
  if (problem && problems.length === 0) problems.push(problem);
  if (problems.length > 0) return { fits: false, key: readableKey(contract, row), problems };
  return accept(contract, row, extraOf(issues, row, text && withPlainNames(text)), drifts);
}

function accept(
  contract: Contract,
  row: unknown,
  extra: string | null,
  drifts: readonly Drift[],
): CheckedRow {
  const values = contract.columns(row) as RowValues;
  values['extra'] = extra;
  return { fits: true, key: contract.key(row), values, drifts };
}

type UnrecognizedKeys = Extract<Issues[number], { code: 'unrecognized_keys' }>;

const isUnrecognized = (issue: Issues[number]): issue is UnrecognizedKeys =>
  issue.code === 'unrecognized_keys';

/** Members by name; those that are JSON text are whole. */
type Extra = Map<string, Extra | string>;

/**
 * The properties that the contract does not list, where they were, as JSON.
 * @param text the row as received, but for its names, where it holds numbers that have lost digits.
 */
function extraOf(issues: Issues, row: unknown, text: string | undefined): string | null {
  const extra: Extra = new Map();
  for (const issue of issues) {
    if (!isUnrecognized(issue)) continue;
    const path = issue.path as (string | number)[];
    const inner = path.reduce<Extra>((at, step) => memberOf(at, String(step)), extra);
    const given = path.reduce<unknown>((at, step) => (at as Record<string | number, unknown>)[step], row);
    for (const name of issue.keys) {
      const exact = text && sliceValue(text, [...path, name]);
      inner.set(name, exact ?? JSON.stringify((given as Record<string, unknown>)[name]));
    }
  }
  return extra.size > 0 ? render(extra) : null;
}

function memberOf(extra: Extra, name: string): Extra {
  const known = extra.get(name);
  if (known instanceof Map) return known;
  const made: Extra = new Map();
  extra.set(name, made);
  return made;
}

function render(extra: Extra): string {
  const members = [...extra].map(
    ([name, value]) => `${JSON.stringify(name)}:${typeof value === 'string' ? value : render(value)}`,
  );
  return `{${members.join(',')}}`;
}

function readableKey(contract: Contract, row: unknown): string | null {
  try {
    const key: unknown = asRecord(row) && contract.key(row);
    return typeof key === 'string' && key !== '' && key.isWellFormed() ? key : null;
  } catch {
    return null;
  }
}
