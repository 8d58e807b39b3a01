/** How far the targets of the daemon, which follow the mirror, are behind it. */

import { type Connection, PROOF } from '../../store/read.ts';
import { type TargetName, targetNames, targets } from '../../targets.ts';
import type { Trouble } from './service.ts';

/** What the daemon leaves of a target beside its lock. */
export type TargetNote = {
  /** The latest change that has arrived, by job. */
  seqs: Readonly<Record<string, number>>;
  /** What keeps it from going on. */
  trouble: Trouble | null;
  /** How long it rests between two times, where it does. */
  everySeconds?: number;
};

/** How far a target is behind. */
export type TargetStatus = {
  /** Changes that it could have and that have not arrived, as far as the walks that made them tell. */
  changes: number;
  /** How old the oldest of them is; 0 where there is none. */
  seconds: number;
  trouble: Trouble | null;
};

/** By target; null where the daemon has none, or has not yet tried for the first time. */
export type TargetNotes = Record<TargetName, TargetNote | null>;
export type TargetStatuses = Record<TargetName, TargetStatus | null>;

export const noTargets = { ship: null, lake: null } as const satisfies TargetNotes;

/** @param now epoch milliseconds. */
export function lagsOf(connection: Connection, notes: TargetNotes | null, now: number): TargetStatuses {
  const lags: TargetStatuses = { ...noTargets };
  for (const name of targetNames) {
    const note = notes?.[name];
    if (note) lags[name] = lagOf(connection, note, targets[name].endsAtProofs, now);
  }
  return lags;
}

function lagOf(
  connection: Connection,
  { seqs, trouble }: TargetNote,
  endsAtProofs: boolean,
  now: number,
): TargetStatus {
  const until = endsAtProofs ? `AND id <= (SELECT max(id) FROM walks WHERE job = @job AND ${PROOF})` : '';
  const missing = connection.prepare<
    { job: string; seq: number },
    { changes: number | null; first: number | null }
  >(
    `SELECT sum(inserted + updated + deleted) AS changes, min(max(first_seq, @seq + 1)) AS first
     FROM walks WHERE +job = @job AND last_seq > @seq ${until}`,
  );
  const jobs = connection.prepare<[], string>('SELECT job FROM datasets WHERE last_seq IS NOT NULL').pluck();
  const all = jobs.all().map((job) => missing.get({ job, seq: seqs[job] ?? 0 }));
  const changes = all.reduce((sum, lag) => sum + (lag?.changes ?? 0), 0);
  const firsts = all.flatMap((lag) => lag?.first ?? []);
  return {
    changes,
    seconds: firsts.length > 0 ? Math.max(0, now - Math.min(...firsts)) / 1_000 : 0,
    trouble,
  };
}
