/** Lines on a terminal that change while work goes on: of the jobs of a sync, and of any other work that takes long. */

import type { Clock } from '../clock.ts';
import type { Progress } from '../mirror.ts';
import { bytes, count, duration, number } from '../output/numbers.ts';
import type { Output } from '../output/print.ts';
import { printable } from '../printable.ts';
import { onProgress, type ProgressStep } from '../progress.ts';
import type { Context } from './context.ts';

/** A text that replaces the one before on the terminal. */
export async function redrawing(output: Output) {
  const { createLogUpdate } = await import('log-update');
  return createLogUpdate(output as NodeJS.WriteStream, { showCursor: true });
}

/** A line a job: kept up to date on a terminal, written when something is worth saying elsewhere. */
export type ProgressLines = {
  page(at: Progress): void;
  note(job: string, text: string): void;
  end(): void;
};

/** Where lines cannot be redrawn, one a job at most this often. */
const PLAIN_EVERY_MS = 2_000;
const REDRAW_EVERY_MS = 100;

export async function progressLines(
  output: Output,
  jobs: readonly string[],
  clock: Clock,
): Promise<ProgressLines> {
  return output.isTTY ? await liveLines(output, jobs, clock) : plainLines(output, clock);
}

async function liveLines(output: Output, jobs: readonly string[], clock: Clock): Promise<ProgressLines> {
  const redraw = await redrawing(output);
  const lines = new Map(jobs.map((job) => [job, 'queued']));
  const rateOf = rateMeter(clock);
  let drawn = Number.NEGATIVE_INFINITY;
  const width = Math.max(...jobs.map((job) => job.length));
  const draw = () => {
    drawn = clock.now();
    redraw([...lines].map(([job, text]) => `${job.padEnd(width)}  ${text}`).join('\n'));
  };
  return {
    page(at) {
      lines.set(at.job, progressText(at, rateOf(at)));
      if (clock.now() - drawn >= REDRAW_EVERY_MS) draw();
    },
    note(job, text) {
      lines.set(job, printable(text));
      draw();
    },
    end() {
      draw();
      redraw.done();
    },
  };
}

function plainLines(output: Output, clock: Clock): ProgressLines {
  const said = new Map<string, number>();
  const rateOf = rateMeter(clock);
  return {
    page(at) {
      const rate = rateOf(at);
      if (clock.now() - (said.get(at.job) ?? Number.NEGATIVE_INFINITY) < PLAIN_EVERY_MS) return;
      said.set(at.job, clock.now());
      output.write(`${at.job}: ${progressText(at, rate)}\n`);
    },
    note: (job, text) => output.write(`${job}: ${printable(text)}\n`),
    end: () => undefined,
  };
}

/** Rows a second since this process took up the walk; undefined at its first page. */
function rateMeter(clock: Clock): (at: Progress) => number | undefined {
  const started = new Map<number, { rows: number; at: number }>();
  return ({ walk }) => {
    const from = started.get(walk.id);
    if (!from) started.set(walk.id, { rows: walk.rows, at: clock.now() });
    const seconds = from ? (clock.now() - from.at) / 1_000 : 0;
    return from && seconds > 0 ? (walk.rows - from.rows) / seconds : undefined;
  };
}

function progressText({ walk, callsLeft }: Progress, rate: number | undefined): string {
  const parts = [count(walk.pages, 'page'), count(walk.rows, 'row')];
  if (rate !== undefined) parts.push(`${number(rate, 0)} rows/s`);
  if (callsLeft !== null) parts.push(`${number(callsLeft)} calls left`);
  return parts.join(', ');
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
