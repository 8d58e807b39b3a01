/** What changed in a dataset, as rows: each with its values from then on, or, where it went, with its last ones. */

import { isoTime } from '../../clock.ts';
import type { FollowedJob } from '../../job-list.ts';
import { type Connection, quoted, seqOf } from '../../store/read.ts';
import { changedAfter } from '../changed.ts';
import { standingOf } from '../standing.ts';
import type { LakeColumn } from './columns.ts';

/** Changes with a greater number than `from`, up to `to`; see the view `changes`. */
export type Range = { from: number; to: number };

/** So many changes go into a file, at most, unless a single commit has made more. */
const MOST_ROWS = 250_000;

/** SQL for the changes of a range, in their order: `_change` and `_seq`, then the columns. */
export function changesSql(
  connection: Connection,
  job: FollowedJob,
  columns: readonly LakeColumn[],
  range: Range,
): string {
  const list = (side: 'from' | 'fromHistory') =>
    columns.map((column) => `${column[side]} AS ${quoted(column.name)}`).join(', ');
  const selects = sourcesOf(connection, job, range).map(
    ({ change, at, source, isPast }) =>
      `SELECT ${change} AS _change, ${seqOf(at)} AS _seq, ${list(isPast ? 'fromHistory' : 'from')} FROM ${source}`,
  );
  return `${selects.join('\nUNION ALL\n')}\nORDER BY _seq, _key, _change`;
}

/** Where a dataset has changed after `from`, cut at days (UTC) and at many rows, always between two commits. */
export function* rangesOf(connection: Connection, job: FollowedJob, whole: Range): Generator<Range> {
  const seqs = sourcesOf(connection, job, whole)
    .map(({ at, source }) => `SELECT ${seqOf(at)} AS seq FROM ${source}`)
    .join(' UNION ALL ');
  const commits = connection
    .prepare<[], { seq: number; rows: number }>(
      `SELECT seq, count(*) AS rows FROM (${seqs}) GROUP BY seq ORDER BY seq`,
    )
    .all();
  let { from } = whole;
  let [to, rows] = [from, 0];
  for (const commit of commits) {
    const isNext = rows > 0 && (rows + commit.rows > MOST_ROWS || dayOf(commit.seq) !== dayOf(to));
    if (isNext) {
      yield { from, to };
      [from, rows] = [to, 0];
    }
    to = commit.seq;
    rows += commit.rows;
  }
  if (rows > 0) yield { from, to };
}

/** The number of its first change that is known; undefined where there is none. */
export function firstSeq(connection: Connection, job: FollowedJob): number | undefined {
  const { history } = job;
  const first = (table: string, column: string) =>
    connection
      .prepare<[], number | null>(`SELECT min(${seqOf(column)}) FROM ${quoted(table)}`)
      .pluck()
      .get();
  const known = [
    first(job.table, '_changed_at'),
    ...(history === null ? [] : [first(history, '_valid_from')]),
  ].filter((seq) => typeof seq === 'number');
  return known.length > 0 ? Math.min(...known) : undefined;
}

export const dayOf = (seq: number) => isoTime(seq).slice(0, 10);

type Source = { change: string; at: string; source: string; isPast: boolean };

/** The rows and versions that began or ended in a range. */
function sourcesOf(connection: Connection, job: FollowedJob, { from, to }: Range): Source[] {
  const { table, history } = job;
  const within = (at: string) => `version.${at} > '${isoTime(from)}' AND version.${at} <= '${isoTime(to)}'`;
  // Rows whose earlier versions were forgotten are found only by looking at all.
  const isForgotten = isoTime(from) < standingOf(connection, job).historyFrom;
  const changed = isForgotten ? { rows: 'true', versions: 'true' } : changedAfter(connection, job, from);
  const now = `${quoted(table)} AS version WHERE ${within('_changed_at')} AND ${changed.rows}`;
  if (history === null)
    return [{ change: `'insert'`, at: 'version._changed_at', source: now, isPast: false }];
  const past = `${quoted(history)} AS version WHERE ${changed.versions} AND`;
  const begun = (at: string) =>
    `CASE WHEN EXISTS (SELECT 1 FROM ${quoted(history)} AS before WHERE before._key = version._key
  AND before._valid_to = version.${at} AND before._ended_by = 'update') THEN 'update' ELSE 'insert' END`;
  return [
    { change: begun('_changed_at'), at: 'version._changed_at', source: now, isPast: false },
    {
      change: begun('_valid_from'),
      at: 'version._valid_from',
      source: `${past} ${within('_valid_from')}`,
      isPast: true,
    },
    {
      change: `'delete'`,
      at: 'version._valid_to',
      source: `${past} ${within('_valid_to')} AND version._ended_by = 'delete'`,
      isPast: true,
    },
  ];
}
