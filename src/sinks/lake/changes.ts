/** What changed in a dataset, as rows: each with its values from then on, or, where it went, with its last ones. */

import { isoTime } from '../../clock.ts';
import type { ListedJob } from '../../job-list.ts';
import { type ChangeSource, type Connection, changeSources, seqOf } from '../../store/read.ts';
import { changedAfter } from '../changed.ts';
import { standingOf } from '../standing.ts';
import { type LakeColumn, listed } from './columns.ts';

/** Changes with a greater number than `from`, up to `to`; see the view `changes`. */
export type Range = { from: number; to: number };

/** So many changes go into a file, at most, unless a single commit has made more. */
const MOST_ROWS = 250_000;

/** SQL for the changes of a range, in their order: `_change` and `_seq`, then the columns. */
export function changesSql(
  connection: Connection,
  job: ListedJob,
  columns: readonly LakeColumn[],
  range: Range,
): string {
  const selects = changedIn(connection, job, range).map(({ change, at, from }) => {
    const list = listed(columns, isNow(at) ? 'from' : 'fromHistory');
    return `SELECT ${change} AS _change, ${seqOf(at)} AS _seq, ${list} FROM ${from}`;
  });
  return `${selects.join('\nUNION ALL\n')}\nORDER BY _seq, _key, _change`;
}

/** Where a dataset has changed after `from`, cut at days (UTC) and at many rows, always between two commits. */
export function* rangesOf(connection: Connection, job: ListedJob, whole: Range): Generator<Range> {
  const seqs = changedIn(connection, job, whole)
    .map(({ at, from }) => `SELECT ${seqOf(at)} AS seq FROM ${from}`)
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
export function firstSeq(connection: Connection, job: ListedJob): number | undefined {
  const firsts = changeSources(job).map(({ at, source }) =>
    connection
      .prepare<[], number | null>(`SELECT min(${seqOf(at)}) FROM ${source}`)
      .pluck()
      .get(),
  );
  const known = firsts.filter((seq) => typeof seq === 'number');
  return known.length > 0 ? Math.min(...known) : undefined;
}

export const dayOf = (seq: number) => isoTime(seq).slice(0, 10);

type Changed = Pick<ChangeSource, 'change' | 'at'> & { from: string };

const isNow = (at: ChangeSource['at']) => at === '_changed_at';

/** The rows and versions that began or ended in a range. */
function changedIn(connection: Connection, job: ListedJob, { from, to }: Range): Changed[] {
  // Rows whose earlier versions were forgotten are found only by looking at all.
  const isForgotten = isoTime(from) < standingOf(connection, job).historyFrom;
  const changed = isForgotten ? { rows: 'true', versions: 'true' } : changedAfter(connection, job, from);
  return changeSources({ ...job, history: job.versions }).map(({ change, at, source, where }) => ({
    ...{ change, at },
    from: `${source} WHERE ${isNow(at) ? changed.rows : changed.versions}
  AND ${at} > '${isoTime(from)}' AND ${at} <= '${isoTime(to)}' AND ${where ?? 'true'}`,
  }));
}
