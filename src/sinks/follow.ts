/** What all sinks share: how far a dataset has come, what changed after a position, and one dataset after the other. */

import { Failure, type FailureSent } from '../base/errors.ts';
import type { ListedJob } from '../job/list.ts';
import { positionOf as datasetPosition, gapAfter, isChange } from '../reading/changes.ts';
import type { Arrival, FollowResponse } from '../sinks.ts';
import {
  type Connection,
  type Identity,
  identityOf,
  mirrorFile,
  openMirror,
  readMirror,
  storeFailure,
} from '../store/read.ts';

/** What became of one dataset. */
export type Outcome<Done> = { job: string } & (
  | { done: Done; failure: null }
  | { done: null; failure: FailureSent['failed'] }
);

type DatasetsParts = {
  dir: string;
  /** All that there are. */
  jobs: readonly ListedJob[];
  /** Those of them that are meant; all unless given. */
  only?: readonly string[] | undefined;
  signal: AbortSignal;
};

/** A connection stays open while its dataset is loaded: with this limit it locks no writer out, not even on a full disk. */
const LOCK_WAIT_MS = 5_000;

/**
 * Loads or checks datasets one after the other: what fails with one, the mirror's disk too, leaves the others to go on.
 * @param work gets a connection of its own to the mirror.
 * @throws Failure `incomplete` once `signal` is aborted, and errors that are no Failure.
 */
export async function eachDataset<Done>(
  { dir, jobs, only, signal }: DatasetsParts,
  work: (job: ListedJob, connection: Connection) => Promise<Done>,
): Promise<Outcome<Done>[]> {
  const outcomes: Outcome<Done>[] = [];
  for (const job of jobs.filter(({ name }) => !only || only.includes(name))) {
    if (signal.aborted) throw new Failure('incomplete', 'stopped');
    let connection: Connection | undefined;
    try {
      connection = openMirror(dir, LOCK_WAIT_MS);
      outcomes.push({ job: job.name, done: await work(job, connection), failure: null });
    } catch (thrown) {
      const failure = storeFailure(thrown, mirrorFile(dir));
      if (!(failure instanceof Failure)) throw thrown;
      const { kind, message } = failure;
      outcomes.push({ job: job.name, done: null, failure: { kind, message } });
    } finally {
      connection?.close();
    }
  }
  return outcomes;
}

/** Whose copy it is. @throws Failure `incomplete` where the mirror cannot say it yet, and as `readMirror` does. */
export function readIdentity(dir: string): Identity {
  return readMirror(dir, (connection) => {
    const identity = identityOf(connection);
    if (identity) return identity;
    throw new Failure(
      'incomplete',
      `${connection.name} has no name yet: the next sync or start gives it one`,
    );
  });
}

/** How far a dataset has come in the mirror. */
export type MirrorPosition = {
  /** Of its latest change; 0 where there was none. */
  seq: number;
  /** What its volatile columns are as of, and which of its rows are held. */
  volatile: string;
  /** The first walk that may change yet: of the latest one that has ended, calls without a page are counted last. */
  walksFrom: number;
  /** Up to which time its history was forgotten; empty where it was not. */
  historyFrom: string;
  /** Whether the changes after `seq` are all there, and it is a change of this mirror. */
  knows(seq: number | null): boolean;
};

export function positionOf(connection: Connection, job: ListedJob): MirrorPosition {
  const { seq, unversioned, historyFrom } = datasetPosition(connection, job);
  const valueIn = (sql: string) => connection.prepare<[string], number | null>(sql).pluck().get(job.name);
  return {
    ...{ seq, historyFrom },
    volatile: String(unversioned),
    walksFrom:
      valueIn('SELECT min(id) FROM walks WHERE job = ? AND finished_at IS NULL') ??
      valueIn('SELECT max(id) FROM walks WHERE job = ?') ??
      0,
    knows(change) {
      if (change === null || change > seq || gapAfter(connection, job, change)) return false;
      return change === seq || change === 0 || isChange(connection, job, change);
    },
  };
}

/**
 * Id and beginning of the latest walk of a job that has ended: one that waits for its first page begins with that. With `known`, an earlier
 * result: of the walk with that id. A result other than `known` means that a restore has replaced the walk, or that the mirror has removed
 * it. Empty where there is no such walk.
 */
export function lastWalkOf(connection: Connection, job: string, known?: string): string {
  if (known === '') return '';
  const [id] = known?.split(' ') ?? [];
  const one = id ? 'AND id = ?' : 'AND finished_at IS NOT NULL ORDER BY id DESC LIMIT 1';
  const found = connection
    .prepare<(string | number)[], string>(`SELECT id || ' ' || started_at FROM walks WHERE job = ? ${one}`)
    .pluck()
    .get(job, ...(id ? [Number(id)] : []));
  return found ?? '';
}

/** For a load on a thread. It needs no signal: the thread may end at any moment, and the sink then has a whole file or transaction, or none. */
export const neverAborted = new AbortController().signal;

/** The response of a sink's thread. @param arrived how far a dataset has come, by what was loaded. */
export function followResponse<Done>(
  outcomes: readonly Outcome<Done>[],
  arrived: (done: Done) => Pick<Arrival, 'to' | 'problems'>,
): FollowResponse {
  const arrivals = outcomes.map(({ job, done, failure }) => ({
    ...{ job, failure },
    ...(done ? arrived(done) : { to: null, problems: [] }),
  }));
  return { arrivals };
}
