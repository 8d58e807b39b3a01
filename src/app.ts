/** Builds the parts from the settings, and releases them in the opposite order. */

import { createApi, type EndpointCheck } from './api.ts';
import { type Change, onChange, type Say } from './app/on-change.ts';
import { ageOf, type Clock, type Random } from './base/clock.ts';
import { asFailure, Failure } from './base/errors.ts';
import { hasEnded, nameProcess } from './base/process-name.ts';
import { createReleases, type Releases } from './base/releases.ts';
import { intervalOf } from './base/schedule.ts';
import { version } from './base/version.ts';
import { hintSettings } from './config/settings.ts';
import { type Config, forCommands, readConfig, readLocalConfig, settingOf } from './config.ts';
import { describeKept } from './governor/describe.ts';
import { createGovernor } from './governor.ts';
import { findJob, ownSchedules } from './job/list.ts';
import { loadJobs } from './job/load.ts';
import type { Job } from './job.ts';
import { mirror, type Progress, retryRefused } from './mirror.ts';
import { hasMirror, mirrorFile } from './store/read.ts';
import { isLock, openUpgradedStore, type Retried, type Store, tryLock, type WalkRow } from './store.ts';

export type Surroundings = {
  environment: Record<string, string | undefined>;
  clock: Clock;
  random: Random;
};

export type App = {
  config: Config;
  jobs: readonly Job[];
  store: Store;
  /** @throws Failure `usage` for an unknown name, which names those that are known. */
  job(name: string): Job;
  /** @param kind a walk, unless given. */
  mirror(
    job: Job,
    signal: AbortSignal,
    progress?: (at: Progress) => void,
    kind?: WalkRow['kind'],
  ): Promise<WalkRow>;
  /** Whether a call of the job waits for a permit. */
  waitsForPermit(job: string): boolean;
  /** Requests the job's endpoint once, for one row at most. */
  askOnce(job: Job, signal: AbortSignal): Promise<EndpointCheck>;
  /** Whether calls went through the proxy, as far as any was made. */
  usesProxy(): boolean;
  /** Resolves when every command of `MIRROR_ON_CHANGE` has ended; `endCommands` ends them. */
  commandsEnded(): Promise<void>;
  endCommands(): Promise<void>;
  close(): Promise<void>;
};

export type AppParts = Surroundings & {
  /** Gets what the command of `MIRROR_ON_CHANGE` writes, and why it failed; and what contradicts the limits that are set. */
  say?: Say;
  /** Whether to try at once what was refused or failed: a person asks for it. */
  retryRefused?: boolean;
  /** What a walk makes known, for the command of `MIRROR_ON_CHANGE`; without it the command is never run. */
  provenBy?: (dir: string, job: Job, walk: WalkRow) => Change | null;
};

/** The longest wait within a walk; a longer one snoozes it. */
const LONGEST_WAIT_MS = 3_000;

export async function openApp(parts: AppParts): Promise<App> {
  const jobs = await loadJobs();
  const config = readConfig(parts.environment, ownSchedules(jobs));
  refuseHints(config, jobs);
  const releases = createReleases();
  try {
    const store = await openUpgradedStore(config.dir, jobs, parts.clock.now);
    releases.add(() => store.close());
    return build(parts, jobs, config, store, releases);
  } catch (thrown) {
    await releases.all().catch(() => undefined);
    throw thrown;
  }
}

/** @throws Failure `config` for what the specification says itself. */
function refuseHints({ hints }: Config, jobs: readonly Job[]): void {
  for (const { name, contract, reading } of jobs)
    for (const [what, setting] of Object.entries(hintSettings)) {
      const isSaid = Object.hasOwn(hints[name] ?? {}, what);
      // Of the properties that a contract does not list, some may move.
      if (!isSaid || (reading === 'list' && (!contract || what === 'volatile'))) continue;
      throw new Failure('config', `${settingOf(name, setting)} says what the specification says: unset it`);
    }
}

function build(
  { environment, clock, random, say = () => undefined, retryRefused = false, provenBy }: AppParts,
  jobs: readonly Job[],
  config: Config,
  store: Store,
  releases: Releases,
): App {
  const governor = createGovernor({
    transact: store.governor.transact,
    owner: nameProcess(random),
    isGone: hasEnded,
    limits: config.limits,
    say: (job, text) => say('warn', job, text),
    clock,
    random,
    longestWaitMs: LONGEST_WAIT_MS,
    keyDigest: (salt) => config.key.current().digest(salt),
    retryRefused,
    lag: (name) => lagOf(store, jobs, config, name, clock.now()),
  });
  releases.add(() => governor.close());
  const api = createApi({
    baseUrl: config.apiUrl,
    key: config.key,
    proxy: config.proxy,
    governor,
    record: store.recordCall,
    clock,
    random,
    userAgent: `market-mirror/${version()}`,
  });
  releases.add(() => api.close());

  const hook =
    config.onChange === undefined
      ? undefined
      : onChange({
          command: config.onChange,
          environment: forCommands(environment, config.dir, config.onChangeVariables),
          say,
          hold: (name) => holdHook(config.dir, name),
          clock,
        });
  releases.add(() => hook?.close());

  return {
    config,
    jobs,
    store,
    job: (name) => findJob(jobs, name),
    async mirror(job, signal, progress, kind) {
      const mirrorOnce = async () => {
        const callsLeft = () => describeKept(store.governor.read(), clock.now()).quota.remaining;
        const hints = config.hints[job.name];
        const parts = { api, store, hints, ...(progress ? { progress, callsLeft } : {}) };
        // A walk that waits for a page that does not come must not keep new rows at the head from coming.
        if (kind !== 'glance' && store.waitsAtObstacle(job.name))
          await mirror(job, parts, signal, 'glance').catch(() => undefined);
        const walk = await mirror(job, parts, signal, kind).catch((thrown) => {
          // Calls grow while no walk completes, too. The walk's error is worth more than one of pruning.
          try {
            if (!signal.aborted) store.prune(job, config.keep);
          } catch {}
          throw thrown;
        });
        const change = hook && provenBy?.(config.dir, job, walk);
        if (change) hook.start(change);
        try {
          store.prune(job, config.keep);
        } catch (thrown) {
          throw pruningFailure(job, thrown);
        }
        return walk;
      };
      const walk = await mirrorOnce();
      // If the clock was set back meanwhile, the age of the proof is not known.
      return ageOf(Date.parse(walk.startedAt), clock.now()) === null ? await mirrorOnce() : walk;
    },
    waitsForPermit: governor.waits,
    askOnce: ({ name, path, reading }, signal) =>
      api.askOnce({ job: name, walkId: null, path, query: reading === 'list' ? { limit: 1 } : {} }, signal),
    usesProxy: api.usesProxy,
    commandsEnded: async () => await hook?.idle(),
    endCommands: async () => await hook?.close(),
    close: releases.all,
  };
}

/** The error of pruning after a complete walk, whose proof stands. */
function pruningFailure({ name }: Job, thrown: unknown): Failure {
  const { kind, message } = asFailure(thrown);
  const what = `${name}: the walk is complete, but what is older than it is to be kept could not be removed`;
  return new Failure(kind, `${what}: ${message}`, { cause: thrown });
}

/** The part of the app that needs no key. */
export type LocalApp = Pick<App, 'jobs' | 'store'> & {
  /** Checks the job's refused rows again, and mirrors those that fit now. */
  retryRefused(job: Job): Retried;
  /** Lets the next walk of a list find anew where its rows are and what identifies them. */
  forget(job: Job): void;
  close(): void;
};

/** @throws Failure `incomplete` where there is no mirror yet: only a walk begins one; `disk` where it is gone. */
export async function openLocalApp({
  environment,
  clock,
}: Pick<Surroundings, 'environment' | 'clock'>): Promise<LocalApp> {
  const jobs = await loadJobs();
  const { dir } = readLocalConfig(environment);
  if (!hasMirror(dir))
    throw new Failure('incomplete', `${mirrorFile(dir)} does not exist yet: run market-mirror sync or start`);
  const store = await openUpgradedStore(dir, jobs, clock.now);
  return {
    jobs,
    store,
    retryRefused: (job) => retryRefused(job, store),
    forget: store.forget,
    close: () => store.close(),
  };
}

function holdHook(dir: string, job: string) {
  const lock = tryLock(dir, `on-change-${job}`);
  return isLock(lock) ? lock : undefined;
}

/** A dataset's age in target ages, times its weight: scarce calls go to the greatest. 0 without a schedule. */
function lagOf(store: Store, jobs: readonly Job[], config: Config, name: string, now: number): number {
  const target = intervalOf(config.schedules[name] ?? 'off', now);
  // A list that was never proven, and may never be, is as old as its last walk; the one that waits has begun.
  const since = store.completeAsOf(name) ?? store.lastEnded(name) ?? 0;
  const age = Math.max(0, now - since);
  return Number.isFinite(target) && target > 0 ? (age / target) * findJob(jobs, name).weight : 0;
}
