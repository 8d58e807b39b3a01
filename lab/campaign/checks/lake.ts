/** What must hold of the lake that follows the mirror, once the API has been left alone. */

import type { Finding } from '../checks.ts';
import type { World } from '../world.ts';

/** Polls of `usage` go on. By DuckDB, change by change and value by value, then by its own receipts; nothing where nothing has been laid. */
export async function checkLake({ lake, run, database }: World): Promise<Finding[]> {
  if (lake.counts.started === 0) return [];
  const { code, stderr, stdout } = await run(['lake', '--verify'], { MIRROR_LAKE: lake.folder }).ended;
  // Whoever looks at no lake loads no DuckDB.
  const { differencesThere } = await import('../../../test/helpers/lake.ts');
  const found =
    code === 0
      ? await differencesThere(database, lake.folder, 'usage')
      : [`lake --verify ended with ${code}: ${stdout}${stderr}`];
  return found.map((what) => ({ kind: 'false', what: `in the lake: ${what}` }));
}
