/** A line per job: kept up to date on a terminal, written when something is worth saying elsewhere. */

import type { Clock } from '../clock.ts';
import type { Progress } from '../mirror.ts';
import type { Output } from '../output/print.ts';
import { number, plural } from '../output/text.ts';
import { printable } from '../printable.ts';
import type { WalkRow } from '../store.ts';

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
  const { createLogUpdate } = await import('log-update');
  const redraw = createLogUpdate(output as NodeJS.WriteStream, { showCursor: true });
  const lines = new Map(jobs.map((job) => [job, 'queued']));
  const pace = createPace(clock);
  let drawn = Number.NEGATIVE_INFINITY;
  const width = Math.max(...jobs.map((job) => job.length));
  const draw = () => {
    drawn = clock.now();
    redraw([...lines].map(([job, text]) => `${job.padEnd(width)}  ${text}`).join('\n'));
  };
  return {
    page(at) {
      lines.set(at.job, progressText(at, pace(at)));
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
  const pace = createPace(clock);
  return {
    page(at) {
      const rate = pace(at);
      if (clock.now() - (said.get(at.job) ?? Number.NEGATIVE_INFINITY) < PLAIN_EVERY_MS) return;
      said.set(at.job, clock.now());
      output.write(`${at.job}: ${progressText(at, rate)}\n`);
    },
    note: (job, text) => output.write(`${job}: ${printable(text)}\n`),
    end: () => undefined,
  };
}

/** Rows a second since this process took up the walk; undefined at its first page. */
function createPace(clock: Clock): (at: Progress) => number | undefined {
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
  if (rate !== undefined) parts.push(`${number(rate)} rows/s`);
  if (callsLeft !== null) parts.push(`${number(callsLeft)} calls left`);
  return parts.join(', ');
}

/** A finished walk in one line. */
export function describeWalk(walk: WalkRow): string {
  const changes = `${number(walk.inserted)} new, ${number(walk.updated)} changed, ${number(walk.deleted)} gone`;
  const problems = walk.quarantined > 0 ? `, ${number(walk.quarantined)} quarantined` : '';
  return `${walk.verdict ?? walk.kind}: ${count(walk.rows, 'row')} in ${count(walk.apiCalls, 'call')} (${changes}${problems})`;
}

const count = (value: number, unit: string) => `${number(value)} ${plural(value, unit)}`;
