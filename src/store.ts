/** The door of the store, the only folder that writes to the mirror. */

import { chmodSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';
import { ageOf, isoTime } from './base/clock.ts';
import { makeFolder } from './base/disk.ts';
import { Failure } from './base/errors.ts';
import type { Job } from './job.ts';
import { copyDatabase, holdFolder, sealCopy } from './store/backup.ts';
import { callRecorder, openGovernorState, silenceReader } from './store/calls.ts';
import { type Connection, emptyLog, logBytes, openConnection } from './store/connection.ts';
import { guarded, guardedAll, isBusy, storeFailure } from './store/failure.ts';
import { ensureColumns } from './store/fields.ts';
import {
  ensureIdentity,
  hasMirror,
  identityOf,
  journalFile,
  mirrorFile,
  nameOf,
  outdated,
  versionOf,
  watchFiles,
} from './store/identity.ts';
import { ensureKeys } from './store/keys.ts';
import { describeHolder, isLock, type Lock, lockJob, tryLock } from './store/lock.ts';
import { type Keep, prune } from './store/prune.ts';
import { type QuarantinedRow, type Retried, retryQuarantine } from './store/quarantine.ts';
import { openReportState } from './store/reports.ts';
import { ensureNumbers } from './store/rows.ts';
import type { WalkRow } from './store/schema.ts';
import { createSequence } from './store/sequence.ts';
import { openSession, readMemory, type WalkSession } from './store/session.ts';
import { agesOf, keepFindings, readFindings } from './store/shapes.ts';
import { PROOF } from './store/sql.ts';
import { ensureShown, ensureTriggers, ensureViews } from './store/views.ts';
import { discardUnfinished, lastWalk } from './store/walks.ts';
import type { CheckedRows, DiscoveredShape } from './validate/checked.ts';
import { type Hints, unknownShape } from './validate.ts';

export { guarded } from './store/failure.ts';
export { describeHolder, isLock, type Lock, syncLock, tryLock } from './store/lock.ts';
export type { Keep } from './store/prune.ts';
export type { QuarantinedRow, Retried } from './store/quarantine.ts';
export type { FinishedRun, ReportState } from './store/reports.ts';
export type { ReportMessage, ReportRow, WalkRow } from './store/schema.ts';
export { type ArrivedPage, FULL_WALK_EVERY_MS, type WalkSession } from './store/session.ts';
export type { Counts } from './store/take-rows.ts';

export type Store = ReturnType<typeof createStore>;

/**
 * Opens the mirror in `dir` for writing; migrates an older one first, after a checked copy of it.
 * @throws Failure as `openStore` does, and `incomplete` where an older one is at work.
 */
export async function openUpgradedStore(
  dir: string,
  jobs: readonly Job[],
  now: () => number,
): Promise<Store> {
  const connection = openFile(dir);
  if (!closeOnError(connection, () => isOlder(connection))) return storeOn(connection, dir, jobs, now);
  await upgrade(connection, jobs);
  return openStore(dir, jobs, now);
}

/**
 * Opens the mirror in `dir` for writing, and begins one where there never was any.
 * @param lockWaitMs how long to wait for another process that is writing.
 * @throws Failure `config` for a database newer than this code, `incomplete` for an older one that nobody has upgraded,
 * `disk` for one that is gone or cannot be used.
 */
export function openStore(dir: string, jobs: readonly Job[], now: () => number, lockWaitMs?: number): Store {
  const connection = openFile(dir, lockWaitMs);
  closeOnError(connection, () => {
    if (isOlder(connection)) throw outdated(connection.name);
  });
  return storeOn(connection, dir, jobs, now);
}

/** The store on a database that is not older than this code. */
function storeOn(connection: Connection, dir: string, jobs: readonly Job[], now: () => number): Store {
  return closeOnError(connection, () => {
    const lost = watchFiles(connection.name);
    createTables(connection);
    followDeclarations(connection, jobs);
    ensureIdentity(connection, dir, now());
    refuseLost(lost);
    return createStore(connection, dir, now, lost);
  });
}

function openFile(dir: string, lockWaitMs?: number): Connection {
  const file = mirrorFile(dir);
  guarded(file, () => makeFolder(dir, 0o700));
  const connection = openConnection(file, lockWaitMs, hasMirror(dir) ? versionOf : undefined);
  // Before the first look at it: SQLite gives its log and index the permissions of the database.
  return closeOnError(connection, () => {
    chmodSync(file, 0o600);
    return connection;
  });
}

function isOlder(connection: Connection): boolean {
  const { migrations, isCurrent } = versionOf(connection);
  return migrations > 0 && !isCurrent;
}

/** Runs `work`; where that throws, the connection is closed. */
function closeOnError<T>(connection: Connection, work: () => T): T {
  try {
    return guarded(connection.name, work);
  } catch (thrown) {
    connection.close();
    throw thrown;
  }
}

/** Migrates an older mirror, while nobody else is at work on it. Closes the connection. */
async function upgrade(connection: Connection, jobs: readonly Job[]): Promise<void> {
  const file = connection.name;
  try {
    const release = holdFolder(
      dirname(file),
      jobs.map(({ name }) => name),
      'start this one again',
    );
    try {
      const { migrations, isCurrent } = versionOf(connection);
      if (isCurrent) return;
      await copyBeforeMigration(file, join(dirname(file), copyName(migrations + 1)));
      applyMigrations(connection);
      // One way back is enough.
      rmSync(join(dirname(file), copyName(migrations)), { force: true });
    } finally {
      release();
    }
  } catch (thrown) {
    throw storeFailure(thrown, file);
  } finally {
    connection.close();
  }
}

const copyName = (migration: number) => `mirror.before-migration-${migration}.db`;

async function copyBeforeMigration(file: string, copy: string): Promise<void> {
  rmSync(copy, { force: true });
  try {
    await copyDatabase(file, copy, new AbortController().signal);
    sealCopy(file, copy);
  } catch (thrown) {
    rmSync(copy, { force: true });
    throw thrown;
  }
}

/** Makes the tables of a new database. */
function createTables(connection: Connection): void {
  if (versionOf(connection).isCurrent) return;
  const lock = lockMigration(connection.name);
  try {
    if (!versionOf(connection).isCurrent) applyMigrations(connection);
  } finally {
    lock.release();
  }
}

/** @throws Failure `incomplete` where another process is at it. */
function lockMigration(file: string): Lock {
  const lock = tryLock(dirname(file), 'migration');
  if (isLock(lock)) return lock;
  throw new Failure('incomplete', `${file}: ${describeHolder(lock)} is migrating it; try again`);
}

// With this pragma a rebuilt table may take the name of the old one although views name that. It is void inside a transaction.
function applyMigrations(connection: Connection): void {
  connection.pragma('legacy_alter_table = ON');
  migrate(drizzle(connection), { migrationsFolder: dirname(dirname(journalFile)) });
  connection.pragma('legacy_alter_table = OFF');
  if (!versionOf(connection).isCurrent)
    throw new Failure('bug', `${connection.name}: some migrations were skipped`);
}

function followDeclarations(connection: Connection, jobs: readonly Job[]): void {
  connection
    .transaction(() => {
      for (const job of jobs) {
        if (!job.contract) ensureColumns(connection, job);
        ensureShown(connection, job);
        ensureTriggers(connection, job);
        ensureNumbers(connection, job);
      }
      ensureViews(connection, jobs);
    })
    .immediate();
}

/** Says what became of the opened files; undefined while they are the mirror. */
type FindLoss = ReturnType<typeof watchFiles>;

function refuseLost(lost: FindLoss): void {
  const loss = lost();
  if (loss) throw loss;
}

function createStore(connection: Connection, dir: string, now: () => number, lost: FindLoss) {
  const file = connection.name;
  const findLastLook = connection.prepare<
    [string],
    Pick<WalkRow, 'startedAt' | 'finishedAt'> & { metNone: 0 | 1 }
  >(
    `SELECT started_at AS startedAt, finished_at AS finishedAt,
       kind = 'glance' AND status = 'complete' AND rows > 0 AND inserted >= rows AS metNone FROM walks
     WHERE job = ? AND (kind = 'glance' OR finished_at IS NOT NULL) ORDER BY id DESC LIMIT 1`,
  );
  const findLastCall = connection.prepare<[string], { walkId: number | null }>(
    `SELECT walk_id AS walkId FROM requests WHERE job = ? ORDER BY id DESC LIMIT 1`,
  );
  const upsertNextDue = connection.prepare<[string, string | null]>(
    `INSERT INTO _datasets (job, next_due_at) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET next_due_at = excluded.next_due_at`,
  );
  /** In epoch milliseconds; null for no time, and for one ahead of the clock. */
  const past = (time: string | undefined) => {
    const at = time === undefined ? null : Date.parse(time);
    return at === null || ageOf(at, now()) === null ? null : at;
  };
  const check = () => refuseLost(lost);
  /** For work that can wait for the next walk. */
  const throwUnlessBusy = (thrown: unknown) => {
    if (!isBusy(thrown)) throw storeFailure(thrown, file);
  };
  return {
    file,
    /** The mirror's name, which stays wherever its folder moves. */
    name: nameOf(dir, identityOf(connection)?.name),
    /** Why the mirror's path no longer leads to the opened file; undefined where it does. */
    lost,
    governor: openGovernorState(connection, now),
    /** Of the saved queries of `MIRROR_REPORTS`. */
    reports: guardedAll(file, openReportState(connection, now)),
    ...guardedAll(file, {
      /**
       * Resumes the job's unfinished walk or glance, or begins one; it is this process's alone until it is released.
       * @param hints what the user says of a list without a contract.
       */
      openWalk(job: Job, kind: WalkRow['kind'] = 'walk', hints: Hints = {}): WalkSession {
        check();
        return openSession({ connection, dir, job, kind, hints, now, check });
      },
      /** Checks the job's refused rows again, and mirrors those that fit now. */
      retryQuarantine(
        job: Job,
        recheck: (row: QuarantinedRow, shape: DiscoveredShape) => CheckedRows,
      ): Retried {
        check();
        const retried = retryQuarantine(connection, dir, job, recheck, now);
        check();
        return retried;
      },
      /**
       * Forgets where the rows of a list are and what identifies them: the next walk finds both anew. Its rows stay, and take their keys
       * from it.
       * @throws Failure `incomplete` where a process is mirroring the job.
       */
      forget(job: Job): void {
        check();
        const lock = lockJob(dir, job, 'is mirroring it; try again when its walk has ended');
        try {
          connection
            .transaction(() => {
              discardUnfinished(connection, job, 'its place and key were forgotten', now());
              const findings = readFindings(connection, job.name);
              const shape = ensureKeys(connection, job, findings.shape, unknownShape, agesOf(findings), () =>
                createSequence(connection)(job.name, now()),
              );
              keepFindings(connection, job.name, { ...findings, shape });
            })
            .immediate();
        } finally {
          lock.release();
        }
      },
      /** Keeps the record of a call that brought no page. */
      recordCall: callRecorder(connection),
      /** The latest call of all jobs, if it got no answer; else null. */
      silence: silenceReader(connection),
      /** The size of the write-ahead log. */
      logBytes: () => logBytes(file),
      /** When the last proof began, in epoch milliseconds; null where there was none, or the clock was ahead then. */
      completeAsOf: (job: string) => past(lastWalk(connection, job, PROOF)?.startedAt),
      /** The same for the last walk, proof or not; null also where it is unfinished. */
      lastRun(job: string) {
        const last = lastWalk(connection, job);
        return past(last?.finishedAt ? last.startedAt : undefined);
      },
      /** The same for the last walk that has ended, whatever runs now. */
      lastEnded: (job: string) => past(lastWalk(connection, job, 'finished_at IS NOT NULL')?.startedAt),
      /** The same for the last walk or glance, complete or not; null also where a glance is unfinished. */
      lastLook(job: string) {
        const { startedAt, finishedAt } = findLastLook.get(job) ?? {};
        return past(finishedAt ? startedAt : undefined);
      },
      /** Whether a walk is due, since the last look, a glance, met no row that the mirror knew: there may be more behind it. */
      lacksWalk: (job: string) => findLastLook.get(job)?.metNone === 1,
      /**
       * Whether the job's unfinished walk waits for a page that did not come in its last run. Not after a glance: then it is the
       * walk's turn, since a small quota may not have calls for both.
       */
      waitsAtObstacle(job: string): boolean {
        const walk = lastWalk(connection, job, 'finished_at IS NULL');
        const at = walk && readMemory(walk)?.checkpoint;
        if (at === undefined || at.failedRuns === 0 || at.offset === 0) return false;
        const last = findLastCall.get(job);
        return last === undefined || last.walkId === walk?.id;
      },
    }),
    /** Empties the write-ahead log unless others are at work; keeps nobody waiting. */
    emptyLog: () => guarded(file, () => emptyLog(connection)),
    /** Removes what is older than `keep` says. While another process is writing, this waits for the next walk. */
    prune(job: Job, keep: Keep): void {
      try {
        prune(connection, job, keep, now());
      } catch (thrown) {
        throwUnlessBusy(thrown);
      }
    },
    /** Notes when a dataset is due next, in epoch milliseconds, for `freshness`; not while another process is writing. */
    keepNextDue(job: string, at: number | null): void {
      try {
        upsertNextDue.run(job, at === null ? null : isoTime(at));
      } catch (thrown) {
        throwUnlessBusy(thrown);
      }
    },
    close: () => void connection.close(),
  };
}
