/** A line on a terminal that says how far long work is: on what, how much of how much, how fast, and how long it still takes. */

import { bytes, duration, number } from '../output/text.ts';
import { printable } from '../printable.ts';
import { onProgress, type ProgressStep } from '../progress.ts';
import type { Context } from './context.ts';

/** Work that ends sooner needs no line. */
const SHOWN_AFTER_MS = 2_000;
const REDRAW_EVERY_MS = 200;

const CLEAR_LINE = '\r\u001b[K';

/** Does the work, with such a line below what is printed: none where `stderr` is no terminal, and none after its end. */
export async function withProgressLine<Result>(
  { stderr, clock }: Pick<Context, 'stderr' | 'clock'>,
  work: () => Promise<Result> | Result,
): Promise<Result> {
  if (!stderr.isTTY) return await work();
  const startedAt = clock.monotonic();
  const phase = { what: '', at: startedAt, from: 0, done: 0 };
  let drawnAt = Number.NEGATIVE_INFINITY;
  const stop = onProgress((step) => {
    const now = clock.monotonic();
    const isNew = step.what !== phase.what || step.done < phase.done;
    // Rows before the first report came in no time that is known.
    if (isNew) Object.assign(phase, { what: step.what, at: now, from: step.done });
    phase.done = step.done;
    if (now - startedAt < SHOWN_AFTER_MS || now - drawnAt < REDRAW_EVERY_MS) return;
    drawnAt = now;
    const perMs = now > phase.at ? (step.done - phase.from) / (now - phase.at) : 0;
    stderr.write(`${CLEAR_LINE}${describeStep(step, perMs).slice(0, (stderr.columns ?? 80) - 1)}`);
  });
  try {
    return await work();
  } finally {
    stop();
    if (drawnAt > 0) stderr.write(CLEAR_LINE);
  }
}

/** @param perMs rows or bytes in a millisecond; 0 while that is not known. */
function describeStep({ what, unit, done, total }: ProgressStep, perMs: number): string {
  const amount = unit === 'bytes' ? bytes : number;
  const ofTotal = total === null ? '' : ` of ${amount(total)}`;
  return [
    `${printable(what)}: ${amount(done)}${ofTotal}${unit === 'rows' ? ' rows' : ''}`,
    ...(perMs > 0 ? [`${amount(perMs * 1_000)}${unit === 'rows' ? ' rows' : ''}/s`] : []),
    ...(perMs > 0 && total !== null && total > done ? [`${duration((total - done) / perMs)} left`] : []),
  ].join(', ');
}
