/** Parsed values of rows: whether a table can keep them, and which fields they show. */

import type { FieldPath, FieldType, PageFields, Problem, SeenField } from './checked.ts';

export function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

/** The value of a member, or of a member of an object in it; undefined where there is none. */
export function valueAt(row: unknown, path: FieldPath): unknown {
  return path.reduce<unknown>((inner, name) => {
    const members = asRecord(inner);
    return members && Object.hasOwn(members, name) ? members[name] : undefined;
  }, row);
}

/** What kind of JSON value came, in a word; never the value itself. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'number' && !Number.isFinite(value) ? 'a number too large' : typeof value;
}

/** SQLite's JSON functions read 1,000 levels; people give up long before. */
const MAX_LEVELS = 64;
/** In characters. */
export const LONGEST_TEXT = 1024 ** 2;
/** Characters of a name, path or detail that is shown to people. */
export const LONGEST_SHOWN = 100;

/** Whether a row's text may hold a number with more digits than JavaScript keeps. A text of so many digits looks alike. */
export const holdsLongNumber = (text: string) => /\d[\d.]{15}/.test(text);

/**
 * Looks at every value and name of a row.
 * @returns `problem`: why no table can keep the row, if so; `members`: how many members its objects have, each name once, as
 * `JSON.parse` has them.
 */
export function inspect(row: unknown): { problem: Problem | undefined; members: number } {
  let members = 0;

  function problemOf(value: unknown, level: number): Problem | undefined {
    if (typeof value === 'string') return problemOfText(value);
    if (typeof value === 'number')
      return Number.isFinite(value) ? undefined : problem('a number that a double can hold', kindOf(value));
    if (typeof value !== 'object' || value === null) return undefined;
    if (level >= MAX_LEVELS) return problem(`nesting of at most ${MAX_LEVELS} levels`, 'deeper nesting');
    if (Array.isArray(value)) {
      for (let at = 0; at < value.length; at += 1) {
        const found = problemOf(value[at], level + 1);
        if (found) return within(found, String(at));
      }
      return undefined;
    }
    for (const name in value) {
      members += 1;
      const found = problemOfName(name) ?? problemOf((value as Record<string, unknown>)[name], level + 1);
      if (found) return within(found, name);
    }
    return undefined;
  }
  const found = problemOf(row, 0);
  return { problem: found, members };
}

const problem = (expected: string, received: string): Problem => ({ path: '', expected, received });

/** SQLite's JSON functions read `a\0b` as `a`: one column would show the other's values. */
const problemOfName = (name: string) =>
  name.includes('\0') ? problem('names without NUL', 'a name with NUL') : problemOfText(name);

function problemOfText(text: string): Problem | undefined {
  if (text.length > LONGEST_TEXT)
    return problem(`text of at most ${LONGEST_TEXT} characters`, `${text.length} characters`);
  return text.isWellFormed() ? undefined : problem('well-formed Unicode', 'text with a lone surrogate');
}

/** The problem as one of the object or array around. */
function within(inner: Problem, name: string): Problem {
  const shown = name.slice(0, LONGEST_SHOWN).toWellFormed();
  return { ...inner, path: inner.path ? `${shown}.${inner.path}` : shown };
}

/** An object with more members is a map rather than a record: it stays whole, as do objects within objects. */
export const MAX_MEMBERS = 30;

/** The fields of rows without a contract: members, and the members of objects. An object with members is no field itself, unless it stays whole. */
export function profileRows(rows: readonly Record<string, unknown>[]): PageFields {
  const fields = new Map<string, Seen>();
  const see = (path: FieldPath, value: unknown) => {
    // No name of a field has a NUL.
    const name = path.join('\0');
    let seen = fields.get(name);
    if (!seen) {
      seen = { path, types: new Set(), values: 0, example: undefined };
      fields.set(name, seen);
    }
    if (value === null) return;
    seen.types.add(typeOf(value));
    seen.values += 1;
    seen.example ??= value;
  };
  for (const row of rows)
    for (const name in row) {
      const members = Object.entries(asRecord(row[name]) ?? {});
      if (members.length === 0 || members.length > MAX_MEMBERS) see([name], row[name]);
      else for (const [member, value] of members) see([name, member], value);
    }
  return { rows: rows.length, fields: shown(fields) };
}

/** What the rows showed at one path. */
type Seen = { path: FieldPath; types: Set<FieldType>; values: number; example: unknown };

/** In the order of the rows' members. Not a null where other rows have an object, whose members are fields. */
function shown(fields: ReadonlyMap<string, Seen>): SeenField[] {
  const all = [...fields.values()];
  const objects = new Set(all.flatMap(({ path }) => (path.length > 1 ? [path[0]] : [])));
  const places = new Map([...new Set(all.map(({ path }) => path[0]))].map((name, at) => [name, at]));
  const placeOf = ({ path }: Seen) => places.get(path[0]) ?? 0;
  return all
    .filter(({ path, values }) => values > 0 || path.length > 1 || !objects.has(path[0]))
    .sort((one, other) => placeOf(one) - placeOf(other))
    .map(({ path, types, values, example }) => ({
      path,
      types: fieldTypes.filter((type) => types.has(type)),
      values,
      example,
    }));
}

const fieldTypes: readonly FieldType[] = [
  'boolean',
  'integer',
  'big-integer',
  'number',
  'string',
  'array',
  'object',
];

function typeOf(value: unknown): FieldType {
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value !== 'number') return Array.isArray(value) ? 'array' : 'object';
  if (!Number.isInteger(value)) return 'number';
  return Number.isSafeInteger(value) ? 'integer' : 'big-integer';
}
