/** Values of rows as they were parsed: whether a table can keep them, and which fields they show. */

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

/** SQLite's JSON functions refuse to read anything deeper than 1,000 levels; people give up long before. */
const MAX_LEVELS = 64;
/** In characters. */
export const LONGEST_TEXT = 1024 ** 2;
/** Of a name, a path or a detail that is shown to people. In characters. */
export const LONGEST_SHOWN = 100;

type Inspection = {
  /** Undefined where a table can keep the value; else the first of its problems. */
  problem: Problem | undefined;
  /** How many members its objects have; a repeated name counts once, as it does for `JSON.parse`. */
  members: number;
  /** True where it holds a whole number whose last digits JavaScript has lost. */
  inexact: boolean;
};

/** Looks at every value and name of a row. */
export function inspect(row: unknown): Inspection {
  const inspection: Inspection = { problem: undefined, members: 0, inexact: false };
  inspectValue(row, inspection, 0);
  return inspection;
}

/** Returns true where it found a problem, whose path its callers complete from the inside out. */
function inspectValue(value: unknown, found: Inspection, level: number): boolean {
  if (typeof value === 'string') return inspectText(value, found);
  if (typeof value === 'number') return inspectNumber(value, found);
  if (typeof value !== 'object' || value === null) return false;
  if (level >= MAX_LEVELS) return report(found, `nesting of at most ${MAX_LEVELS} levels`, 'deeper nesting');
  if (Array.isArray(value))
    return value.some((inner, at) => inspectValue(inner, found, level + 1) && within(found, String(at)));
  for (const name in value) {
    found.members += 1;
    if (inspectName(name, found) || inspectValue((value as Record<string, unknown>)[name], found, level + 1))
      return within(found, name);
  }
  return false;
}

/** SQLite reads a name up to its first NUL: to its JSON functions `a\0b` is `a`, and one column would show the other's values. */
function inspectName(name: string, found: Inspection): boolean {
  return name.includes('\0')
    ? report(found, 'names without NUL', 'a name with NUL')
    : inspectText(name, found);
}

function inspectText(text: string, found: Inspection): boolean {
  if (text.length > LONGEST_TEXT)
    return report(found, `text of at most ${LONGEST_TEXT} characters`, `${text.length} characters`);
  return !text.isWellFormed() && report(found, 'well-formed Unicode', 'text with a lone surrogate');
}

function inspectNumber(value: number, found: Inspection): boolean {
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) found.inexact = true;
  return !Number.isFinite(value) && report(found, 'a number that a double can hold', 'a number too large');
}

function report(found: Inspection, expected: string, received: string): true {
  found.problem = { path: '', expected, received };
  return true;
}

function within({ problem }: Inspection, name: string): true {
  const shown = name.slice(0, LONGEST_SHOWN).toWellFormed();
  if (problem) problem.path = problem.path ? `${shown}.${problem.path}` : shown;
  return true;
}

/** Objects further down stay whole: a column five names long helps nobody. */
const MAX_FIELD_LEVELS = 4;
/** An object that shows more members in one page is a map rather than a record: it stays whole too. */
const MAX_MEMBERS = 100;

/** The fields that rows of an unspecified shape show. An object with members is not a field itself, unless it is a map. */
export function profileRows(rows: readonly Record<string, unknown>[]): PageFields {
  const root = createNode();
  for (const row of rows) profileRecord(root, row, 1);
  return { rows: rows.length, fields: [...fieldsBelow(root, [])] };
}

/** What the rows showed at one path. */
type Node = {
  types: Set<FieldType>;
  hasNull: boolean;
  /** How often it was anything but null or an object with members; one of these values. */
  values: number;
  example: unknown;
  /** How often it was an object with members; one of these objects. */
  objects: number;
  object: unknown;
  members: Map<string, Node>;
  isMap: boolean;
};

const createNode = (): Node => ({
  types: new Set(),
  hasNull: false,
  values: 0,
  example: undefined,
  objects: 0,
  object: undefined,
  members: new Map(),
  isMap: false,
});

function profileRecord(parent: Node, record: Record<string, unknown>, level: number): void {
  for (const name in record) {
    let node = parent.members.get(name);
    if (!node) {
      if (level > 1 && parent.members.size >= MAX_MEMBERS) {
        parent.isMap = true;
        parent.members.clear();
        return;
      }
      node = createNode();
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
