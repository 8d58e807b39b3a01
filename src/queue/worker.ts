/** The worker: runs queued jobs, and turns how a run ends into what becomes of its job. */

import { type Job as BullJob, DelayedError, UnrecoverableError, WaitingError, Worker } from 'bullmq';
import { isoTime } from '../clock.ts';
import { Failure, Snooze, toError } from '../errors.ts';
import { type Context, type Loop, loopOf } from './bullmq.ts';

/**
 * Mirrors one job once. Throws `Snooze` to go on later at its committed place, `Failure` to leave it to the next
 * schedule. When `signal` is aborted it stops at the next page boundary and throws the signal's reason.
 */
export type Run = (job: string, signal: AbortSignal) => Promise<void>;

export type MirrorWorker = Loop & {
  /** Whether the job is under way here. */
  runs(id: string): boolean;
  /** Takes no more jobs and tells the running ones to stop. Resolves when the runs have ended. */
  stop(): Promise<void>;
  /** Resolves when Redis knows how the runs ended. */
  close(): Promise<void>;
};

type Running = { id: string | undefined; controller: AbortController; ended: Promise<void> };

const STALLED_CHECK_MS = 10_000;
/** How many deaths of the process a job outlives before it is left to the next schedule. */
const MOST_STALLS = 10;
/** After an error of the connection; other errors make the worker rest. */
const RETRY_MS = 1_000;

export function startWorker(
  parts: Context & {
    queue: string;
    /** All that may run: what Redis says is not to be trusted. */
    jobs: ReadonlySet<string>;
    run: Run;
    lockMs: number;
  },
): MirrorWorker {
  const { base, queue, jobs, run, report, log, clock, lockMs } = parts;
  const running = new Map<string, Running>();
  /** Jobs whose run has ended, of which Redis may not know: it would hand them out again. */
  const ended = new Set<string | undefined>();
  let stopping = false;

  const worker = new Worker(queue, work, {
    ...base,
    concurrency: jobs.size,
    lockDuration: lockMs,
    stalledInterval: Math.min(STALLED_CHECK_MS, lockMs),
    maxStalledCount: MOST_STALLS,
    runRetryDelay: RETRY_MS,
    removeOnComplete: { count: 20 },
    removeOnFail: { count: 50 },
  });
  worker.on('error', report);
  worker.on('completed', ({ id }) => void ended.delete(id));
  worker.on('failed', (job) => void ended.delete(job?.id));
  worker.on('lockRenewalFailed', (ids) => {
    for (const [job, { id, controller }] of running)
      if (id !== undefined && ids.includes(id) && !controller.signal.aborted) {
        log.warn({ job }, 'Redis has lost this run: stopping it at the next page');
        controller.abort(new Snooze(clock.now(), 'shutdown'));
      }
  });

  async function work(job: BullJob, token?: string): Promise<void> {
    const { name } = job;
    if (!jobs.has(name)) {
      log.warn({ job: name.slice(0, 100) }, 'dropped a job that no file declares');
      throw new UnrecoverableError('unknown job');
    }
    // Only a run whose job Redis has lost can still be on its way.
    for (let former = running.get(name); former; former = running.get(name)) await former.ended;
    if (ended.has(job.id)) return;
    if (stopping) return putBack(job, token);
    const controller = new AbortController();
    try {
      await perform(job, controller);
      ended.add(job.id);
    } catch (thrown) {
      if (thrown instanceof Snooze && thrown.reason !== 'shutdown') return snooze(job, token, thrown);
      if (thrown instanceof Snooze || (controller.signal.aborted && !(thrown instanceof Failure)))
        return putBack(job, token);
      ended.add(job.id);
      fail(job, thrown);
    }
  }

  async function perform({ name, id }: BullJob, controller: AbortController): Promise<void> {
    const mirrored = run(name, controller.signal);
    const settled = () => void running.delete(name);
    running.set(name, { id, controller, ended: mirrored.then(settled, settled) });
    await mirrored;
  }

  async function snooze(job: BullJob, token: string | undefined, { until, reason }: Snooze): Promise<never> {
    log.info({ job: job.name, until: isoTime(until), reason }, 'waiting');
    await job.moveToDelayed(until, token);
    throw new DelayedError();
  }

  /** The next start takes it at once. */
  async function putBack(job: BullJob, token: string | undefined): Promise<never> {
    await job.moveToWait(token);
    throw new WaitingError();
  }

  /** Retries live in the client; here the next schedule tries again. */
  function fail(job: BullJob, thrown: unknown): never {
    const { message, stack } = toError(thrown);
    if (thrown instanceof Failure) log.warn({ job: job.name, reason: thrown.kind, err: message }, 'failed');
    else log.error({ job: job.name, reason: 'bug', err: message, stack }, 'failed');
    throw new UnrecoverableError(message);
  }

  let closed: Promise<void> | undefined;
  const loop = loopOf(worker);
  return {
    ...loop,
    isAlive: () => stopping || loop.isAlive(),
    runs: (id) => [...running.values()].some((run) => run.id === id),
    async stop() {
      stopping = true;
      closed = worker.close();
      for (const { controller } of running.values()) controller.abort(new Snooze(clock.now(), 'shutdown'));
      await Promise.all([...running.values()].map(({ ended }) => ended));
    },
    async close() {
      await closed;
    },
  };
}
