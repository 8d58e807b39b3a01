/** How a refused row that shows no key is known again: by a digest of what is stable in it. */

import { createHash } from 'node:crypto';
import type { Job } from '../job.ts';

type Member = [path: string, value: unknown];

/** Members that lie deeper do not tell rows apart, which therefore may be nested as deep as they like. */
const DEEPEST = 16;

/**
 * Stable are, where there is a contract, all members but its volatile ones; elsewhere the texts that are neither a time
 * nor a number, since the rest may have moved on when the row is read again. A row without any is known by its text.
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
