/** How far work is: in lines of the jobs of a sync, and on a terminal in one line of any other work that takes long. */

import type { Clock } from '../base/clock.ts';
import { printable } from '../base/printable.ts';
import { onProgress, type ProgressStep } from '../base/progress.ts';
import type { Progress } from '../mirror.ts';
import { bytes, count, duration, number } from '../output/numbers.ts';
import type { Output } from '../output/print.ts';
import type { Context } from './context.ts';

/** A text that replaces the one before on the terminal. */
export async function redrawing(output: Output) {
  const { createLogUpdate } = await import('log-update');
  return createLogUpdate(output as NodeJS.WriteStream, { showCursor: true });
}

/** Lines that say how far jobs are, and what became of them. */
export type ProgressLines = {
  page(at: Progress): void;
  /** Something worth saying of a job, or the end of its work. */
  note(job: string, text: string): void;
  /** Why a job failed: said at the end, once for all jobs of one cause. */
  failed(job: string, text: string): void;
  end(): void;
};

/** A line a job at most this often, but for what is news. */
const EVERY_MS = 2_000;

export function progressLines(output: Output, clock: Clock): ProgressLines {
  const said = new Map<string, number>();
  const failures: JobFailure[] = [];
  const restartOf = restartTeller();
  const restarted = new Map<number, string>();
  let quota: string | undefined;
  return {
    page(at) {
      quota = quotaText(at) ?? quota;
      const restart = restartOf(at);
      const isNews = restart !== undefined && restarted.get(at.walk.id) !== restart;
      if (isNews) restarted.set(at.walk.id, restart);
      const isSoon = clock.now() - (said.get(at.job) ?? Number.NEGATIVE_INFINITY) < EVERY_MS;
      if (isSoon && !isNews) return;
      said.set(at.job, clock.now());
      output.write(`${at.job}: ${progressText(at)}${isNews ? `, ${restart}` : ''}\n`);
    },
    note: (job, text) => output.write(`${job}: ${printable(text)}\n`),
    failed: (job, text) => void failures.push({ job, text }),
    end() {
      for (const line of foldFailures(failures)) output.write(`${line}\n`);
      if (quota !== undefined) output.write(`quota: ${quota}\n`);
    },
  };
}

/** Tells of a walk that began again since this process took it up. */
function restartTeller(): (at: Progress) => string | undefined {
  const before = new Map<number, number>();
  return ({ walk: { id, restarts, generatedAt } }) => {
    const first = before.get(id) ?? restarts;
    before.set(id, first);
    if (restarts === first) return undefined;
    const times = restarts - first === 1 ? '' : ` ${restarts - first} times`;
    return `started again${times}: the ${generatedAt === null ? 'list' : 'snapshot'} changed`;
  };
}

const progressText = ({ walk }: Progress) => `${count(walk.pages, 'page')}, ${count(walk.rows, 'row')}`;

/** Of the account, whichever job asked last. */
function quotaText({ callsLeft }: Progress): string | undefined {
  const left = callsLeft();
  return left === null ? undefined : `${number(left)} calls left`;
}

const CLOCK_TIMES = /(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d UTC/g;

type JobFailure = { job: string; text: string };

/** A line a cause. What differs in times alone, or in who was the first to be refused for the key, is one. */
function foldFailures(failures: readonly JobFailure[]): string[] {
  const causes = new Map<string, { jobs: string[]; text: string }>();
  for (const { job, text } of failures) {
    const cause = /^the API refused the key\b/.exec(text)?.[0] ?? text.replace(CLOCK_TIMES, '');
    const known = causes.get(cause);
    if (known) known.jobs.push(job);
    else causes.set(cause, { jobs: [job], text });
  }
  return [...causes.values()].map(({ jobs, text }) => `${jobs.join(', ')}: ${printable(text)}`);
}

/** Work that ends sooner needs no line. */
const SHOWN_AFTER_MS = 2_000;
const REDRAW_STEPS_EVERY_MS = 200;

/** Does the work, with a line of progress while it takes long: none where `stderr` is no terminal, and none after its end. */
export async function withProgressLine<Result>(
  { stderr, clock }: Pick<Context, 'stderr' | 'clock'>,
  work: () => Promise<Result> | Result,
): Promise<Result> {
  if (!stderr.isTTY) return await work();
  const redraw = await redrawing(stderr);
  const startedAt = clock.monotonic();
  const phase = { what: '', at: startedAt, from: 0, done: 0 };
  let drawnAt = Number.NEGATIVE_INFINITY;
  const stop = onProgress((step) => {
    const now = clock.monotonic();
    const isNew = step.what !== phase.what || step.done < phase.done;
    // Rows before the first report came in no time that is known.
    if (isNew) Object.assign(phase, { what: step.what, at: now, from: step.done });
    phase.done = step.done;
    if (now - startedAt < SHOWN_AFTER_MS || now - drawnAt < REDRAW_STEPS_EVERY_MS) return;
    drawnAt = now;
    const perMs = now > phase.at ? (step.done - phase.from) / (now - phase.at) : 0;
    redraw(stepText(step, perMs).slice(0, (stderr.columns ?? 80) - 1));
  });
  try {
    return await work();
  } finally {
    stop();
    redraw.clear();
  }
}

/** @param perMs rows or bytes in a millisecond; 0 while that is not known. */
function stepText({ what, unit, done, total }: ProgressStep, perMs: number): string {
  const amount = (value: number) => (unit === 'bytes' ? bytes(value) : number(value, 0));
  const rows = unit === 'rows' ? ' rows' : '';
  const ofTotal = total === null ? '' : ` of ${amount(total)}`;
  return [
    `${printable(what)}: ${amount(done)}${ofTotal}${rows}`,
    ...(perMs > 0 ? [`${amount(perMs * 1_000)}${rows}/s`] : []),
    ...(perMs > 0 && total !== null && total > done ? [`${duration((total - done) / perMs)} left`] : []),
  ].join(', ');
}
