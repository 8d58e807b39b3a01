/** The comments of `src/store/schema.ts`, where each table and column says what it means. */

import { readFileSync } from 'node:fs';
import { getTableColumns, is } from 'drizzle-orm';
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core';
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
