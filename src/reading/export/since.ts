/** What became of a dataset since some time: each row at most once, as it stands now or as it last stood. */

import { Failure } from '../../errors.ts';
import { quoted, readMirror, seqOf } from '../../store/read.ts';
import { columnsOf } from '../query/as-of.ts';
import { latestSeq } from '../query/sources.ts';

/**
 * SQL over a mirrored table for the rows that came (`_change` is `insert`), changed (`update`) or went (`delete`, with
 * their last values) after `since`, with the number of that change in `_seq`. What came and went again meanwhile
 * is not told.
 * @param since ISO 8601 UTC with milliseconds.
 * @throws Failure `usage` where there is no such table, or no change can have come by then.
 */
export function changedSince(dir: string, table: string, since: string, now: number): string {
  return readMirror(dir, (connection) => {
    const columns = columnsOf(connection, table);
    if (columns.length === 0) throw new Failure('usage', `there is no table ${table} in the mirror`);
    // Where the clock was put back, the latest change is ahead of it.
    if (Date.parse(since) > Math.max(now, latestSeq(connection, null)))
      throw new Failure('usage', `--since: no change has the number ${Date.parse(since)} yet`);
    const kept = columnsOf(connection, `${table}_history`);
    const past = columns.map((name) => (kept.includes(name) ? quoted(name) : 'NULL'));
    return compose(table, columns.map(quoted), kept.length > 0 ? past : undefined, `'${since}'`);
  });
}

/** @param columnsPast what the history shows of each column; undefined where there is no history. */
function compose(
  table: string,
  columns: readonly string[],
  columnsPast: readonly string[] | undefined,
  since: string,
): string {
  const now = quoted(table);
  const past = quoted(`${table}_history`);
  if (!columnsPast)
    return `SELECT 'insert' AS _change, ${seqOf('_changed_at')} AS _seq, ${columns}
FROM ${now} WHERE _changed_at > ${since} ORDER BY _seq, _key`;
  const stoodThen = (row: string) =>
    `EXISTS (SELECT 1 FROM ${past} AS before WHERE before._key = ${row}._key
    AND before._valid_from <= ${since} AND before._valid_to > ${since})`;
  return `SELECT CASE WHEN ${stoodThen('row')} THEN 'update' ELSE 'insert' END AS _change,
  ${seqOf('_changed_at')} AS _seq, ${columns}
FROM ${now} AS row WHERE _changed_at > ${since}
UNION ALL
SELECT 'delete', ${seqOf('_valid_to')}, ${columnsPast}
FROM ${past} AS row WHERE _ended_by = 'delete' AND _valid_to > ${since} AND ${stoodThen('row')}
  AND NOT EXISTS (SELECT 1 FROM ${now} AS again WHERE again._key = row._key)
  AND NOT EXISTS (SELECT 1 FROM ${past} AS later WHERE later._key = row._key AND later._valid_to > row._valid_to)
ORDER BY _seq, _key`;
}
