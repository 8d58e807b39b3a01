/** Lists that are read newest first, page by page. A page begins at a number, not at a place: new rows move none of it. */

import { useRef } from 'preact/hooks';
import type { PageCell, PageQuestion } from '../../src/serve/ui/wire.ts';
import type { Asked } from '../asking.ts';
import { useLive } from '../live.ts';
import { useLiveAnswer } from '../live-answer.ts';
import { linkHere, type Search, usePlace } from '../router.ts';
import type { Answer } from '../service.ts';
import { type Condition, type Sql, select, whereOf } from '../sql.ts';

export const PAGE = 50;

type Row = readonly PageCell[];

export type Current = Asked<Answer> & {
  /** What is there answers another question: the one before. */
  isOld: boolean;
};

/** An answer that is asked for again whenever something is new in the mirror. */
export function useCurrentAnswer(question: PageQuestion | null): Current {
  const { version } = useLive();
  const asked = useLiveAnswer(question, version, true);
  const key = JSON.stringify(question);
  const answered = useRef({ key, value: asked.value });
  if (answered.current.value !== asked.value) answered.current = { key, value: asked.value };
  return { ...asked, isOld: answered.current.key !== key };
}

export type Listing = {
  from: string;
  /** `id` is among them: what the pages are told apart by. */
  columns: readonly string[];
  where: readonly Condition[];
};

export type Listed = {
  asked: Current;
  rows: readonly Row[];
  /** That fit the filters, on all pages. */
  total: number | null;
  /** Links to the pages beside this one. */
  newer: string | null;
  older: string | null;
  /** All of them, for the editor. */
  sql: Sql;
};

/** The page that the address names by `before` or `after`. */
export function useNewestFirst({ from, columns, where }: Listing): Listed {
  const { search } = usePlace();
  const turn = turnOf(search);
  const order = [{ column: 'id', descending: turn?.to !== 'newer' }];
  const beside: Condition[] = turn
    ? [{ column: 'id', is: turn.to === 'older' ? '<' : '>', value: turn.from }]
    : [];
  const asked = useCurrentAnswer({
    ...select({ columns, from, where: [...where, ...beside], order, limit: PAGE + 1 }),
    limit: PAGE + 1,
  });
  const conditions = whereOf(where);
  const counted = useCurrentAnswer({
    sql: `SELECT count(*)\nFROM ${from}\n${conditions.sql}`,
    params: conditions.params,
    limit: 1,
  });
  const { rows, hasNewer, hasOlder } = pageOf(asked.value?.rows ?? [], turn);
  const id = columns.indexOf('id');
  const linkBeside = (name: 'before' | 'after', row: Row | undefined) =>
    linkHere({ before: null, after: null, [name]: Number(row?.[id]) });
  return {
    asked,
    rows,
    total: Number(counted.value?.rows[0]?.[0] ?? Number.NaN) || null,
    newer: hasNewer && rows.length > 0 ? linkBeside('after', rows[0]) : null,
    older: hasOlder && rows.length > 0 ? linkBeside('before', rows.at(-1)) : null,
    sql: select({ columns, from, where, order: [{ column: 'id', descending: true }] }),
  };
}

export type Turn = { to: 'older' | 'newer'; from: number } | null;

export function turnOf(search: URLSearchParams): Turn {
  const before = numberIn(search, 'before');
  if (before !== null) return { to: 'older', from: before };
  const after = numberIn(search, 'after');
  return after === null ? null : { to: 'newer', from: after };
}

/** One row more than a page tells whether another follows; pages to the newer come the other way round. */
export function pageOf(
  rows: readonly Row[],
  turn: Turn,
): { rows: readonly Row[]; hasNewer: boolean; hasOlder: boolean } {
  const hasMore = rows.length > PAGE;
  const page = rows.slice(0, PAGE);
  if (turn?.to === 'newer') return { rows: page.reverse(), hasNewer: hasMore, hasOlder: true };
  return { rows: page, hasNewer: turn !== null, hasOlder: hasMore };
}

export function numberIn(search: URLSearchParams, name: string): number | null {
  const text = search.get(name);
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** Another filter shows its first page. */
export const filteredBy = (changes: Search): string => linkHere({ before: null, after: null, ...changes });

/** Reads a row by the names of its columns. */
export const reading =
  (columns: readonly string[]) =>
  (row: Row, name: string): PageCell =>
    row[columns.indexOf(name)] ?? null;
