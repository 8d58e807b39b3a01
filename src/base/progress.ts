/** Reports how far long work has come, on a channel of this process. Without a listener it costs nothing. */

import { channel } from 'node:diagnostics_channel';

export type ProgressStep = {
  /** Such as `news`. */
  what: string;
  unit: 'rows' | 'bytes';
  /** Of `total`, which is null where it is not known. */
  done: number;
  total: number | null;
};

const steps = channel('market-mirror:progress');

export function reportProgress(step: ProgressStep): void {
  if (steps.hasSubscribers) steps.publish(step);
}

const ROWS_PER_REPORT = 1_000;

/**
 * The same rows, reported as they are taken.
 * @param total called only where somebody listens.
 */
export function reportingRows<Row>(
  rows: Iterable<Row>,
  what: string,
  total: () => number | null,
): Iterable<Row> {
  return steps.hasSubscribers ? reported(rows, what, total()) : rows;
}

function* reported<Row>(rows: Iterable<Row>, what: string, total: number | null): Generator<Row> {
  let done = 0;
  for (const row of rows) {
    yield row;
    done += 1;
    if (done % ROWS_PER_REPORT === 0) reportProgress({ what, unit: 'rows', done, total });
  }
}

/** @returns what ends the listening. */
export function onProgress(listen: (step: ProgressStep) => void): () => void {
  const listener = (message: unknown) => listen(message as ProgressStep);
  steps.subscribe(listener);
  return () => void steps.unsubscribe(listener);
}
