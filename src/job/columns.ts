/**
 * The columns of a specified row. All follow from the shape of its contract: the declared columns, each named after the path of its
 * property; the values of a row; and the row as JSON again.
 */

import { integer, real, type SQLiteColumnBuilderBase, text } from 'drizzle-orm/sqlite-core';
import * as z from 'zod';
import { columnName, type Schema } from '../base/properties.ts';
import { numberSql } from '../output/answer.ts';

/** What a mirrored column holds: text, numbers, booleans as 0 or 1, arrays and objects as JSON text. */
export type SqlValue = string | number | null;

/** Columns by name; those that are lacking are null. */
export type RowValues = Record<string, SqlValue>;

/** A column, and the path of the property that it holds. */
type Column = { name: string; path: readonly string[]; holds: ValueType; nullable: boolean };
type ValueType = 'text' | 'number' | 'integer' | 'boolean' | 'json';

export function schemaOf(type: z.ZodType): Schema {
  const { $schema, ...schema } = z.toJSONSchema(type, {
    // The format says the same to readers, and a pattern has no flags there.
    override: ({ jsonSchema }) => {
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
    },
  });
  return schema as Schema;
}

/**
 * The columns of an object, in the order of its properties. An inner object has columns for its members; if it may be null or
 * lacking, one for the whole follows. An object without named members has only that.
 */
export function columnsOf({ properties = {}, required = [] }: Schema, around?: Column): Column[] {
  return Object.entries(properties).flatMap(([property, schema]) => {
    const path = [...(around?.path ?? []), property];
    const value = valueSchemaOf(schema);
    const mayLack = value !== schema || !required.includes(property);
    const column = {
      name: columnName(path),
      path,
      holds: valueTypeOfSchema(value, path),
      nullable: mayLack || around?.nullable === true,
    };
    const members = columnsOf(value, column);
    return members.length > 0 && !mayLack ? members : [...members, column];
  });
}

/** What a property holds where it is not null; the schema itself where it never is. */
function valueSchemaOf(schema: Schema): Schema {
  if (schema.anyOf) return schema.anyOf.find(({ type }) => type !== 'null') ?? schema;
  if (typeof schema.type === 'string' || schema.type === undefined) return schema;
  const [type = 'null'] = schema.type.filter((type) => type !== 'null');
  return { ...schema, type };
}

function valueTypeOfSchema({ type }: Schema, path: readonly string[]): ValueType {
  if (type === 'object' || type === 'array') return 'json';
  if (type === 'number' || type === 'integer' || type === 'boolean') return type;
  if (type === 'string') return 'text';
  throw new Error(`no column can hold what the contract lists as ${path.join('.')}`);
}

export function declaredColumns(columns: readonly Column[]): Record<string, SQLiteColumnBuilderBase> {
  const declared = columns.map(({ name, holds, nullable }) => {
    const column =
      holds === 'number' ? real() : holds === 'integer' || holds === 'boolean' ? integer() : text();
    return [name, nullable ? column : column.notNull()] as const;
  });
  return Object.fromEntries(declared);
}

/** Returns what puts a row that fits into its columns. */
export function valueReader(columns: readonly Column[]): (row: unknown) => RowValues {
  return (row) => {
    const values: RowValues = {};
    for (const { name, path, holds } of columns) {
      let value: unknown = row;
      for (const property of path) value = (value as Record<string, unknown> | null | undefined)?.[property];
      values[name] = sqlValueOf(value ?? null, holds);
    }
    return values;
  };
}

function sqlValueOf(value: unknown, holds: ValueType): SqlValue {
  if (value === null) return null;
  if (holds === 'json') return JSON.stringify(value);
  return holds === 'boolean' ? Number(value) : (value as SqlValue);
}

/**
 * SQL for the JSON of a row, over its columns in something named `row`: what the contract lists, in its order, and nothing
 * else.
 */
export function rowJsonSql(
  { properties = {}, required = [] }: Schema,
  around: readonly string[] = [],
): string {
  const members = Object.entries(properties).map(([property, schema]) => {
    const path = [...around, property];
    const isNested = schema.properties !== undefined && required.includes(property);
    const value = isNested ? rowJsonSql(schema, path) : jsonSql(valueSchemaOf(schema), path);
    return { property, value, isOptional: !required.includes(property) };
  });
  const object = `json_object(${members.map(({ property, value }) => `'${property}', ${value}`).join(', ')})`;
  // A path into an array removes nothing from an object.
  const lacking = members
    .filter(({ isOptional }) => isOptional)
    .map(({ property, value }) => `CASE WHEN ${value} IS NULL THEN '$."${property}"' ELSE '$[0]' END`);
  return lacking.length > 0 ? `json_remove(${[object, ...lacking].join(', ')})` : object;
}

function jsonSql(schema: Schema, path: readonly string[]): string {
  const column = `row."${columnName(path)}"`;
  if (schema.type === 'boolean')
    return `CASE ${column} WHEN 1 THEN json('true') WHEN 0 THEN json('false') END`;
  if (schema.type === 'array') return `json(${column})`;
  if (schema.type === 'object') return listedMembersSql(schema, column);
  return schema.type === 'number' ? numberSql(column) : column;
}

/** An object that is kept as JSON, without members that the contract does not list. It is put together only where it has such. */
function listedMembersSql({ properties }: Schema, column: string): string {
  if (!properties) return `json(${column})`;
  const names = Object.keys(properties);
  const value = `CASE WHEN type IN ('object', 'array') THEN json(value) WHEN type IN ('true', 'false') THEN json(type) ELSE value END`;
  const listed = `SELECT json_group_object(key, ${value}) FROM json_each(${column}) WHERE key IN (${names.map((name) => `'${name}'`).join()})`;
  const others = `json_remove(${[column, ...names.map((name) => `'$."${name}"'`)].join(', ')})`;
  return `CASE WHEN ${others} = '{}' THEN json(${column}) WHEN ${column} IS NOT NULL THEN json((${listed})) END`;
}
