/** How far a dataset has come in the mirror, and whether a place of old lies on its way. */

import { isoTime } from '../clock.ts';
import type { ListedJob } from '../job-list.ts';
import { type Connection, changeSources, PROOF } from '../store/read.ts';

export type Standing = {
  /** Of its latest change; 0 where there was none. */
  seq: number;
  /** What its volatile columns are as of, and which of its rows are held. */
  volatile: string;
  /** The first walk that may change yet. */
  walksFrom: number;
  /** Up to which time its history was forgotten; empty where it was not. */
  historyFrom: string;
  /**
   * Whether the changes after `seq` are all there: it is one of its own changes and no later one was forgotten. The course
   * of a mirror that was put back to an earlier state lacks it.
   */
  knows(seq: number | null): boolean;
};

type Dataset = { last_seq: number | null; history_from: string | null; volatile_seq?: number };

export function standingOf(connection: Connection, job: ListedJob): Standing {
  const dataset = connection.prepare<[string], Dataset>('SELECT * FROM datasets WHERE job = ?').get(job.name);
  const number = (sql: string) => connection.prepare<[string], number | null>(sql).pluck().get(job.name);
  const seq = Math.trunc(dataset?.last_seq ?? 0);
  const historyFrom = dataset?.history_from ?? '';
  return {
    seq,
    historyFrom,
    volatile: String(
      dataset?.volatile_seq ?? number(`SELECT max(id) FROM walks WHERE job = ? AND ${PROOF}`) ?? '',
    ),
    walksFrom:
      number('SELECT min(id) FROM walks WHERE job = ? AND finished_at IS NULL') ??
      (number('SELECT max(id) FROM walks WHERE job = ?') ?? 0) + 1,
    knows(place) {
      if (place === null || place > seq) return false;
      if (place === seq || place === 0) return true;
      const at = isoTime(place);
      return (job.history === null || at >= historyFrom) && isChange(connection, job, place, at);
    },
  };
}

/** Whether the mirror has a change of that number: mostly the last one of a walk, else one with which a row or version began or ended. */
export function isChange(connection: Connection, job: ListedJob, seq: number, at = isoTime(seq)): boolean {
  const ofWalk = connection
    .prepare('SELECT 1 FROM walks WHERE last_seq = ? AND job = ? LIMIT 1')
    .get(seq, job.name);
  if (ofWalk) return true;
  return changeSources(job).some(({ at: column, source }) =>
    connection.prepare(`SELECT 1 FROM ${source} WHERE ${column} = ? LIMIT 1`).get(at),
  );
}

/** Number and beginning of the latest walk, or of the one that `known` names: the same unless the mirror took another course. */
export function lastWalkOf(connection: Connection, job: string, known?: string): string {
  const [id] = known?.split(' ') ?? [];
  const one = id ? 'AND id = ?' : 'ORDER BY id DESC LIMIT 1';
  const found = connection
    .prepare<(string | number)[], string>(`SELECT id || ' ' || started_at FROM walks WHERE job = ? ${one}`)
    .pluck()
    .get(job, ...(id ? [Number(id)] : []));
  return found ?? '';
}
