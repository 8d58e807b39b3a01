/** A mirror, a Postgres of its own that follows it, and a reader of both. */

import { expect } from 'vitest';
import { cached } from '../../helpers/cached.ts';
import { type Postgres, postgres } from '../../helpers/postgres.ts';
import { differencesThere, walksThere } from '../../helpers/shipped.ts';
import { copyMirror, setupCopy, setupSync, setupSynced } from '../../helpers/sync-bench.ts';

export const setup = async (rows = 12) => follow(await setupSync({ rows }), await postgres());

/** The same where everything was mirrored. */
export const setupMirrored = async (rows = 12) => follow(await setupSynced(rows), await postgres());

function follow(bench: Awaited<ReturnType<typeof setupSync>>, there: Postgres) {
  const ship = (...args: string[]) => bench.run(['ship', ...args], { MIRROR_SHIP: there.url });
  return { ...bench, there, ship };
}

/** The same where all of it was shipped, too: mirror and database are copies of those that were shipped once. */
export async function setupShipped(rows = 12) {
  const { mirror, database } = await shippedMirror(rows);
  return follow(await setupCopy(mirror), await postgres(database));
}

const shippedMirror = cached(async (rows: number) => {
  const bench = await setupMirrored(rows);
  expect((await bench.ship()).code).toBe(0);
  await bench.there.end();
  return { mirror: copyMirror(bench, rows), database: bench.there.database };
});

/** By an independent reader: every table of the datasets, value by value, and every walk. */
export async function expectEqual(file: string, { query }: Pick<Postgres, 'query'>): Promise<void> {
  expect(await differencesThere(file, query)).toEqual([]);
  const { here, there } = await walksThere(file, query);
  expect(there).toEqual(here);
}
