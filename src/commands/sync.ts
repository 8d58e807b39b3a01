/** `market-mirror sync [job…]`: one pass over all or the named jobs at the same time, without Redis, with a line of progress for each. */

import { Command } from 'commander';
import { type App, openApp } from '../app.ts';
import { asFailure, exitCodes, Failure, Snooze, toError, worstExitCode } from '../base/errors.ts';
import { printableJson } from '../base/printable.ts';
import { findJobs } from '../job/list.ts';
import { loadJobs } from '../job/load.ts';
import type { Job } from '../job.ts';
import { count, number, withClockTimes } from '../output/numbers.ts';
import { provenBy } from '../reading/changes.ts';
import { isLock, syncLock, tryLock, type WalkRow } from '../store.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';
import { type ProgressLines, progressLines } from './live-lines.ts';

type Options = { wait: boolean; json?: true };

type Outcome = { job: string; exitCode: number; walk: WalkRow | null; message: string | null };

export function syncCommand(context: Context): Command {
  const command = new Command('sync')
    .argument('[job...]', 'the jobs to mirror; unless given, all whose schedule is not off')
    .option('--no-wait', 'end with exit code 75 instead of waiting for quota')
    .option('--json', 'print the outcome as JSON')
    .action((names: string[], options: Options) => sync(names, options, context));
  return withExamples(
    command,
    ['everything, once; continues a run that was stopped', 'sync'],
    ['two datasets, without waiting for quota', 'sync ai-signals news --no-wait'],
  );
}

async function sync(names: string[], options: Options, context: Context): Promise<void> {
  const known = await loadJobs();
  const named = findJobs(known, names);
  const messages: string[] = [];
  const say = (_: unknown, job: string, text: string) => messages.push(`${job}: ${text}\n`);
  const app = await openApp({ ...context, say, retryRefused: context.stderr.isTTY === true, provenBy });
  try {
    const jobs = named.length > 0 ? named : notOff(app, context);
    const progress = progressLines(context.stderr, context.clock);
    const outcomes = await Promise.all(jobs.map((job) => syncJob(app, job, options, progress, context)));
    progress.end();
    await endOfCommands(app, context.signal);
    for (const message of messages) context.stderr.write(message);
    if (options.json) context.stdout.write(`${printableJson(outcomes)}\n`);
    context.exit(worstExitCode(outcomes.map(({ exitCode }) => exitCode)));
  } finally {
    await app.close();
  }
}

/** All jobs but those whose schedule is `off`, which a line names. */
function notOff({ jobs, config }: App, { stderr }: Context): readonly Job[] {
  const isOff = ({ name }: Job) => config.schedules[name] === 'off';
  const off = jobs.filter(isOff).map(({ name }) => name);
  if (off.length > 0)
    stderr.write(
      `not mirrored, since the schedule is off: ${off.join(', ')}; name a job to mirror it once\n`,
    );
  return jobs.filter((job) => !isOff(job));
}

/** Waits for the commands of `MIRROR_ON_CHANGE`; a user who stops the sync ends them. */
async function endOfCommands(app: App, signal: AbortSignal): Promise<void> {
  const end = () => void app.endCommands();
  if (signal.aborted) end();
  signal.addEventListener('abort', end);
  await app.commandsEnded();
  signal.removeEventListener('abort', end);
}

/** Mirrors one job to its end, and waits as often as it has to. It never throws: the other jobs go on, whatever becomes of this one. */
async function syncJob(
  app: App,
  job: Job,
  options: Options,
  lines: ProgressLines,
  context: Context,
): Promise<Outcome> {
  const letGo = noteSync(app, job);
  try {
    return await untilItEnds(app, job, options, lines, context);
  } finally {
    letGo();
  }
}

/** Lets `status` say that a sync is at work, which waits for hours where calls are scarce. @returns what ends that. */
function noteSync({ config }: App, job: Job): () => void {
  try {
    const lock = tryLock(config.dir, syncLock(job.name));
    if (isLock(lock)) return lock.release;
  } catch {
    // What is wrong with the disk is told by the walk.
  }
  return () => undefined;
}

async function untilItEnds(
  app: App,
  job: Job,
  { wait }: Options,
  lines: ProgressLines,
  context: Context,
): Promise<Outcome> {
  const { clock, signal } = context;
  for (;;) {
    try {
      const walk = await app.mirror(job, signal, lines.page);
      const done = describeWalk(walk);
      lines.note(job.name, walk.error ? `${done}; ${withClockTimes(walk.error, clock.now())}` : done);
      const exitCode = walk.error ? exitCodes.incomplete : exitCodes.done;
      return { job: job.name, exitCode, walk, message: walk.error };
    } catch (thrown) {
      // When an unreachable API comes back is not known: that ends the sync, as `--no-wait` does.
      if (!(thrown instanceof Snooze) || !wait || thrown.reason === 'unreachable')
        return ended(job, thrown, lines, context);
      lines.note(job.name, withClockTimes(thrown.message, clock.now()));
      await clock.sleep(thrown.until - clock.now(), signal).catch(() => undefined);
    }
  }
}

/** A stopped sync may also have failed, such as by a full disk: then it says that. */
function ended(job: Job, thrown: unknown, lines: ProgressLines, { signal, hint, clock }: Context): Outcome {
  const isStopped = signal.aborted && !(thrown instanceof Failure && thrown.kind !== 'incomplete');
  const message = isStopped ? 'stopped; the next run goes on from here' : toError(thrown).message;
  lines.failed(job.name, hint(withClockTimes(message.replace(`${job.name}: `, ''), clock.now())));
  const exitCode = isStopped ? exitCodes.incomplete : exitCodeOf(thrown);
  return { job: job.name, exitCode, walk: null, message };
}

function exitCodeOf(thrown: unknown): number {
  if (thrown instanceof Snooze) return thrown.problem ? exitCodes.unreachable : exitCodes.incomplete;
  return asFailure(thrown).exitCode;
}

/** A finished walk in one line. */
export function describeWalk(walk: WalkRow): string {
  const { verdict, kind, rows, total, apiCalls, inserted, updated, deleted, held, quarantined, renewalOf } =
    walk;
  const calls = count(apiCalls, 'call');
  if (renewalOf !== null) return `${verdict}: ${count(total ?? rows, 'row')}, unchanged, proven by ${calls}`;
  const changes = `${number(inserted)} new, ${number(updated)} changed, ${number(deleted)} gone`;
  const kept = held > 0 ? `, ${number(held)} not seen (kept)` : '';
  const refused = quarantined > 0 ? `, ${number(quarantined)} quarantined` : '';
  return `${verdict ?? kind}: ${count(rows, 'row')} in ${calls} (${changes}${kept}${refused})`;
}
