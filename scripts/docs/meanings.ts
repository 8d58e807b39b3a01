/** What columns mean: read from the comments of the schema and from the contracts of the jobs. */

import { readFileSync } from 'node:fs';
import { getTableColumns, is } from 'drizzle-orm';
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Job } from '../../src/job.ts';
import * as schema from '../../src/store/schema.ts';

const source = new URL('../../src/store/schema.ts', import.meta.url);

/** Of a table, and of those of its columns that have one, by their names in SQL. */
export type Comments = { table: string; about: string; columns: Map<string, string> };

/** Those of every table, in the order of the file. */
export function readComments(): Comments[] {
  const tables: Record<string, unknown> = schema;
  return readFileSync(source, 'utf8')
    .split(/^(?=\/\*\*)/m)
    .flatMap((declaration) => {
      const name = /^export const (\w+) = /m.exec(declaration)?.[1] ?? '';
      const table = tables[name];
      return is(table, SQLiteTable) ? [commentsOf(table, name, declaration)] : [];
    });
}

function commentsOf(table: SQLiteTable, name: string, declaration: string): Comments {
  const columns = Object.entries(getTableColumns(table)).flatMap(([property, column]) => {
    const comment = commentBefore(declaration, new RegExp(`^ +${property}: `, 'm'));
    return comment ? [[column.name, comment] as const] : [];
  });
  return {
    table: getTableConfig(table).name,
    about: commentBefore(declaration, new RegExp(`^export const ${name} = `, 'm')) ?? '',
    columns: new Map(columns),
  };
}

function commentBefore(text: string, line: RegExp): string | undefined {
  const before = text.slice(0, text.search(line)).trimEnd();
  if (!before.endsWith('*/')) return undefined;
  return before
    .slice(before.lastIndexOf('/**') + 3, -2)
    .replace(/^\s*\*/gm, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** The part of JSON Schema in which zod describes our contracts. */
type Shape = {
  type?: string | readonly string[];
  description?: string;
  enum?: string[];
  minimum?: number;
  maximum?: number;
  items?: Shape;
  properties?: Record<string, Shape>;
  anyOf?: Shape[];
};

/** By column. A column is named after the property that it shows; nested names are joined by `_`. */
export function meaningsOf({ schemas, volatile }: Job): Map<string, string> {
  const meanings = new Map<string, string>();
  if (!schemas) return meanings;
  collect(schemas.row as Shape, [], meanings);
  for (const column of volatile)
    meanings.set(column, `${meanings.get(column)}; volatile: kept current, but makes no version`);
  return meanings;
}

function collect(shape: Shape, path: string[], meanings: Map<string, string>): void {
  const value = shape.anyOf?.find(({ type }) => type !== 'null') ?? shape;
  if (path.length > 0) {
    const rule = [shape.description, ruleOf(value)].filter(Boolean).join('; ');
    meanings.set(path.map(snakeCase).join('_'), `\`${path.join('.')}\`${rule && `: ${rule}`}`);
  }
  for (const [name, inner] of Object.entries(value.properties ?? {}))
    collect(inner, [...path, name], meanings);
}

function ruleOf({ type, enum: values, minimum, maximum, items }: Shape): string {
  const kinds = [type].flat();
  if (values) return values.map((value) => `\`${value}\``).join(', ');
  if (kinds.includes('boolean')) return '0 or 1';
  if (kinds.includes('array')) return `JSON array of ${items?.type === 'string' ? 'text' : 'values'}`;
  if (kinds.includes('object')) return 'JSON object';
  const bounds = [
    minimum !== undefined && `at least ${minimum}`,
    maximum !== undefined && `at most ${maximum}`,
  ];
  return bounds.filter(Boolean).join(', ');
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
