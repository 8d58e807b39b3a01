/** The whole life of a row: each of its versions, what each changed, and which walk and call brought it. */

import type { PageCell } from '../../../src/serve/ui/wire.ts';
import type { Answer } from '../../service.ts';
import { name, type Sql } from '../../sql.ts';
import { type Change, changesBetween } from './changes.ts';
import { type Leaf, type Leaves, leafOfValue, leavesOf } from './leaves.ts';

export type Version = {
  /** From 1, the oldest that is kept. */
  number: number;
  /** `first`: the mirror had no row of this key before. `oldest`: what was before it has been dropped. */
  came: 'first' | 'oldest' | 'changed' | 'returned';
  from: string;
  /** Null for the one that stands. */
  to: string | null;
  endedBy: 'update' | 'delete' | null;
  walkId: number;
  /** X-Request-ID of the call that brought it, where it is kept. */
  requestId: string | null;
  /** The walk that proved that it is gone. */
  closedBy: number | null;
  leaves: Leaves;
  /** Against the version before it; none for the first. */
  changes: readonly Change[];
};

/** What was at the moment that is shown. */
export type Life = {
  state: 'there' | 'removed' | 'not yet' | 'unknown';
  /** Those that had come by then, the oldest first. */
  versions: readonly Version[];
  /** How many came later. */
  later: number;
  firstSeenAt: string | null;
};

export const MOST_VERSIONS = 200;

const AHEAD = [
  '_valid_from',
  '_valid_to',
  '_ended_by',
  '_walk_id',
  '_first_seen_at',
  'request_id',
  'closed_by',
];

/**
 * The versions, the latest first, each with its values in `columns`.
 * @param history null for a dataset that is kept as snapshots: its rows do not change.
 */
export function lifeSql(table: string, history: string | null, columns: readonly string[], key: string): Sql {
  const own = columns.map((column) => `, ${name(column)}`).join('');
  const lines = [
    'WITH life AS (',
    `  SELECT _changed_at AS _valid_from, NULL AS _valid_to, NULL AS _ended_by, _walk_id, _first_seen_at${own}`,
    `  FROM ${name(table)} WHERE _key = :key`,
    ...(history === null
      ? []
      : [
          '  UNION ALL',
          `  SELECT _valid_from, _valid_to, _ended_by, _walk_id, _first_seen_at${own}`,
          `  FROM ${name(history)} WHERE _key = :key`,
        ]),
    ')',
    'SELECT _valid_from, _valid_to, _ended_by, _walk_id, _first_seen_at,',
    // The call whose answer was saved then is the walk's last one before. The next may begin within the same millisecond.
    `  coalesce(${callBy('<', 'at DESC')},`,
    `    ${callBy('=', 'id')}) AS request_id,`,
    "  iif(_ended_by = 'delete', (SELECT id FROM walks",
    '     WHERE last_seq = CAST(round((julianday(_valid_to) - 2440587.5) * 86400000) AS INTEGER)), NULL) AS closed_by',
    `  ${own}`,
    'FROM life ORDER BY _valid_from DESC',
  ];
  return { sql: lines.join('\n'), params: { key } };
}

const callBy = (is: '<' | '=', order: string) =>
  `(SELECT request_id FROM requests WHERE walk_id = life._walk_id AND status = 200 AND at ${is} _valid_from
      AND at >= (SELECT started_at FROM walks WHERE id = life._walk_id) ORDER BY ${order} LIMIT 1)`;

/** @param at the moment that is shown, ISO 8601 UTC with milliseconds, or null for now. */
export function lifeOf({ columns, rows }: Pick<Answer, 'columns' | 'rows'>, at: string | null): Life {
  const own = columns.slice(AHEAD.length).map((column) => column.name);
  const all = [...rows].reverse();
  const shown = all.filter(([from]) => at === null || String(from) <= at);
  const versions: Version[] = [];
  for (const row of shown) versions.push(versionOf(row, own, versions.at(-1)));
  const last = versions.at(-1);
  const isOver = last !== undefined && last.to !== null && (at === null || last.to <= at);
  return {
    state: last
      ? isOver
        ? last.endedBy === 'delete'
          ? 'removed'
          : 'unknown'
        : 'there'
      : all.length > 0
        ? 'not yet'
        : 'unknown',
    versions: at === null ? versions : versions.map((version) => asOf(version, at)),
    later: all.length - shown.length,
    firstSeenAt: textOf(all[0]?.[4]),
  };
}

/** What ended a version later was not known then. */
function asOf(version: Version, at: string): Version {
  return version.to === null || version.to <= at
    ? version
    : { ...version, to: null, endedBy: null, closedBy: null };
}

function versionOf(row: readonly PageCell[], own: readonly string[], before: Version | undefined): Version {
  const [from, to, endedBy, walkId, firstSeenAt, requestId, closedBy] = row;
  const leaves = leavesOfRow(own, row.slice(AHEAD.length));
  const came = !before
    ? firstSeenAt === from
      ? 'first'
      : 'oldest'
    : before.endedBy === 'delete'
      ? 'returned'
      : 'changed';
  return {
    number: (before?.number ?? 0) + 1,
    came,
    from: String(from),
    to: textOf(to),
    endedBy: textOf(endedBy) as Version['endedBy'],
    walkId: Number(walkId),
    requestId: textOf(requestId),
    closedBy: typeof closedBy === 'number' ? closedBy : null,
    leaves,
    changes: before ? changesBetween(before.leaves, leaves) : [],
  };
}

/** The values of a row: those of its body where it is kept as received, else of its columns, JSON in them included. */
function leavesOfRow(columns: readonly string[], values: readonly PageCell[]): Leaves {
  const leaves = new Map<string, Leaf>();
  const beside = new Map(columns.map((column, at) => [column, leafOfCell(values[at] ?? null)]));
  columns.forEach((column, at) => {
    const value = values[at] ?? null;
    const place = column === '_body' ? '' : column;
    const within = typeof value === 'string' && /^\s*[[{]/.test(value) ? leavesOf(value, place) : null;
    if (within) for (const [inner, leaf] of withoutTwins(within, place, beside)) leaves.set(inner, leaf);
    else leaves.set(column, leafOfCell(value));
  });
  return leaves;
}

/** Of an object that is kept whole, what has a column of its own as well is told once: by that column. */
function withoutTwins(within: Leaves, place: string, beside: Leaves): Leaves {
  const alone = [...within].filter(([inner, leaf]) => !isSame(leaf, beside.get(columnOfPlace(inner))));
  if (place === '' || alone.length === within.size) return within;
  return new Map([[place, { kind: 'literal', text: '{…}' }], ...alone]);
}

/** `dualAi.finalAction` has the column `dual_ai_final_action`. */
const columnOfPlace = (place: string) =>
  place
    .replace(/(?<=[a-z\d])(?=[A-Z])/g, '_')
    .replaceAll('.', '_')
    .toLowerCase();

const isSame = (one: Leaf, other: Leaf | undefined) =>
  one.kind === other?.kind &&
  (one.text === other.text || (one.kind === 'number' && Number(one.text) === Number(other.text)));

function leafOfCell(value: PageCell): Leaf {
  if (value === null || typeof value !== 'object') return leafOfValue(value);
  return 'integer' in value
    ? { kind: 'number', text: value.integer }
    : { kind: 'literal', text: `${value.bytes} bytes` };
}

const textOf = (value: PageCell | undefined): string | null => (typeof value === 'string' ? value : null);
