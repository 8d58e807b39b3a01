/** The door of the store, the only folder that writes to the mirror. */

import { chmodSync, mkdirSync } from 'node:fs';
import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Call } from './api/response.ts';
import { ageOf, isoTime } from './clock.ts';
import type { Failure } from './errors.ts';
import type { Job } from './job.ts';
import {
  callRecorder,
  type GovernorState,
  openGovernorState,
  silenceReader,
  type Unanswered,
} from './store/calls.ts';
import { type Changes, openChanges } from './store/changes.ts';
import { emptyLog, emptyLogAtOnce, logBytes } from './store/commits.ts';
import { type Connection, openConnection } from './store/connection.ts';
import { guarded, guardedAll, isBusy, storeFailure } from './store/failure.ts';
import { ensureColumns } from './store/fields.ts';
import type { Committed } from './store/group-commit.ts';
import { ensureIdentity, hasMirror, mirrorFile, nameOf, watchFiles } from './store/identity.ts';
import { createTables } from './store/migrate.ts';
import { type Keep, prune } from './store/prune.ts';
import { type QuarantinedRow, type Retried, retryQuarantine } from './store/retry-quarantine.ts';
import { datasets, type WalkRow } from './store/schema.ts';
import { openSession, type WalkSession } from './store/session.ts';
import { PROOF } from './store/sql.ts';
import { refuseUnfit } from './store/version.ts';
import { ensureShown, ensureTriggers, ensureViews } from './store/views.ts';
import { lastWalk } from './store/walks.ts';
import type { CheckedRows, DiscoveredShape } from './validate/checked.ts';

export type { Change } from './store/changes.ts';
export { guarded } from './store/failure.ts';
export type { Counts } from './store/group-commit.ts';
export { isLock, type Lock, tryLock } from './store/lock.ts';
export { upgradeStore } from './store/migrate.ts';
export type { Keep } from './store/prune.ts';
export type { QuarantinedRow, Retried } from './store/retry-quarantine.ts';
export type { WalkRow } from './store/schema.ts';
export type { Before, Ending, WalkSession } from './store/session.ts';

export type Store = {
  file: string;
  /** The mirror's name, which stays wherever its folder moves. */
  name: string;
  /** What became of the file that was opened, where the mirror's path no longer leads to it. */
  lost(): Failure | undefined;
  governor: GovernorState;
  /**
   * Goes on with the job's unfinished walk or glance or begins one; this process alone takes it until it is released.
   * @param committed told of each commit of its pages.
   */
  openWalk(job: Job, kind?: WalkRow['kind'], committed?: Committed): WalkSession;
  /** Looks at the job's refused rows again: those that `check` finds to fit now are mirrored. */
  retryQuarantine(job: Job, check: (row: QuarantinedRow) => CheckedRows): Retried;
  /**
   * Forgets calls and the job's versions that are older than they are to be kept, or the oldest of them. What another
   * process keeps it from waits for the next walk.
   * @param added how many calls and versions a walk has just added: the more it did, the more may go.
   */
  prune(job: Job, keep: Keep, added?: number): Promise<void>;
  changes: Changes;
  /** Keeps the record of a call that brought no page. */
  recordCall(call: Call): void;
  /** The latest call of all, where it got no answer; null where the API answered it. */
  silence(): Unanswered | null;
  shape(job: string): DiscoveredShape | undefined;
  keepShape(job: string, shape: DiscoveredShape): void;
  /**
   * When the walk that last proved the dataset complete began, in epoch milliseconds; null where there was none, or
   * where the clock was ahead then.
   */
  completeAsOf(job: string): number | null;
  /** The same of the last walk that has finished, proof or not; null also where the last is unfinished. */
  lastRun(job: string): number | null;
  /** When the last look at its head began, walk or glance, complete or not; null also where a glance is unfinished. */
  lastLook(job: string): number | null;
  /** Whether the clock was ahead when the job's last walk began: nobody can tell how old its data is. */
  wasAhead(job: string): boolean;
  /** Notes when a dataset is due next, in epoch milliseconds, for `freshness`; not while another process is writing. */
  keepNextDue(job: string, at: number | null): void;
  /** Empties the write-ahead log as far as nobody else is at work; keeps nobody waiting. */
  emptyLog(): Promise<void>;
  /** What it takes on the disk. */
  logBytes(): number;
  close(): void;
};

/**
 * Opens the mirror in `dir` for writing, and begins one where there never was any.
 * @param lockWaitMs how long to wait for another process that is writing.
 * @throws Failure `config` for a database newer than this code, `incomplete` for an older one that nobody has upgraded,
 * `disk` for one that is gone or cannot be used.
 */
export function openStore(dir: string, jobs: readonly Job[], now: () => number, lockWaitMs?: number): Store {
  const file = mirrorFile(dir);
  guarded(file, () => mkdirSync(dir, { recursive: true, mode: 0o700 }));
  if (hasMirror(dir)) refuseUnfit(file);
  const connection = openConnection(file, lockWaitMs);
  try {
    const lost = watchFiles(file);
    chmodSync(file, 0o600);
    createTables(connection);
    followDeclarations(connection, jobs);
    ensureIdentity(connection, dir);
    refuseLost(lost);
    return createStore(connection, dir, now, lost);
  } catch (thrown) {
    connection.close();
    throw storeFailure(thrown, file);
  }
}

function followDeclarations(connection: Connection, jobs: readonly Job[]): void {
  connection
    .transaction(() => {
      for (const job of jobs) {
        if (!job.contract) ensureColumns(connection, job);
        ensureShown(connection, job);
        ensureTriggers(connection, job);
      }
      ensureViews(connection, jobs);
    })
    .immediate();
}

function refuseLost(lost: Store['lost']): void {
  const loss = lost();
  if (loss) throw loss;
}

function createStore(connection: Connection, dir: string, now: () => number, lost: Store['lost']): Store {
  const db = drizzle(connection);
  const file = connection.name;
  const governor = openGovernorState(connection, now);
  const lastProof = connection
    .prepare<[string], string>(
      `SELECT started_at FROM walks WHERE job = ? AND ${PROOF} ORDER BY id DESC LIMIT 1`,
    )
    .pluck();
  const lastLook = connection.prepare<[string], Pick<WalkRow, 'startedAt' | 'finishedAt'>>(
    `SELECT started_at AS startedAt, finished_at AS finishedAt FROM walks
     WHERE job = ? AND (kind = 'glance' OR finished_at IS NOT NULL) ORDER BY id DESC LIMIT 1`,
  );
  const past = (time: string | undefined) => {
    const at = time === undefined ? null : Date.parse(time);
    return at === null || ageOf(at, now()) === null ? null : at;
  };
  const keep = (job: string, values: Partial<typeof datasets.$inferInsert>) =>
    void db
      .insert(datasets)
      .values({ job, ...values })
      .onConflictDoUpdate({ target: datasets.job, set: values })
      .run();
  const check = () => refuseLost(lost);
  /** For what may wait: the walk that it follows has ended well. */
  const unlessBusy = (thrown: unknown) => {
    if (!isBusy(thrown)) throw storeFailure(thrown, file);
  };
  const guardedParts = guardedAll(file, {
    openWalk(job: Job, kind: WalkRow['kind'] = 'walk', committed: Committed = () => undefined) {
      check();
      return openSession(connection, dir, job, kind, now, check, committed);
    },
    retryQuarantine(job: Job, recheck: (row: QuarantinedRow) => CheckedRows) {
      check();
      const retried = retryQuarantine(connection, dir, job, recheck, now);
      check();
      return retried;
    },
    recordCall: callRecorder(connection),
    silence: silenceReader(connection),
    logBytes: () => logBytes(file),
    shape(job: string) {
      const found = db.select().from(datasets).where(eq(datasets.job, job)).get();
      if (!found?.chosenAt) return undefined;
      const { rowsPath, keyField, sharedKeys } = found;
      return { rowsPath: rowsPath ?? [], keyField, sharedKeys: sharedKeys ?? [] };
    },
    keepShape: (job: string, shape: DiscoveredShape) => keep(job, { ...shape, chosenAt: isoTime(now()) }),
    completeAsOf(job: string) {
      return past(lastProof.get(job));
    },
    lastRun(job: string) {
      const last = lastWalk(connection, job);
      return past(last?.finishedAt ? last.startedAt : undefined);
    },
    lastLook(job: string) {
      const { startedAt, finishedAt } = lastLook.get(job) ?? {};
      return past(finishedAt ? startedAt : undefined);
    },
    wasAhead(job: string) {
      const last = lastWalk(connection, job);
      return last !== undefined && past(last.startedAt) === null;
    },
  });
  return {
    file,
    name: nameOf(dir),
    lost,
    governor,
    ...guardedParts,
    async emptyLog() {
      try {
        await emptyLog(connection);
      } catch (thrown) {
        throw storeFailure(thrown, file);
      }
    },
    changes: guardedAll(file, openChanges(connection)),
    async prune(job, keep, added = 0) {
      await prune(connection, job, keep, now(), added).catch(unlessBusy);
    },
    keepNextDue(job, at) {
      try {
        keep(job, { nextDueAt: at === null ? null : isoTime(at) });
      } catch (thrown) {
        unlessBusy(thrown);
      }
    },
    close() {
      try {
        // SQLite does it by itself where nobody else has the mirror open.
        if (connection.open) emptyLogAtOnce(connection);
      } catch {
        // Whoever opens the mirror next finds in the log what could not be copied.
      }
      connection.close();
    },
  };
}
