/** Rows of a dataset with a contract: those that fit, those that do not, and what is new about them. */

import type { Job } from '../job.ts';
import { asRecord } from './envelope.ts';
import { hostileProblems } from './hostile.ts';
import { describeIssue, softDrift, valueAt } from './issues.ts';
import type { AcceptedRow, CheckedRow, Drift } from './types.ts';

type Contract = NonNullable<Job['contract']>;

const none: readonly Drift[] = [];

/** @param suspicious true where the page may hold text that no table can keep. */
export function checkSpecified(contract: Contract, row: unknown, suspicious: boolean): CheckedRow {
  const checked = contract.row.safeParse(row);
  const issues = checked.success ? [] : checked.error.issues;
  const drifts = issues.map((issue) => softDrift(issue, row));
  const problems = issues.filter((_, at) => !drifts[at]).map((issue) => describeIssue(issue, row));
  if (problems.length === 0 && (suspicious || issues.length > 0)) problems.push(...hostileProblems(row));
  if (problems.length > 0) return { fits: false, key: readableKey(contract, row), problems };
  return accept(contract, row, extraOf(issues, row), issues.length > 0 ? (drifts as Drift[]) : none);
}

function accept(
  contract: Contract,
  row: unknown,
  extra: string | null,
  drifts: readonly Drift[],
): CheckedRow {
  const values = contract.columns(row) as AcceptedRow['values'];
  values['extra'] = extra;
  return { fits: true, key: contract.key(row), values, drifts };
}

/** The properties that the contract does not list, where they were, as JSON. */
function extraOf(
  issues: readonly { code?: string; path: PropertyKey[]; keys?: string[] }[],
  row: unknown,
): string | null {
  const extra: Record<string, unknown> = Object.create(null);
  for (const { code, path, keys = [] } of issues) {
    if (code !== 'unrecognized_keys') continue;
    const inner = path.reduce<Record<string, unknown>>((at, name) => {
      at[String(name)] ??= Object.create(null);
      return at[String(name)] as Record<string, unknown>;
    }, extra);
    const given = valueAt(row, path) as Record<string, unknown>;
    for (const name of keys) inner[name] = given[name];
  }
  return Object.keys(extra).length > 0 ? JSON.stringify(extra) : null;
}

function readableKey(contract: Contract, row: unknown): string | null {
  try {
    const key: unknown = asRecord(row) && contract.key(row);
    return typeof key === 'string' && key !== '' ? key : null;
  } catch {
    return null;
  }
}
