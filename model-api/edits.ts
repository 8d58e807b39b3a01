/** Life upstream: one edit after the other, as a published list sees them. */

import type { Dataset, Row } from './datasets/index.ts';
import { integer, pickSome, type Random } from './random.ts';

/**
 * One edit: mostly a new row at the head for the last one at the tail, else a changed row, now and then a row gone
 * from the middle. `at` is its time in epoch milliseconds. `generatedAt` is left alone.
 */
export function liveEdit(dataset: Dataset, random: Random, at?: number): void {
  const { rows } = dataset;
  const place = integer(random, 0, rows.length - 1);
  const row = rows[place];
  const kind = random();
  if (row && kind < 0.35) rows[place] = changed(row, dataset.make(1, at), dataset.moving, random);
  else if (row && kind < 0.4) rows.splice(place, 1);
  else {
    rows.unshift(...dataset.make(1, at));
    if (kind < 0.95) rows.pop();
  }
}

/** The row with some of its moving members as a new row has them. */
function changed(row: Row, [fresh = {}]: Row[], moving: readonly string[], random: Random): Row {
  return { ...row, ...Object.fromEntries(pickSome(random, moving, 2).map((name) => [name, fresh[name]])) };
}
