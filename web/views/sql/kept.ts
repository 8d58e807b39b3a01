/** What the editor holds: kept in the address where it is short enough, and in this browser whatever happens. */

import { remember, remembered } from '../../preferences.ts';
import type { Sql } from '../../sql.ts';
import { isParams, type Past, readPast } from './history.ts';
import { type Typed, typedOf } from './parameters.ts';

export type Draft = { text: string; typed: Typed };

const DRAFT = 'market-mirror-sql';
const HISTORY = 'market-mirror-queries';

/** Longer addresses are cut by programs that they are sent with. */
export const MOST_IN_ADDRESS = 6_000;

export function keptDraft(): Draft | null {
  const kept = remembered<Partial<Draft> | null>(DRAFT, null);
  return typeof kept?.text === 'string' ? { text: kept.text, typed: typedIn(kept.typed) } : null;
}

export const keepDraft = (draft: Draft): void => remember(DRAFT, draft);

export const keptPast = (): Past[] => readPast(remembered<unknown>(HISTORY, []));

export const keepPast = (past: readonly Past[]): void => remember(HISTORY, past);

/** What a link asks for behind its `#`, or null. */
export function askedIn(hash: URLSearchParams): Sql | null {
  const sql = hash.get('sql');
  if (sql === null) return null;
  let params: unknown;
  try {
    params = JSON.parse(hash.get('params') ?? '{}');
  } catch {}
  return { sql, params: isParams(params) ? params : {} };
}

export const draftOf = ({ sql, params }: Sql): Draft => ({
  text: sql,
  typed: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, typedOf(value)])),
});

function typedIn(kept: unknown): Typed {
  return isParams(kept)
    ? Object.fromEntries(Object.entries(kept).map(([name, text]) => [name, `${text}`]))
    : {};
}
