/** How far the Postgres that the daemon ships to is behind the mirror. */

import type { Connection } from '../../store/read.ts';
import type { ServeTrouble } from './service.ts';

/** What the daemon leaves beside its lock. */
export type ShipNote = {
  /** The latest change that has arrived, by job. */
  seqs: Readonly<Record<string, number>>;
  /** What keeps it from going on. */
  trouble: ServeTrouble | null;
};

export type ShipStatus = {
  /** Changes that have not arrived, as far as the walks that made them tell. */
  changes: number;
  /** How old the oldest of them is; 0 where there is none. */
  seconds: number;
  trouble: ServeTrouble | null;
};

/** @param now epoch milliseconds. */
export function lagOf(connection: Connection, { seqs, trouble }: ShipNote, now: number): ShipStatus {
  const missing = connection.prepare<
    [number, string, number],
    { changes: number | null; first: number | null }
  >(
    `SELECT sum(inserted + updated + deleted) AS changes, min(max(first_seq, ? + 1)) AS first
     FROM walks WHERE +job = ? AND last_seq > ?`,
  );
  const jobs = connection.prepare<[], string>('SELECT job FROM datasets WHERE last_seq IS NOT NULL').pluck();
  const all = jobs.all().map((job) => missing.get(seqs[job] ?? 0, job, seqs[job] ?? 0));
  const changes = all.reduce((sum, lag) => sum + (lag?.changes ?? 0), 0);
  const firsts = all.flatMap((lag) => lag?.first ?? []);
  return {
    changes,
    seconds: firsts.length > 0 ? Math.max(0, now - Math.min(...firsts)) / 1_000 : 0,
    trouble,
  };
}
