/** The whole life of a row: each of its versions, what each changed, and which walk and call brought it. */

import type { PageCell } from '../../../src/serve/page/wire.ts';
import { askOf, condition } from '../../question.ts';
import { type Answer, answerTo, type Outcome } from '../../service.ts';
import { type DeclaredColumn, isBookkeeping } from '../dataset/columns.ts';

export type Version = {
  /** From 1, the oldest that is kept. */
  number: number;
  /** `first`: the mirror had no row of this key before. `oldest`: what was before it has been dropped. `cut`: those before it were not read. */
  came: 'first' | 'oldest' | 'cut' | 'changed' | 'returned';
  from: string;
  /** Null for the one that stands. */
  to: string | null;
  endedBy: 'update' | 'delete' | null;
  walkId: number;
  /** X-Request-ID of the call that brought it, where it is kept. */
  requestId: string | null;
  /** The walk that proved that it is gone. */
  closedBy: number | null;
  /** By column. */
  values: ReadonlyMap<string, PageCell>;
  /** Against the version before it; null where none was read. */
  changes: readonly Change[] | null;
};

export type Change = { column: string; before: PageCell; after: PageCell };

/** The versions that were read, the oldest first. */
export type Life = { versions: readonly Version[]; unread: number; firstSeenAt: string | null };

export const MAX_VERSIONS = 200;

type Table = {
  table: string;
  history: string | null;
  declared: readonly DeclaredColumn[];
  /** Columns that change all the time, and make no version. */
  volatile: readonly string[];
};

export async function readLife(
  { table, history, declared, volatile }: Table,
  key: string,
  signal: AbortSignal,
): Promise<Outcome<Life>> {
  const own = declared.map(({ name }) => name).filter((name) => !isBookkeeping(name));
  const where = [condition('_key', 'eq', key)];
  const shared = ['_walk_id', '_first_seen_at', ...own];
  const ask = (ask: string, limit: number) => answerTo({ ask, limit }, signal);
  const [present, past, gone] = await Promise.all([
    ask(askOf({ table, where, select: ['_changed_at', ...shared] }), 1),
    history === null
      ? nothing
      : ask(
          askOf({
            ...{ table: history, where, limit: MAX_VERSIONS },
            select: ['_valid_from', '_valid_to', '_ended_by', ...shared],
            order: [{ column: '_valid_from', descending: true }],
          }),
          MAX_VERSIONS,
        ),
    ask(
      askOf({
        table: `${table}_changes`,
        select: ['at', 'walk_id'],
        where: [...where, condition('kind', 'eq', 'gone')],
      }),
      MAX_VERSIONS,
    ),
  ]);
  const problem = present.problem ?? past?.problem;
  if (problem) return { problem };
  const rows: Row[] = [
    ...(past?.value?.rows ?? []).toReversed().map((row) => rowOf(row, 3)),
    ...(present.value?.rows ?? []).map((row) => rowOf([row[0] ?? null, null, null, ...row.slice(1)], 3)),
  ];
  const walks = [...new Set(rows.map(({ walkId }) => walkId))];
  const [calls, counted] = await Promise.all([
    ask(
      askOf({
        table: 'requests',
        select: ['walk_id', 'at', 'request_id'],
        where: [
          ['walk_id', `in.(${walks.join(',')})`],
          ['status', 'eq.200'],
        ],
        order: [{ column: 'id', descending: false }],
      }),
      100_000,
    ),
    history === null || (past?.value?.rows.length ?? 0) < MAX_VERSIONS
      ? nothing
      : answerTo({ ask: askOf({ table: history, where }), facets: [], limit: 1 }, signal),
  ]);
  const unread = Number(counted?.value?.rows[0]?.[2] ?? MAX_VERSIONS) - MAX_VERSIONS;
  const removers = new Map(gone.value?.rows.map(([at, walk]) => [at, walk]));
  const json = new Set(declared.flatMap(({ name, kind }) => (kind === 'json' ? [name] : [])));
  const compared = own.filter((name) => !volatile.includes(name));
  const versions: Version[] = [];
  for (const { from, to, endedBy, walkId, firstSeenAt, cells } of rows) {
    const before = versions.at(-1);
    const values = new Map(own.map((name, at) => [name, cells[at] ?? null]));
    const walk = removers.get(to);
    versions.push({
      ...{ from, to, endedBy, walkId, values },
      number: (before?.number ?? unread) + 1,
      came: before
        ? before.endedBy === 'delete'
          ? 'returned'
          : 'changed'
        : unread > 0
          ? 'cut'
          : firstSeenAt === from
            ? 'first'
            : 'oldest',
      requestId: requestOf(calls.value, walkId, from),
      closedBy: endedBy === 'delete' && typeof walk === 'number' ? walk : null,
      changes: before ? changesBetween(before.values, values, compared, json) : null,
    });
  }
  return { value: { versions, unread, firstSeenAt: rows[0]?.firstSeenAt ?? null } };
}

const nothing: Promise<Outcome<Answer> | null> = Promise.resolve(null);

type Row = Pick<Version, 'from' | 'to' | 'endedBy' | 'walkId'> & {
  firstSeenAt: string | null;
  cells: readonly PageCell[];
};

function rowOf(row: readonly PageCell[], ahead: number): Row {
  const [from, to, endedBy] = row as [string, string | null, Version['endedBy']];
  const [walkId, firstSeenAt] = row.slice(ahead) as [number, string | null];
  return { from, to, endedBy, walkId, firstSeenAt, cells: row.slice(ahead + 2) };
}

/** A version came with the last call of its walk before it. Of the same millisecond, only where none was before: that may be the next call. */
function requestOf(calls: Answer | undefined, walkId: number, from: string): string | null {
  const own = calls?.rows.filter(([walk]) => walk === walkId) ?? [];
  const call = own.findLast(([, at]) => String(at) < from) ?? own.find(([, at]) => at === from);
  return typeof call?.[2] === 'string' ? call[2] : null;
}

/** An object has a column for each of its members, too: what changed is said once. @param json columns of lists and objects. */
export function changesBetween(
  before: ReadonlyMap<string, PageCell>,
  after: ReadonlyMap<string, PageCell>,
  columns: readonly string[],
  json: ReadonlySet<string> = new Set(),
): Change[] {
  const changes = columns.flatMap((column): Change[] => {
    const [old, now] = [before.get(column) ?? null, after.get(column) ?? null];
    return JSON.stringify(old) === JSON.stringify(now) ? [] : [{ column, before: old, after: now }];
  });
  return changes.filter(
    ({ column }) => !json.has(column) || !changes.some((other) => other.column.startsWith(`${column}_`)),
  );
}

/** A text in three parts, of which the middle one is what the other text does not have. */
export type Marked = readonly [same: string, other: string, same: string];

/** Where two texts differ. Null where they have too little in common for that to tell anything. */
export function markDifference(before: string, after: string): { before: Marked; after: Marked } | null {
  // By letters: half of one would be shown as none.
  const [old, young] = [[...before], [...after]];
  const shorter = Math.min(old.length, young.length);
  let head = 0;
  while (head < shorter && old[head] === young[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && old.at(-tail - 1) === young.at(-tail - 1)) tail += 1;
  if ((head + tail) * 3 < shorter || head + tail === 0) return null;
  const parts = (letters: readonly string[]): Marked => [
    letters.slice(0, head).join(''),
    letters.slice(head, letters.length - tail).join(''),
    letters.slice(letters.length - tail).join(''),
  ];
  return { before: parts(old), after: parts(young) };
}
