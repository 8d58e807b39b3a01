/** A mirror, a Postgres of its own that follows it, and a reader of both. */

import { expect } from 'vitest';
import { type Postgres, postgres } from '../../helpers/postgres.ts';
import { differencesThere, walksThere } from '../../helpers/shipped.ts';
import { setupSync } from '../../helpers/sync-bench.ts';

export async function setup(rows = 40) {
  const [bench, there] = [await setupSync({ rows }), await postgres()];
  const ship = (...args: string[]) => bench.run(['ship', ...args], { MIRROR_SHIP: there.url });
  return { ...bench, there, ship };
}

/** Another state of the API: one row has gone, one has changed, and the snapshot is another one. */
export function edit(
  { model, clock }: Pick<Awaited<ReturnType<typeof setup>>, 'model' | 'clock'>,
  round: number,
): void {
  const { rows } = model.data.aiSignals;
  rows.splice(round % 5, 1);
  Object.assign(rows[6] ?? {}, { status: `round ${round}` });
  model.data.aiSignals.generatedAt = new Date(clock.now() + round).toISOString();
}

/** By an independent reader: every table of the datasets, value by value, and every walk. */
export async function expectEqual(file: string, { query }: Pick<Postgres, 'query'>): Promise<void> {
  expect(await differencesThere(file, query)).toEqual([]);
  const { here, there } = await walksThere(file, query);
  expect(there).toEqual(here);
}
