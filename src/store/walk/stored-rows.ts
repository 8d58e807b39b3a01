/** The rows of a dataset that is kept as received, as the table holds them: a page is held against their text. */

import { type Job, rowsOf } from '../../job.ts';
import type { Row, RowRef, StoredRun } from '../../validate/checked.ts';
import type { Connection } from '../connection.ts';
import { quoted } from '../sql.ts';

/**
 * At most `count` rows from this rowid on, or from the one behind it, where their bodies, joined by commas, are what `text`
 * begins with, in UTF-8: pages that are joined by a row begin with the last one of the page before.
 */
export type FindRun = (last: number, count: number, text: Buffer) => StoredRun | undefined;

type RunColumns = [
  rowids: string,
  walkIds: string,
  keys: string,
  bytes: number | null,
  isSame: number | null,
];

/** SQLite gives no row this number by itself. */
const BEYOND = '9223372036854775807';

/** @param tableState a number for the state that the table is in. */
export function openStoredRows(connection: Connection, job: Job, tableState: () => number): FindRun {
  const table = quoted(rowsOf(job));
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
  const beginsWith = (text: Buffer, rowid: number) => {
    const bytes = bytesOf.get(rowid);
    return bytes !== undefined && text.subarray(0, bytes.length).equals(bytes);
  };

  return (last, count, text) => {
    const from = [last, last + 1].find((rowid) => beginsWith(text, rowid));
    if (from === undefined) return undefined;
    // Compared where they are: each blob of so many bytes would hasten V8's next look at its whole heap.
    const [rowids, walkIds, keys, bytes, isSame] = run.get(text, from, from, count) as RunColumns;
    if (bytes === null || !isSame) return undefined;
    const walks = JSON.parse(walkIds) as number[];
    const names = JSON.parse(keys) as string[];
    const state = tableState();
    const rows = (JSON.parse(rowids) as number[]).map((rowid, at) => {
      const stored = { rowid, walkId: walks[at] as number, tableState: state };
      return new RowOfRun(names[at] as string, stored, readBody);
    });
    return { rows, bytes };
  };
}

/** A class, since there are many, and hardly anybody asks for their values. */
class RowOfRun implements Row {
  readonly key: string;
  readonly stored: RowRef & { tableState: number };
  readonly #read: (rowid: number) => string;

  constructor(key: string, stored: RowOfRun['stored'], read: (rowid: number) => string) {
    this.key = key;
    this.stored = stored;
    this.#read = read;
  }

  get values() {
    return { _body: this.#read(this.stored.rowid) };
  }
}
