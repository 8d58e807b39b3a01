/** What changes upstream while targets follow. */

import type { setupSync } from '../helpers/sync-bench.ts';

/** Another state of the API: one row has gone, one has changed, and the snapshot is another one. */
export function edit(
  { model, clock }: Pick<Awaited<ReturnType<typeof setupSync>>, 'model' | 'clock'>,
  round: number,
): void {
  const { rows } = model.data.aiSignals;
  rows.splice(round % 5, 1);
  Object.assign(rows[6] ?? {}, { status: `round ${round}` });
  model.data.aiSignals.generatedAt = new Date(clock.now() + round).toISOString();
}
