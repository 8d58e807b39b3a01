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

/** By an independent reader: every table of the datasets, value by value, and every walk. */
export async function expectEqual(file: string, { query }: Pick<Postgres, 'query'>): Promise<void> {
  expect(await differencesThere(file, query)).toEqual([]);
  const { here, there } = await walksThere(file, query);
  expect(there).toEqual(here);
}
