/** What must hold of the lakes that follow the mirror, once the API has been left alone. */

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Finding } from '../checks.ts';
import type { World } from '../world.ts';

/** Nothing where nothing has been laid. */
export async function checkLakes(world: World): Promise<Finding[]> {
  const { lake, bucket, scratch } = world;
  const inFolder = async () =>
    lake.counts.started > 0
      ? await differencesIn(world, { MIRROR_LAKE: lake.folder }, async () => lake.folder)
      : [];
  const inBucket = async () => {
    if (!bucket) return [];
    const there = mkdtempSync(join(scratch, 'bucket-'));
    const fetch = async () => {
      await bucket.fetchInto(there);
      return there;
    };
    const found = await differencesIn(world, bucket.environment, fetch);
    rmSync(there, { recursive: true });
    return found;
  };
  const found = await Promise.all([inFolder(), inBucket()]);
  return found.flat().map((what) => ({ kind: 'false', what }));
}

/** By its own receipts, then by DuckDB, change by change and value by value. Polls of `usage` go on. */
async function differencesIn(
  { run, database }: World,
  settings: Record<string, string>,
  folder: () => Promise<string>,
): Promise<string[]> {
  const { code, stderr, stdout } = await run(['lake', '--verify'], settings).ended;
  if (code !== 0)
    return [`lake --verify of ${settings['MIRROR_LAKE']} ended with ${code}: ${stdout}${stderr}`];
  // Whoever looks at no lake loads no DuckDB.
  const { differencesThere } = await import('../../../test/helpers/lake.ts');
  const found = await differencesThere(database, await folder(), 'usage');
  return found.map((what) => `in the lake ${settings['MIRROR_LAKE']}: ${what}`);
}
