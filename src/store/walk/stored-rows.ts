/** The rows of a dataset that is kept as received, as the table holds them: a page is held against their text. */

import { type Job, rowsOf } from '../../job.ts';
import type { StoredRow, StoredRows } from '../../page.ts';
import type { Connection } from '../db/connection.ts';
import { quoted } from '../sql.ts';

type Columns = [rowid: number, walkId: number, key: string, body: string];

/** @param asOf a number for the state that the table is in. */
export function openStoredRows(connection: Connection, job: Job, asOf: () => number): StoredRows {
  const select = `SELECT rowid, _walk_id, _key, _body FROM ${quoted(rowsOf(job))}`;
  const find = connection.prepare<[string], Columns>(`${select} WHERE _key = ?`).raw();
  const after = connection
    .prepare<[number, number], Columns>(`${select} WHERE rowid > ? ORDER BY rowid LIMIT ?`)
    .raw();
  const rowOf = ([rowid, walkId, key, body]: Columns): StoredRow => ({
    rowid,
    walkId,
    key,
    body,
    asOf: asOf(),
  });
  return {
    find(key) {
      const found = find.get(key);
      return found && rowOf(found);
    },
    after: ({ rowid }, count) => after.all(rowid, count).map(rowOf),
  };
}
