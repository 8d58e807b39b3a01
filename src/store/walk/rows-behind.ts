/**
 * Rows that lie behind one in the table, which is mostly how a page shows them: they are read together and compared here. To
 * bind a value costs more than to read it, and one text that holds all texts of a row is read faster than each of them.
 */

import { randomBytes } from 'node:crypto';
import { getTableColumns } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { RowValues, SqlValue } from '../../job.ts';
import { type Job, rowsOf, volatileOf } from '../../job.ts';
import type { RowRef } from '../../validate/checked.ts';
import type { Connection } from '../connection.ts';
import { quoted } from '../sql.ts';

/** Those behind one row, in the order of the table; they are good until somebody writes. */
export type RowsBehind = {
  /** The next of them, where its key and its stable values are these; with it, whether its volatile ones are others. */
  next(key: string, values: RowValues): FoundRow | undefined;
  /** The same from behind the row of this number on; undefined where that is none of those left. */
  from(rowid: number): RowsBehind | undefined;
};

export type FoundRow = { held: RowRef; volatileChanged: boolean };

/** By position: number, walk, all texts, other stable values, volatile values. */
type StoredValues = [rowid: number, walkId: number, texts: string, ...others: SqlValue[]];

/**
 * Returns what reads so many rows behind that of a number.
 * @param stable the columns in which a change makes a version.
 * @param volatile those that lie in a table of their own.
 */
export function prepareRowsBehind(
  connection: Connection,
  job: Job,
  stable: readonly string[],
  volatile: readonly string[],
): (rowid: number, count: number) => RowsBehind {
  const columns: Record<string, SQLiteColumn> = getTableColumns(job.tables.rows);
  const isText = (name: string) => columns[name]?.getSQLType() === 'text';
  const texts = stable.filter(isText);
  const others = stable.filter((name) => !isText(name));
  const marks = makeMarks();
  const join = texts.map((name) => {
    const column = `stored.${quoted(name)}`;
    return columns[name]?.notNull ? column : `ifnull(${column}, '${marks.isNull}')`;
  });
  const select = connection
    .prepare<[number, number], StoredValues>(
      `SELECT stored.rowid, _walk_id, concat_ws('${marks.between}', ${['_key', ...join]}),
         ${[...others.map((name) => `stored.${quoted(name)}`), ...volatile.map((name) => `beside.${quoted(name)}`)].join() || 'NULL'}
       FROM ${quoted(rowsOf(job))} AS stored ${besideOf(job)} WHERE stored.rowid > ? ORDER BY stored.rowid LIMIT ?`,
    )
    .raw();
  const isSame = compileComparison(texts, others, marks);
  const volatileFrom = FIRST_OTHER + others.length;

  return (behind, count) => {
    const rows = select.all(behind, count);
    let place = 0;
    const left: RowsBehind = {
      next(key, values) {
        const stored = rows[place];
        if (!stored || !isSame(stored, key, values)) return undefined;
        place += 1;
        const [rowid, walkId] = stored;
        const volatileChanged = volatile.some(
          (name, at) => stored[volatileFrom + at] !== (values[name] ?? null),
        );
        return { held: { rowid, walkId }, volatileChanged };
      },
      from(rowid) {
        const at = rows.findIndex(([number], at) => at >= place && number === rowid);
        place = at + 1;
        return at < 0 ? undefined : left;
      },
    };
    return left;
  };
}

/** A row without volatile values, which it should have, is looked at by itself. */
function besideOf(job: Job): string {
  const table = volatileOf(job);
  return table === undefined ? '' : `CROSS JOIN ${quoted(table)} AS beside ON beside._number = stored.rowid`;
}

/** What stands between texts, and for those that are null: made by chance anew, so that no text holds it. */
type Marks = { between: string; isNull: string };

function makeMarks(): Marks {
  const mark = randomBytes(6).toString('base64url');
  return { between: `${mark},`, isNull: `${mark}-` };
}

const FIRST_OTHER = 3;

type Comparison = (stored: StoredValues, key: string, values: RowValues) => boolean;

/** As code of its own: to look the columns up by their names would take three times as long. */
function compileComparison(texts: readonly string[], others: readonly string[], marks: Marks): Comparison {
  const literal = JSON.stringify;
  const joined = texts.map(
    (name) => ` + ${literal(marks.between)} + (values[${literal(name)}] ?? ${literal(marks.isNull)})`,
  );
  const same = others.map(
    (name, at) => ` && stored[${FIRST_OTHER + at}] === (values[${literal(name)}] ?? null)`,
  );
  const code = `return stored[2] === key${joined.join('')}${same.join('')}`;
  return new Function('stored', 'key', 'values', code) as Comparison;
}
