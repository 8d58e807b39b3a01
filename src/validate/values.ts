/** Parsed values of rows: whether a table can keep them, and which fields they show. */

import type { FieldType, PageFields, Problem, SeenField } from './checked.ts';

export function asRecord(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
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

/**
 * Looks at every value and name of a row.
 * @returns `problem`: why no table can keep the row, if so; `members`: how many members its objects have, each name once, as
 * `JSON.parse` has them; `inexact`: whether JavaScript has lost the last digits of a whole number.
 */
export function inspect(row: unknown): { problem: Problem | undefined; members: number; inexact: boolean } {
  let members = 0;
  let inexact = false;

  function problemOf(value: unknown, level: number): Problem | undefined {
    if (typeof value === 'string') return problemOfText(value);
    if (typeof value === 'number') {
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) inexact = true;
      return Number.isFinite(value) ? undefined : problem('a number that a double can hold', kindOf(value));
    }
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
  return { problem: found, members, inexact };
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

/** Deeper objects stay whole: a column five names long helps nobody. */
const MAX_FIELD_LEVELS = 4;
/** An object with more members in one page is a map rather than a record: it stays whole, too. */
export const MAX_MEMBERS = 100;

/** The fields of rows without a contract. An object with members is no field itself, unless it is a map. */
export function profileRows(rows: readonly Record<string, unknown>[]): PageFields {
  const root = new Node();
  for (const row of rows) profileRecord(root, row, 1);
  return { rows: rows.length, fields: [...fieldsBelow(root, [])] };
}

/** What the rows showed at one path. */
class Node {
  readonly types = new Set<FieldType>();
  hasNull = false;
  /** How often it was anything but null or an object with members; one of these values. */
  values = 0;
  example: unknown = undefined;
  /** How often it was an object with members; one of these objects. */
  objects = 0;
  object: unknown = undefined;
  readonly members = new Map<string, Node>();
  isMap = false;
}

function profileRecord(parent: Node, record: Record<string, unknown>, level: number): void {
  for (const name in record) {
    let node = parent.members.get(name);
    if (!node) {
      if (level > 1 && parent.members.size >= MAX_MEMBERS) {
        parent.isMap = true;
        parent.members.clear();
        return;
      }
      node = new Node();
      parent.members.set(name, node);
    }
    const value = record[name];
    const inner = level < MAX_FIELD_LEVELS ? asRecord(value) : undefined;
    if (value === null) node.hasNull = true;
    else if (inner && hasMembers(inner)) {
      node.objects += 1;
      node.object ??= value;
      if (!node.isMap) profileRecord(node, inner, level + 1);
    } else {
      node.types.add(typeOf(value));
      node.values += 1;
      node.example ??= value;
    }
  }
}

function hasMembers(record: Record<string, unknown>): boolean {
  for (const _ in record) return true;
  return false;
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

function* fieldsBelow(node: Node, path: readonly string[]): Generator<SeenField> {
  for (const [name, member] of node.members) {
    const { types, hasNull, objects, members, isMap } = member;
    if (isMap) types.add('object');
    const values = member.values + (isMap ? objects : 0);
    const here = [...path, name];
    if (values > 0 || (hasNull && members.size === 0))
      yield {
        path: here,
        types: fieldTypes.filter((type) => types.has(type)),
        values,
        example: member.example ?? (isMap ? member.object : undefined),
      };
    yield* fieldsBelow(member, here);
  }
}
