/** What all sinks share: how far a dataset has come, what changed after a position, and one dataset after the other. */

import { isoTime } from '../clock.ts';
import { Failure, type FailureSent } from '../errors.ts';
import type { ListedJob } from '../job-list.ts';
import { number } from '../output/numbers.ts';
import type { Arrival, FollowResponse } from '../sinks.ts';
import {
  type Connection,
  changeSources,
  type Identity,
  identityOf,
  mirrorFile,
  openMirror,
  quoted,
  readMirror,
  storeFailure,
} from '../store/read.ts';

/** SQL for the WHERE of a table: of the rows as queries name them, and of the history. */
export type Changed = { rows: string; versions: string };

/**
 * Which rows and versions of a dataset came, changed or ended after some change. Rows get their numbers as they come, and
 * versions as they end: so the latest are found from the end, without an index, which every change would pay for.
 * @param seq see the view `changes`.
 */
export function changedAfter(connection: Connection, job: ListedJob, seq: number): Changed {
  const at = isoTime(seq);
  /** The last number by then. All rows after it have come or changed since; rows before it that have changed left a version. */
  const lastBy = (table: string, column: string) =>
    connection
      .prepare<[string], number>(
        `SELECT number FROM ${quoted(table)} WHERE ${quoted(column)} <= ? ORDER BY number DESC LIMIT 1`,
      )
      .pluck()
      .get(at) ?? 0;
  const { rows: stored, versions: ended } = job;
  const came = `SELECT _key FROM ${quoted(stored)} WHERE number > ${lastBy(stored, '_changed_at')}`;
  if (ended === null) return { rows: `_key IN (${came})`, versions: 'false' };
  const versions = `number > ${lastBy(ended, '_valid_to')}`;
  const changed = `SELECT _key FROM ${quoted(ended)} WHERE ${versions} AND _ended_by = 'update'`;
  return { rows: `_key IN (${came} UNION ${changed})`, versions };
}

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

/** How the rows of a sink differ from those of the mirror. */
export type RowDifference = {
  /** Rows of the mirror that are not there, rows that the mirror has not, and rows with other values. */
  missing: number;
  extra: number;
  changed: number;
  /** Of some of them. */
  keys: readonly string[];
};

export const isDifferent = ({ missing, extra, changed }: RowDifference) => missing + extra + changed > 0;

/** Such as `2 missing, 1 with other values: sig_1, sig_2`. */
export function differenceWords({ missing, extra, changed, keys }: RowDifference): string {
  const counts = [
    [missing, 'missing'],
    [extra, 'too many'],
    [changed, 'with other values'],
  ] as const;
  const words = counts.filter(([rows]) => rows > 0).map(([rows, what]) => `${number(rows)} ${what}`);
  return words.join(', ') + (keys.length > 0 ? `: ${listedKeys(keys)}` : '');
}

/** Of a key. */
const SHOWN_CHARACTERS = 100;

export const listedKeys = (keys: readonly string[]) =>
  keys
    .map((key) => (key.length > SHOWN_CHARACTERS ? `${key.slice(0, SHOWN_CHARACTERS).toWellFormed()}…` : key))
    .join(', ');

/** How far a dataset has come in the mirror. */
export type MirrorPosition = {
  /** Of its latest change; 0 where there was none. */
  seq: number;
  /** What its volatile columns are as of, and which of its rows are held. */
  volatile: string;
  /** The first walk that may change yet. */
  walksFrom: number;
  /** Up to which time its history was forgotten; empty where it was not. */
  historyFrom: string;
  /** Whether the changes after `seq` are all there: it is a change of this mirror (not of one since restored), and no later one was forgotten. */
  knows(seq: number | null): boolean;
};

export function positionOf(connection: Connection, job: ListedJob): MirrorPosition {
  const known = connection
    .prepare<
      [string],
      { seq: number | null; historyFrom: string | null; volatileSeq: number; keysSeq: number | null }
    >(
      `SELECT last_seq AS seq, history_from AS historyFrom, volatile_seq AS volatileSeq, keys_seq AS keysSeq FROM _datasets WHERE job = ?`,
    )
    .get(job.name);
  const valueIn = (sql: string) => connection.prepare<[string], number | null>(sql).pluck().get(job.name);
  const seq = known?.seq ?? 0;
  const historyFrom = known?.historyFrom ?? '';
  return {
    seq,
    historyFrom,
    volatile: String(known?.volatileSeq ?? 0),
    walksFrom:
      valueIn('SELECT min(id) FROM walks WHERE job = ? AND finished_at IS NULL') ??
      (valueIn('SELECT max(id) FROM walks WHERE job = ?') ?? 0) + 1,
    knows(change) {
      // Rows have other keys since then.
      if (change === null || change > seq || change < (known?.keysSeq ?? 0)) return false;
      if (change === seq || change === 0) return true;
      const isKept = job.history === null || isoTime(change) >= historyFrom;
      return isKept && isChange(connection, job, change);
    },
  };
}

/** Whether the mirror has a change of that number: mostly the last one of a walk, else one with which a row or version began or ended. */
export function isChange(connection: Connection, job: ListedJob, seq: number): boolean {
  const ofWalk = connection
    .prepare('SELECT 1 FROM walks WHERE last_seq = ? AND job = ? LIMIT 1')
    .get(seq, job.name);
  if (ofWalk) return true;
  return changeSources(job).some(({ at: column, source }) =>
    connection.prepare(`SELECT 1 FROM ${source} WHERE ${column} = ? LIMIT 1`).get(isoTime(seq)),
  );
}

/**
 * Id and beginning of the latest walk of a job. With `known`, an earlier result: of the walk with that id. A result other than `known`
 * means that a restore has replaced the walk, or that the mirror has removed it. Empty where there is no such walk.
 */
export function lastWalkOf(connection: Connection, job: string, known?: string): string {
  const [id] = known?.split(' ') ?? [];
  const one = id ? 'AND id = ?' : 'ORDER BY id DESC LIMIT 1';
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
