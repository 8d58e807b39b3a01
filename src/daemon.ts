/** The daemon: mirrors by the queue's schedule until it is stopped. */

import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type App, openApp, type Surroundings } from './app.ts';
import { Failure, Snooze, toError } from './base/errors.ts';
import type { Log } from './base/log.ts';
import { type Releases, withReleases } from './base/releases.ts';
import { forCommands } from './config.ts';
import { type Following, type FollowingParts, keepFollowing } from './daemon/following.ts';
import { openHealthSocket } from './daemon/health-socket.ts';
import { type MirrorFile, watchMirrorFile } from './daemon/mirror-file.ts';
import { keepReporting } from './daemon/reporting.ts';
import { keepServing } from './daemon/service.ts';
import { createPulse, type Pulse, systemdNotifier } from './daemon/systemd.ts';
import { datasetsOf, tablesOf } from './job/list.ts';
import { type Job, listed } from './job.ts';
import type { Progress } from './mirror.ts';
import { createTurns, type Turns } from './plan/turn.ts';
import { type MirrorQueue, startQueue } from './queue.ts';
import { provenBy, provenSince, provenUpTo } from './reading/changes.ts';
import { type DaemonNote, noSinks, readStatus } from './reading/status.ts';
import { lakeThread, shipThread } from './sinks.ts';
import { describeHolder, guarded, isLock, type Lock, tryLock, type WalkRow } from './store.ts';

export type DaemonParts = Surroundings & {
  log: Log;
  /** Whether to try a refused key or endpoint once more. */
  retryRefused?: boolean;
  /** Called for each saved page, and for each walk and glance that has ended. */
  progress?: (at: Progress) => void;
  ended?: (job: string, walk: WalkRow) => void;
  /** Called for each walk that has to wait. */
  waits?: (job: string, until: Snooze) => void;
};

/**
 * Mirrors every job by its schedule until `signal` is aborted; then ends at the next page boundary, within 10 s. However it ends, it
 * leaves nothing open and nothing running.
 * @throws Failure `incomplete` where another daemon holds the folder, `disk` where the mirror is gone, and all that keeps a daemon
 * from starting.
 */
export async function runDaemon(parts: DaemonParts, signal: AbortSignal): Promise<void> {
  try {
    await withReleases((releases) => mirrorUntil(parts, releases, signal));
  } catch (thrown) {
    // It was stopped while it was starting.
    if (!signal.aborted || thrown !== signal.reason) throw thrown;
  }
}

async function mirrorUntil(parts: DaemonParts, releases: Releases, signal: AbortSignal): Promise<void> {
  const { log, clock, random } = parts;
  const app = await openApp({ ...parts, say: (level, job, text) => log[level]({ job }, text), provenBy });
  releases.add(app.close);
  const { dir, apiUrl, redisUrl, schedules, serve, ship, lake, reports } = app.config;
  const lock = holdFolder(dir);
  releases.add(lock.release);
  const note = noting(lock, log);
  const pulse = createPulse(app.waitsForPermit, clock.monotonic);
  const turns = createTurns(app, clock.now);
  const file = watchMirrorFile({ store: app.store, log, clock });
  const ending = AbortSignal.any([signal, file.gone]);
  if (serve.address) {
    const onProblem = (problem: DaemonNote['serve']) => note({ serve: problem });
    const service = keepServing({ dir, environment: parts.environment, clock, random, log, onProblem });
    // It ends while all else does: together they have ten seconds.
    ending.addEventListener('abort', () => void service.end(), { once: true });
    releases.add(service.end);
  }
  const following: Following[] = [];
  const follow = (ofSink: Pick<FollowingParts, 'thread' | 'words' | 'note' | 'everyMs'>) => {
    const jobs = app.jobs.map(({ name }) => name);
    const sink = keepFollowing({ ...ofSink, jobs, clock, random, log });
    releases.add(sink.end);
    following.push(sink);
  };
  if (ship)
    follow({
      thread: shipThread({ dir, address: ship }),
      words: { goesOn: 'shipping goes on', fails: 'not shipped', lacks: 'not all is shipped' },
      note: (state) => note({ ship: state }),
    });
  if (lake)
    follow({
      thread: lakeThread({ dir, environment: parts.environment }),
      words: {
        goesOn: 'the lake goes on',
        fails: 'not written to the lake',
        lacks: 'the lake lacks something',
      },
      everyMs: lake.everyMs,
      note: (state) => note({ lake: state }),
    });
  const health = await openHealthSocket({ dir, status: () => file.ifHere(() => statusOf(app, clock.now())) });
  releases.add(health.close);
  let queue: MirrorQueue | undefined;
  const reporting =
    reports &&
    keepReporting({
      ...{
        dir,
        settings: reports,
        store: app.store,
        tables: tablesOf(app.jobs.map(listed)),
        clock,
        random,
        log,
      },
      environment: forCommands(parts.environment, dir),
      queue: () => queue,
    });
  if (reporting) releases.add(reporting.end);
  else app.store.reports.follow([]);
  const shared: Shared = { file, pulse, turns, following, heard: () => reporting?.heard() };
  queue = startQueue({
    redis: redisUrl ? { url: redisUrl } : { dir },
    prefix: `market-mirror-${app.store.name}`,
    schedules,
    lastRun: app.store.lastRun,
    run: (name, stop) => file.during(() => run(app, app.job(name), parts, shared, stop)),
    changes: {
      proven: (name) => provenUpTo(dir, app.job(name)),
      since: (name, seq) => provenSince(dir, app.job(name), seq),
    },
    runReport: reporting?.run,
    onOutage: (queue) => note({ queue }),
    log,
    clock,
  });
  const { close, changesAt } = queue;
  releases.add(close, app.endCommands, () => reporting?.end());
  guarded(dir, () => writeQueueFile(dir, changesAt));
  keepAllDue(app, turns, log);
  const systemd = systemdNotifier(parts);
  releases.add(systemd.stopping);
  log.info({}, `mirroring ${apiUrl} into ${app.store.file}`);
  systemd.ready(`mirroring ${apiUrl}`, () => file.isHere() && isWell(pulse, log));
  if (!ending.aborted) await once(ending, 'abort');
  log.info({}, 'stopping at the next page boundary');
  file.gone.throwIfAborted();
}

/** By all runs of a daemon. */
type Shared = {
  readonly file: Pick<MirrorFile, 'isHere'>;
  readonly pulse: Pulse;
  readonly turns: Turns;
  readonly following: readonly Following[];
  /** To be called after each commit. */
  heard(): void;
};

async function run(
  app: App,
  job: Job,
  { log, clock, progress, ended, waits }: DaemonParts,
  { file, pulse, turns, following, heard }: Shared,
  signal: AbortSignal,
): Promise<void> {
  const turn = turns.of(job);
  if (turn.at > clock.now()) {
    app.store.keepNextDue(job.name, turn.at);
    const wait = new Snooze(turn.askAt, 'quota');
    waits?.(job.name, wait);
    throw wait;
  }
  const onProgress = (at: Progress) => {
    pulse.beat(job.name);
    heard();
    progress?.(at);
  };
  pulse.beat(job.name);
  const walk = await app
    .mirror(job, signal, onProgress, turn.kind)
    .catch((thrown: unknown) => {
      if (thrown instanceof Snooze && !signal.aborted) waits?.(job.name, thrown);
      throw thrown;
    })
    .finally(() => {
      pulse.end(job.name);
      // Saved pages are new even where the walk broke off.
      for (const sink of following) sink.due(job.name);
      heard();
    });
  logWalk(job, walk, log);
  ended?.(job.name, walk);
  try {
    app.store.keepNextDue(job.name, turns.nextDue(job, Date.parse(walk.startedAt)));
  } catch (thrown) {
    // The run itself went well. A mirror that is gone ends the daemon, which tells of it.
    if (file.isHere())
      log.warn({ job: job.name, err: toError(thrown).message }, 'nobody can tell when it is due next');
  }
}

/** A glance removes nothing, and proves nothing. */
function logWalk({ name: job }: Job, walk: WalkRow, log: Log): void {
  const { verdict, rows, inserted, updated, deleted, held, quarantined, apiCalls, error } = walk;
  const counts = { job, verdict, rows, inserted, updated, deleted, held, quarantined, apiCalls };
  if (walk.kind === 'glance')
    log.info({ job, rows, inserted, updated, quarantined, apiCalls }, 'glance complete');
  else if (error) log.warn({ ...counts, reason: error }, 'walk proves nothing');
  else log.info(counts, 'walk complete');
}

/** Notes for `freshness` when each dataset is due. An error is only logged: the runs will meet it, too. */
function keepAllDue({ jobs, store }: App, turns: Turns, log: Log): void {
  try {
    for (const job of jobs) store.keepNextDue(job.name, turns.nextDue(job, store.lastRun(job.name)));
  } catch (thrown) {
    log.warn({ err: toError(thrown).message }, 'nobody can tell when datasets are due next');
  }
}

/** Whether the runs of this process do their work. */
function isWell(pulse: Pulse, log: Log): boolean {
  const silent = pulse.silent();
  if (silent.length > 0) log.error({ jobs: silent }, 'runs have shown no sign of life for long');
  return silent.length === 0;
}

function statusOf({ config, jobs }: App, now: number) {
  return readStatus(config.dir, datasetsOf(jobs, config.schedules), now);
}

/** Returns what changes the lock's note, which `status` shows. */
function noting(lock: Lock, log: Log): (change: Partial<DaemonNote>) => void {
  let noted: DaemonNote = { queue: null, serve: null, ...noSinks };
  lock.note(null);
  return (change) => {
    noted = { ...noted, ...change };
    try {
      lock.note(Object.values(noted).some((part) => part !== null) ? JSON.stringify(noted) : null);
    } catch (thrown) {
      log.warn({ err: toError(thrown).message }, 'status cannot be told what keeps the daemon waiting');
    }
  };
}

function holdFolder(dir: string) {
  const lock = tryLock(dir, 'daemon');
  if (isLock(lock)) return lock;
  throw new Failure(
    'incomplete',
    `${dir}: a daemon (${describeHolder(lock)}) is running on this folder already`,
  );
}

/** Says where `mirror-changes` is, for workers of users. */
function writeQueueFile(dir: string, at: MirrorQueue['changesAt']): void {
  const file = join(dir, 'queue.json');
  writeFileSync(`${file}.new`, `${JSON.stringify(at, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
