/** The whole life of a row: each of its versions, what each changed, and which walk and call brought it. */

import type { PageCell } from '../../../src/serve/page/wire.ts';
import type { Answer } from '../../service.ts';
import { name, removerSql, type Sql } from '../../sql.ts';

export type Version = {
  /** From 1, the oldest that is kept. */
  number: number;
  /**
   * `first`: the mirror had no row of this key before. `oldest`: what was before it has been dropped. `cut`: those before it were
   * not read.
   */
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
  leaves: Leaves;
  /** The values of the row as JSON. */
  json: string;
  /** Against the version before it; null where none was read. */
  changes: readonly Change[] | null;
};

/** What was at the moment that is shown. */
export type Life = {
  /** `cut`: all versions that were read came after it, and there are more. */
  state: 'there' | 'removed' | 'not yet' | 'cut' | 'unknown';
  /** Those that had come by then, the oldest first. */
  versions: readonly Version[];
  /** How many there are, with those that were not read. */
  all: number;
  /** How many of those that were read came later. */
  later: number;
  /** What differs from now at the moment that is shown; null where nothing came later, or the row is gone by now. */
  toNow: readonly Change[] | null;
  firstSeenAt: string | null;
};

export const MAX_VERSIONS = 200;

const AHEAD = [
  '_valid_from',
  '_valid_to',
  '_ended_by',
  '_walk_id',
  '_first_seen_at',
  'request_id',
  'closed_by',
  'versions',
];

const COUNT = AHEAD.indexOf('versions');

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
    // A version came with the last call of its walk before it. Of the same millisecond, only where none was before: that may be the next call.
    `  coalesce(${callBy('<', 'at DESC')},`,
    `    ${callBy('=', 'id')}) AS request_id,`,
    `  iif(_ended_by = 'delete', ${removerSql(table)}, NULL) AS closed_by,`,
    '  count(*) OVER () AS versions',
    `  ${own}`,
    'FROM life ORDER BY _valid_from DESC',
  ];
  return { sql: lines.join('\n'), params: { key } };
}

const callBy = (is: '<' | '=', order: string) =>
  `(SELECT request_id FROM requests WHERE walk_id = life._walk_id AND status = 200 AND at ${is} _valid_from
      AND at >= (SELECT started_at FROM walks WHERE id = life._walk_id) ORDER BY ${order} LIMIT 1)`;

/**
 * @param at the moment that is shown, ISO 8601 UTC with milliseconds, or null for now.
 * @param booleans columns whose 0 and 1 are words.
 */
export function lifeOf(
  { columns, rows }: Pick<Answer, 'columns' | 'rows'>,
  at: string | null,
  booleans: ReadonlySet<string> = new Set(),
): Life {
  const own = columns.slice(AHEAD.length).map((column) => column.name);
  const read = [...rows].reverse();
  const all = Number(read[0]?.[COUNT] ?? 0);
  const unread = all - read.length;
  const shown = read.filter(([from]) => at === null || String(from) <= at);
  const versions: Version[] = [];
  for (const row of shown) versions.push(versionOf(row, own, booleans, versions.at(-1) ?? unread));
  const last = versions.at(-1);
  const latest = read.at(-1);
  const isLater =
    last !== undefined && latest !== undefined && latest[1] === null && read.length > shown.length;
  const isOver = last !== undefined && last.to !== null && (at === null || last.to <= at);
  return {
    state: last
      ? isOver
        ? last.endedBy === 'delete'
          ? 'removed'
          : 'unknown'
        : 'there'
      : all === 0
        ? 'unknown'
        : unread > 0
          ? 'cut'
          : 'not yet',
    versions: at === null ? versions : versions.map((version) => asOf(version, at)),
    all,
    later: read.length - shown.length,
    toNow: isLater ? changesBetween(last.leaves, versionOf(latest, own, booleans, 0).leaves) : null,
    firstSeenAt: textOf(read[0]?.[4]),
  };
}

/** What ended a version later was not known then. */
function asOf(version: Version, at: string): Version {
  return version.to === null || version.to <= at
    ? version
    : { ...version, to: null, endedBy: null, closedBy: null };
}

/** @param before the version before it, or how many came before and were not read. */
function versionOf(
  row: readonly PageCell[],
  own: readonly string[],
  booleans: ReadonlySet<string>,
  before: Version | number,
): Version {
  const [from, to, endedBy, walkId, firstSeenAt, requestId, closedBy] = row;
  const values = row.slice(AHEAD.length);
  const leaves = leavesOfRow(own, values, booleans);
  const isFirst = typeof before === 'number';
  return {
    number: (isFirst ? before : before.number) + 1,
    came: cameOf(),
    from: String(from),
    to: textOf(to),
    endedBy: textOf(endedBy) as Version['endedBy'],
    walkId: Number(walkId),
    requestId: textOf(requestId),
    closedBy: typeof closedBy === 'number' ? closedBy : null,
    leaves,
    json: jsonOf(own, values, booleans),
    changes: isFirst ? null : changesBetween(before.leaves, leaves),
  };

  function cameOf(): Version['came'] {
    if (!isFirst) return before.endedBy === 'delete' ? 'returned' : 'changed';
    if (before > 0) return 'cut';
    return firstSeenAt === from ? 'first' : 'oldest';
  }
}

/** The values of a row: of its body where it is kept as received, else of its columns and the JSON in them. */
export function leavesOfRow(
  columns: readonly string[],
  values: readonly PageCell[],
  booleans: ReadonlySet<string>,
): Leaves {
  const leaves = new Map<string, Leaf>();
  const leafAt = (column: string, value: PageCell): Leaf =>
    booleans.has(column) && (value === 0 || value === 1)
      ? { kind: 'literal', text: String(value === 1) }
      : leafOfCell(value);
  const beside = new Map(columns.map((column, at) => [column, leafAt(column, values[at] ?? null)]));
  columns.forEach((column, at) => {
    const value = values[at] ?? null;
    const place = column === '_body' ? '' : column;
    const within = typeof value === 'string' && /^\s*[[{]/.test(value) ? leavesOf(value, place) : null;
    if (within) for (const [inner, leaf] of withoutTwins(within, place, beside)) leaves.set(inner, leaf);
    else leaves.set(column, leafAt(column, value));
  });
  return leaves;
}

/** What a row is copied as: its body where that is kept, else an object of its columns. */
function jsonOf(
  columns: readonly string[],
  values: readonly PageCell[],
  booleans: ReadonlySet<string>,
): string {
  if (columns[0] === '_body') return String(values[0]);
  const members = columns.map(
    (column, at) => `${JSON.stringify(column)}: ${textAt(column, values[at] ?? null)}`,
  );
  return `{\n  ${members.join(',\n  ')}\n}`;

  function textAt(column: string, value: PageCell): string {
    if (booleans.has(column) && (value === 0 || value === 1)) return String(value === 1);
    if (typeof value === 'object' && value !== null) return 'integer' in value ? value.integer : 'null';
    return typeof value === 'string' && leavesOf(value) && /^\s*[[{]/.test(value)
      ? value
      : JSON.stringify(value);
  }
}

/** Without the values of an object that have a column of their own. */
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

/** A single value of a row. Numbers keep every digit, unlike with JSON.parse. `literal`: true, false, null, `{}` and `[]`. */
export type Leaf = { kind: 'text' | 'number' | 'literal'; text: string };

/** By place, such as `source.name` or `impact[0]["<b>"]`, in the order in which they came. */
export type Leaves = ReadonlyMap<string, Leaf>;

/** Longer values are compared as a whole. */
const MAX_LEAVES = 5_000;
const MAX_DEPTH = 100;

/** The values of a text of JSON; null where it is none, is too deep or holds too many. @param at its own place. */
export function leavesOf(json: string, at = ''): Leaves | null {
  const tokens = json.matchAll(/\s*(?:([[\]{}:,])|("(?:[^"\\]|\\.)*")|([^\s[\]{}:,"]+))/gsy);
  const leaves = new Map<string, Leaf>();
  let token = tokens.next().value;
  const isSign = (sign: string) => token?.[1] === sign;
  const step = () => {
    token = tokens.next().value;
  };

  function take(sign: string): void {
    if (!isSign(sign)) throw new SyntaxError(`no ${sign}`);
    step();
  }

  function keep(place: string, leaf: Leaf): void {
    if (leaves.size >= MAX_LEAVES) throw new RangeError('too many');
    leaves.set(place, leaf);
  }

  function read(place: string, depth: number): void {
    if (depth > MAX_DEPTH) throw new RangeError('too deep');
    if (isSign('{') || isSign('[')) {
      readInside(place, depth);
      return;
    }
    const [, , text, word] = token ?? [];
    if (text === undefined && word === undefined) throw new SyntaxError('no value');
    keep(place, leafOf(text, word));
    step();
  }

  function readInside(place: string, depth: number): void {
    const isList = isSign('[');
    const end = isList ? ']' : '}';
    step();
    if (isSign(end)) {
      keep(place, { kind: 'literal', text: isList ? '[]' : '{}' });
      step();
      return;
    }
    for (let index = 0; ; index += 1) {
      if (isList) read(`${place}[${index}]`, depth + 1);
      else {
        const [, , member] = token ?? [];
        if (member === undefined) throw new SyntaxError('no name');
        step();
        take(':');
        read(placeWithin(place, JSON.parse(member) as string), depth + 1);
      }
      if (!isSign(',')) break;
      step();
    }
    take(end);
  }

  try {
    read(at, 0);
    return token === undefined ? leaves : null;
  } catch {
    return null;
  }
}

const leafOfValue = (value: string | number | null): Leaf =>
  typeof value === 'string'
    ? { kind: 'text', text: value }
    : { kind: value === null ? 'literal' : 'number', text: String(value) };

function leafOf(text: string | undefined, word = ''): Leaf {
  if (text !== undefined) return { kind: 'text', text: JSON.parse(text) as string };
  if (/^(true|false|null)$/.test(word)) return { kind: 'literal', text: word };
  if (Number.isNaN(Number(word))) throw new SyntaxError('no number');
  return { kind: 'number', text: word };
}

function placeWithin(place: string, member: string): string {
  if (!/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(member)) return `${place}[${JSON.stringify(member)}]`;
  return place === '' ? member : `${place}.${member}`;
}

/** `before` is null for a value that came, `after` for one that went. */
export type Change = { place: string; before: Leaf | null; after: Leaf | null };

export function changesBetween(before: Leaves, after: Leaves): Change[] {
  const places = new Set([...after.keys(), ...before.keys()].map(withinList));
  return [...places].flatMap((place) => {
    const [old, young] = [leafAt(before, place), leafAt(after, place)];
    return old?.kind === young?.kind && old?.text === young?.text
      ? []
      : [{ place, before: old, after: young }];
  });
}

/** A list is one value: else a new first item would count as a change of every item. */
const withinList = (place: string) => /^((?:[^[]|\["(?:[^"\\]|\\.)*"\])*)\[\d+\]/.exec(place)?.[1] ?? place;

/** The value of a place; of a list its items in a row. */
function leafAt(leaves: Leaves, place: string): Leaf | null {
  const leaf = leaves.get(place);
  if (leaf) return leaf;
  const items: string[][] = [];
  for (const [inner, { text }] of leaves) {
    const [, index, rest = ''] = inner.startsWith(`${place}[`)
      ? (/^\[(\d+)\](.*)$/s.exec(inner.slice(place.length)) ?? [])
      : [];
    if (index === undefined) continue;
    const item = items[Number(index)] ?? [];
    items[Number(index)] = item;
    item.push(rest === '' ? text : `${rest.replace(/^\./, '')}: ${text}`);
  }
  return items.length === 0 ? null : { kind: 'text', text: items.map((item) => item.join(', ')).join(' · ') };
}

/** A text in three parts, of which the middle one is what the other text does not have. */
export type Marked = readonly [same: string, other: string, same: string];

/** Where two texts differ. Null where they have too little in common for that to tell anything. */
export function markDifference(before: string, after: string): { before: Marked; after: Marked } | null {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  if (head > 0 && isFirstHalf(before.charCodeAt(head - 1))) head -= 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-tail - 1) === after.at(-tail - 1)) tail += 1;
  if (tail > 0 && isSecondHalf(before.charCodeAt(before.length - tail))) tail -= 1;
  if ((head + tail) * 3 < shorter || head + tail === 0) return null;
  const parts = (text: string): Marked => [
    text.slice(0, head),
    text.slice(head, text.length - tail),
    text.slice(text.length - tail),
  ];
  return { before: parts(before), after: parts(after) };
}

const isFirstHalf = (code: number) => code >= 0xd800 && code < 0xdc00;
const isSecondHalf = (code: number) => code >= 0xdc00 && code < 0xe000;
