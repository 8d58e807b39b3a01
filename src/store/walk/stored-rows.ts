/** The rows of a dataset that is kept as received, as the table holds them: a page is held against their text. */

import { type Job, rowsOf } from '../../job.ts';
import type { StoredRow, StoredRows } from '../../validate/checked.ts';
import type { Connection } from '../connection.ts';
import { quoted } from '../sql.ts';

type Columns = [rowid: number, walkId: number, key: string, body: string];
type RunColumns = [
  rowids: string,
  walkIds: string,
  keys: string,
  bytes: number | null,
  isSame: number | null,
];

/** SQLite gives no row this number by itself. */
const BEYOND = '9223372036854775807';

/** @param asOf a number for the state that the table is in. */
export function openStoredRows(connection: Connection, job: Job, asOf: () => number): StoredRows {
  const table = quoted(rowsOf(job));
  const select = `SELECT rowid, _walk_id, _key, _body FROM ${table}`;
  const find = connection.prepare<[string], Columns>(`${select} WHERE _key = ?`).raw();
  const after = connection
    .prepare<[number, number], Columns>(`${select} WHERE rowid > ? ORDER BY rowid LIMIT ?`)
    .raw();
  // SQLite gathers rows in the order of their numbers; if it did not, they would not be what the text begins with.
  const run = connection
    .prepare<[Buffer, number, number, number], RunColumns>(
      `SELECT rowids, walks, keys, length(bytes), substr(?, 1, length(bytes)) = bytes
       FROM (SELECT json_group_array(rowid) AS rowids, json_group_array(_walk_id) AS walks, json_group_array(_key) AS keys,
         CAST(group_concat(_body, ',') AS BLOB) AS bytes FROM ${table}
         WHERE rowid >= ? AND rowid < ifnull((SELECT rowid FROM ${table} WHERE rowid >= ? ORDER BY rowid LIMIT 1 OFFSET ?), ${BEYOND}))`,
    )
    .raw();
  const bytesOf = connection
    .prepare<[number], Buffer>(`SELECT CAST(_body AS BLOB) FROM ${table} WHERE rowid = ?`)
    .pluck();
  const bodyOf = connection.prepare<[number], string>(`SELECT _body FROM ${table} WHERE rowid = ?`).pluck();
  const readBody = (rowid: number) => String(bodyOf.get(rowid));
  const rowOf = ([rowid, walkId, key, body]: Columns): StoredRow => ({
    rowid,
    walkId,
    key,
    body: () => body,
    asOf: asOf(),
  });
  return {
    find(key) {
      const found = find.get(key);
      return found && rowOf(found);
    },
    isFirstOf(text, rowid) {
      const bytes = bytesOf.get(rowid);
      return bytes !== undefined && text.subarray(0, bytes.length).equals(bytes);
    },
    run(from, count, text) {
      // Compared where they are: each blob of so many bytes would hasten V8's next look at its whole heap.
      const [rowids, walkIds, keys, bytes, isSame] = run.get(text, from, from, count) as RunColumns;
      if (bytes === null || !isSame) return undefined;
      const walks = JSON.parse(walkIds) as number[];
      const names = JSON.parse(keys) as string[];
      const now = asOf();
      const rows = (JSON.parse(rowids) as number[]).map(
        (rowid, at) => new RowOfRun(rowid, walks[at] as number, names[at] as string, now, readBody),
      );
      return { rows, bytes };
    },
    after: ({ rowid }, count) => after.all(rowid, count).map(rowOf),
  };
}

/** A class, since there are many: the body, which hardly anybody asks for, takes no function a row. */
class RowOfRun implements StoredRow {
  readonly rowid: number;
  readonly walkId: number;
  readonly key: string;
  readonly asOf: number;
  readonly #read: (rowid: number) => string;

  constructor(rowid: number, walkId: number, key: string, asOf: number, read: (rowid: number) => string) {
    this.rowid = rowid;
    this.walkId = walkId;
    this.key = key;
    this.asOf = asOf;
    this.#read = read;
  }

  body(): string {
    return this.#read(this.rowid);
  }
}
