/** The queries that this browser keeps: the draft, those that were run, and those with a name. The address holds short ones. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { remember, remembered } from '../../preferences.ts';
import type { Sql } from '../../sql.ts';
import { type Typed, typedOf } from './parameters.ts';

export type Draft = { text: string; typed: Typed };

/** A query that was run. */
export type PastQuery = Sql & {
  /** When it was last run, ISO 8601. */
  ranAt: string;
  /** Of its answer; null where it failed or was stopped. */
  rows: number | null;
};

/** A query under a name. */
export type SavedQuery = Sql & { name: string };

const DRAFT_KEY = 'market-mirror-sql';

/** Longer addresses are cut by programs that they are sent with. */
export const MAX_ADDRESS_LETTERS = 6_000;
export const MAX_PAST = 100;
const MAX_PAST_LETTERS = 200_000;
const MAX_SAVED = 500;

export function keptDraft(): Draft | null {
  const kept = remembered<Partial<Draft> | null>(DRAFT_KEY, null);
  if (typeof kept?.text !== 'string') return null;
  const typed = isParams(kept.typed)
    ? Object.fromEntries(Object.entries(kept.typed).map(([name, text]) => [name, `${text}`]))
    : {};
  return { text: kept.text, typed };
}

export const keepDraft = (draft: Draft): void => remember(DRAFT_KEY, draft);

/** A list that all tabs of this browser share. */
type Kept<T> = { key: string; read(kept: unknown): readonly T[] };

export const past: Kept<PastQuery> = { key: 'market-mirror-queries', read: readPast };
export const saved: Kept<SavedQuery> = { key: 'market-mirror-saved', read: readSaved };

export type Change<T> = (list: readonly T[]) => readonly T[];

/** Changes what is kept by now: another tab may have written since. @param shown where nothing can be kept. */
export function changeKept<T>({ key, read }: Kept<T>, shown: readonly T[], change: Change<T>): readonly T[] {
  const kept = remembered<unknown>(key, null);
  const next = change(kept === null ? shown : read(kept));
  remember(key, next);
  return next;
}

/** @returns what is kept, and what changes it. */
export function useKept<T>(kept: Kept<T>): [list: readonly T[], change: (change: Change<T>) => void] {
  const [list, setList] = useState(() => kept.read(remembered(kept.key, null)));
  const latest = useRef(list);
  const show = (next: readonly T[]) => {
    latest.current = next;
    setList(next);
  };
  useEffect(() => {
    const hear = ({ key }: StorageEvent) => {
      if (key === kept.key || key === null) show(kept.read(remembered(kept.key, null)));
    };
    addEventListener('storage', hear);
    return () => removeEventListener('storage', hear);
  }, [kept]);
  return [list, (change) => show(changeKept(kept, latest.current, change))];
}

/** What a link asks for behind its `#`, or null. */
export function linkedQuery(hash: URLSearchParams): Sql | null {
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

/** With one more: the same query is kept once, and the oldest are dropped when there are too many or they are too long. */
export function withQuery(past: readonly PastQuery[], query: PastQuery): PastQuery[] {
  const others = withoutQuery(past, query).slice(0, MAX_PAST - 1);
  let letters = 0;
  return [query, ...others].filter((one, at) => {
    letters += one.sql.length + JSON.stringify(one.params).length;
    return at === 0 || letters <= MAX_PAST_LETTERS;
  });
}

export const withoutQuery = (past: readonly PastQuery[], query: Sql): PastQuery[] =>
  past.filter((one) => !isSame(one, query));

const isSame = (one: Sql, other: Sql) =>
  one.sql.trim() === other.sql.trim() && JSON.stringify(one.params) === JSON.stringify(other.params);

/** With these as well, by name: of two with one name, the added one stays. */
export function withSaved(saved: readonly SavedQuery[], added: readonly SavedQuery[]): SavedQuery[] {
  const byName = new Map([...saved, ...added].map((query) => [query.name, query]));
  return [...byName.values()].sort((one, other) => one.name.localeCompare(other.name)).slice(0, MAX_SAVED);
}

/** What saved queries are exported as. */
export const savedFile = (saved: readonly SavedQuery[]): string =>
  `${JSON.stringify({ queries: saved }, null, 2)}\n`;

/** The queries of such a file; null for any other text. */
export function readSavedFile(text: string): SavedQuery[] | null {
  try {
    const { queries } = JSON.parse(text) as { queries?: unknown };
    return Array.isArray(queries) ? readSaved(queries) : null;
  } catch {
    return null;
  }
}

/** Storage may hold anything. */
export function readPast(kept: unknown): PastQuery[] {
  return Array.isArray(kept) ? kept.filter(isPast).slice(0, MAX_PAST) : [];
}

function readSaved(kept: unknown): SavedQuery[] {
  if (!Array.isArray(kept)) return [];
  const known = kept.filter((one) => isQuery(one) && typeof (one as Partial<SavedQuery>).name === 'string');
  return (known as SavedQuery[]).map(({ name, sql, params }) => ({ name, sql, params }));
}

function isPast(one: unknown): one is PastQuery {
  const { ranAt, rows } = (one ?? {}) as Partial<PastQuery>;
  return isQuery(one) && typeof ranAt === 'string' && (typeof rows === 'number' || rows === null);
}

function isQuery(one: unknown): one is Sql {
  const { sql, params } = (one ?? {}) as Partial<Sql>;
  return typeof sql === 'string' && isParams(params);
}

/** Names with texts, numbers or null. */
function isParams(params: unknown): params is Sql['params'] {
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return false;
  return Object.values(params).every(
    (value) => value === null || typeof value === 'string' || typeof value === 'number',
  );
}
