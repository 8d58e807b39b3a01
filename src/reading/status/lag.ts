/** How far the sinks of the daemon, which follow the mirror, are behind it. */

import { type SinkName, sinkNames, sinks } from '../../sinks.ts';
import { type Connection, PROOF } from '../../store/read.ts';
import type { Trouble } from './read.ts';

/** What the daemon leaves of a sink beside its lock. */
export type SinkNote = {
  /** The latest change that has arrived, by job. */
  seqs: Readonly<Record<string, number>>;
  /** What keeps it from going on. */
  trouble: Trouble | null;
  /** How long it rests between two times, where it does. */
  everySeconds?: number;
};

/** How far a sink is behind. */
export type SinkStatus = {
  /** Changes that it could have and that have not arrived, as far as the walks that made them tell. */
  changes: number;
  /** How old the oldest of them is; 0 where there is none. */
  seconds: number;
  trouble: Trouble | null;
};

/** By sink; null where the daemon has none, or has not yet tried for the first time. */
export type SinkNotes = Record<SinkName, SinkNote | null>;
export type SinkStatuses = Record<SinkName, SinkStatus | null>;

export const noSinks = { ship: null, lake: null } as const satisfies SinkNotes;

/** @param now epoch milliseconds. */
export function lagsOf(connection: Connection, notes: SinkNotes | null, now: number): SinkStatuses {
  const lags: SinkStatuses = { ...noSinks };
  for (const name of sinkNames) {
    const note = notes?.[name];
    if (note) lags[name] = lagOf(connection, note, sinks[name].endsAtProofs, now);
  }
  return lags;
}

function lagOf(
  connection: Connection,
  { seqs, trouble }: SinkNote,
  endsAtProofs: boolean,
  now: number,
): SinkStatus {
  const until = endsAtProofs ? `AND id <= (SELECT max(id) FROM walks WHERE job = @job AND ${PROOF})` : '';
  const missing = connection.prepare<
    { job: string; seq: number },
    { changes: number | null; first: number | null }
  >(
    `SELECT sum(inserted + updated + deleted) AS changes, min(max(first_seq, @seq + 1)) AS first
     FROM walks WHERE +job = @job AND last_seq > @seq ${until}`,
  );
  const jobs = connection.prepare<[], string>('SELECT job FROM _datasets WHERE last_seq IS NOT NULL').pluck();
  const all = jobs.all().map((job) => missing.get({ job, seq: seqs[job] ?? 0 }));
  const changes = all.reduce((sum, lag) => sum + (lag?.changes ?? 0), 0);
  const firsts = all.flatMap((lag) => lag?.first ?? []);
  return {
    changes,
    seconds: firsts.length > 0 ? Math.max(0, now - Math.min(...firsts)) / 1_000 : 0,
    trouble,
  };
}
