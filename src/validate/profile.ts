/** The fields that rows of an unspecified shape show: where they lie, what they hold, how often. */

import type { FieldType, PageFields, SeenField } from './checked.ts';

/** Objects further down stay whole: a column five names long helps nobody. */
const MOST_LEVELS = 4;
/** An object that shows more members in one page is a map rather than a record: it stays whole too. */
const MOST_MEMBERS = 100;

/** An object with members is not a field itself, unless it is a map; its members are. */
export function profileRows(rows: readonly Record<string, unknown>[]): PageFields {
  const root = createNode();
  for (const row of rows) look(root, row, 1);
  return { rows: rows.length, fields: [...fieldsBelow(root, [])] };
}

type Node = {
  /** Types seen, as bits in the order of `fieldTypes`. */
  types: number;
  nulls: boolean;
  values: number;
  example: unknown;
  /** How often it was an object with members; one of those objects. */
  objects: number;
  object: unknown;
  members: Map<string, Node>;
  isMap: boolean;
};

const fieldTypes: readonly FieldType[] = [
  'boolean',
  'integer',
  'big-integer',
  'number',
  'string',
  'array',
  'object',
];
const bit = Object.fromEntries(fieldTypes.map((type, at) => [type, 1 << at])) as Record<FieldType, number>;

const createNode = (): Node => ({
  types: 0,
  nulls: false,
  values: 0,
  example: undefined,
  objects: 0,
  object: undefined,
  members: new Map(),
  isMap: false,
});

function look(parent: Node, record: Record<string, unknown>, level: number): void {
  for (const name in record) {
    let node = parent.members.get(name);
    if (!node) {
      if (level > 1 && parent.members.size >= MOST_MEMBERS) {
        parent.isMap = true;
        parent.members.clear();
        return;
      }
      node = createNode();
      parent.members.set(name, node);
    }
    const value = record[name];
    if (value === null) node.nulls = true;
    else if (level < MOST_LEVELS && isRecordWithMembers(value)) {
      node.objects += 1;
      node.object ??= value;
      if (!node.isMap) look(node, value, level + 1);
    } else {
      node.types |= bitOf(value);
      node.values += 1;
      node.example ??= value;
    }
  }
}

function isRecordWithMembers(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  for (const _ in value) return true;
  return false;
}

function bitOf(value: unknown): number {
  if (typeof value === 'string') return bit.string;
  if (typeof value === 'number') {
    if (!Number.isInteger(value)) return bit.number;
    return Number.isSafeInteger(value) ? bit.integer : bit['big-integer'];
  }
  if (typeof value === 'boolean') return bit.boolean;
  return Array.isArray(value) ? bit.array : bit.object;
}

function* fieldsBelow(node: Node, path: readonly string[]): Generator<SeenField> {
  for (const [name, member] of node.members) {
    const { nulls, members, isMap } = member;
    const here = [...path, name];
    const types = isMap ? member.types | bit.object : member.types;
    const values = isMap ? member.values + member.objects : member.values;
    if (values > 0 || (nulls && members.size === 0))
      yield {
        path: here,
        types: fieldTypes.filter((type) => types & bit[type]),
        values,
        example: member.example ?? (isMap ? member.object : undefined),
      };
    yield* fieldsBelow(member, here);
  }
}
