/** An answer: its columns, what they hold, and its rows in batches, so that a large result takes no more memory than a small one. */

import { daysOfMonth } from '../base/time.ts';

/** A value of SQLite: an integer beyond the safe ones of JavaScript is a bigint, a blob bytes. */
export type Cell = string | number | bigint | Uint8Array | null;

export type Column = {
  name: string;
  /** The declared type of the column it comes from, such as `TEXT`; null for an expression. */
  type: string | null;
  holds?: ValueType;
  /** In JSON: 0 and 1 are false and true, a text is JSON as it is. */
  inJson?: 'boolean' | 'json';
};

export type Rows = { columns: readonly Column[]; batches: AsyncGenerator<Cell[][], void> };

/** Names that are all different, as the keys of an object need to be: `id`, `id:1`. */
export function distinctNames(columns: readonly Column[]): string[] {
  const used = new Set<string>();
  return columns.map(({ name }) => {
    let free = name;
    for (let more = 1; used.has(free); more += 1) free = `${name}:${more}`;
    used.add(free);
    return free;
  });
}

/** SQL for a number as `String` writes it: SQLite would make `87.0` of a whole number in a column of reals. */
export const numberSql = (column: string): string =>
  `CASE WHEN ${column} = CAST(${column} AS INTEGER) AND abs(${column}) < ${2 ** 53} THEN CAST(${column} AS INTEGER) ELSE ${column} END`;

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** `boolean`: 0 and 1. `timestamp`: RFC 3339 times, none finer than a microsecond. `mixed`: only text can hold all values. `nothing`: no value. */
export type ValueType = 'boolean' | 'integer' | 'real' | 'timestamp' | 'text' | 'bytes' | 'mixed' | 'nothing';

/** `zeroOrOne`: integers. `beyondDouble`: integers, some of which no double holds exactly. */
type InferredType = Exclude<ValueType, 'boolean'> | 'zeroOrOne' | 'beyondDouble';

/** Looks at every row. @param rows as SQLite gives them: integers are bigint. */
export function inferTypes(rows: Iterable<unknown[]>, columns: number): InferredType[] {
  const kinds = Array<InferredType>(columns).fill('nothing');
  for (const row of rows)
    row.forEach((value, at) => {
      kinds[at] = joined(kinds[at] ?? 'nothing', value);
    });
  return kinds;
}

/** What a column holds, by its values alone. */
export const valueTypeOf = (inferred: InferredType): ValueType =>
  inferred === 'zeroOrOne' || inferred === 'beyondDouble' ? 'integer' : inferred;

const accepted: Partial<Record<ValueType, readonly InferredType[]>> = {
  timestamp: ['timestamp', 'nothing'],
  boolean: ['zeroOrOne', 'nothing'],
  integer: ['zeroOrOne', 'integer', 'beyondDouble', 'nothing'],
  real: ['zeroOrOne', 'integer', 'real', 'nothing'],
};

/** Whether a column of this type can hold what was inferred. */
export const accepts = (declared: ValueType, inferred: InferredType): boolean =>
  accepted[declared]?.includes(inferred) ?? true;

/** What a column holds that held `before` and now `value` too. */
function joined(before: InferredType, value: unknown): InferredType {
  if (value === null || before === 'mixed') return before;
  const kind = kindOf(value, before);
  if (before === 'nothing' || before === kind) return kind;
  const both = [before, kind].sort().join();
  const common: Record<string, InferredType> = {
    'text,timestamp': 'text',
    'integer,zeroOrOne': 'integer',
    'beyondDouble,zeroOrOne': 'beyondDouble',
    'real,zeroOrOne': 'real',
    'integer,real': 'real',
    'beyondDouble,integer': 'beyondDouble',
  };
  return common[both] ?? 'mixed';
}

function kindOf(value: unknown, before: InferredType): InferredType {
  if (value === 0n || value === 1n) return 'zeroOrOne';
  if (typeof value === 'bigint') return BigInt(Number(value)) === value ? 'integer' : 'beyondDouble';
  if (typeof value === 'number') return 'real';
  if (typeof value !== 'string') return 'bytes';
  return before !== 'text' && microsOf(value) !== undefined ? 'timestamp' : 'text';
}

const rfc3339 =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([Tt ])((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d+))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

/** `local`: such as `2026-11-22T01:02:03`, which is `offsetMs` ahead of UTC; null for UTC itself. */
type Time = { local: string; hasSpace: boolean; fraction: string; offsetMs: number | null };

/** An RFC 3339 time, of a day that there is and without a leap second; undefined for any other text. */
export function parseRfc3339(text: string): Time | undefined {
  const [found, year, month, day, between, clock, fraction = '', sign, hours, minutes] =
    rfc3339.exec(text) ?? [];
  if (found === undefined || Number(day) > daysOfMonth(Number(year), Number(month))) return undefined;
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
  return {
    local: `${year}-${month}-${day}T${clock}`,
    hasSpace: between === ' ',
    fraction,
    offsetMs: sign === undefined ? null : offsetMs,
  };
}

/** Microseconds since 1970 in UTC; undefined for no RFC 3339 time, for one with a space or finer than a microsecond, and for a leap second. */
export function microsOf(text: string): bigint | undefined {
  const time = parseRfc3339(text);
  if (!time || time.hasSpace || time.fraction.length > 6) return undefined;
  const { local, fraction, offsetMs } = time;
  return BigInt(Date.parse(`${local}Z`) - (offsetMs ?? 0)) * 1_000n + BigInt(fraction.padEnd(6, '0'));
}

/** The forms in which rows are printed. */
export const formats = ['table', 'json', 'ndjson', 'csv', 'md'] as const;
export type Format = (typeof formats)[number];

/** Whether rows in this form are JSON: then lists, objects and booleans are shown as such, `Column.inJson`. */
export const isJsonForm = (format: string): boolean => format === 'json' || format === 'ndjson';
