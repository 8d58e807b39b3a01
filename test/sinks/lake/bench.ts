/** A mirror and a lake that follows it. */

import { join } from 'node:path';
import { expect } from 'vitest';
import type { ModelOptions } from '../../../model-api/index.ts';
import { differencesThere } from '../../helpers/lake.ts';
import { setupSync, setupSynced } from '../../helpers/sync-bench.ts';
import { virtualClock } from '../../helpers/virtual-clock.ts';

export { duckdb, presentIn } from '../../helpers/lake.ts';

export async function setup(options: ModelOptions = { rows: 12 }, clock = virtualClock()) {
  return laying(await setupSync(options, clock));
}

/** The same where everything was mirrored. */
export const setupMirrored = async (rows = 12) => laying(await setupSynced(rows));

function laying(bench: Awaited<ReturnType<typeof setupSync>>) {
  const there = join(bench.cwd, 'lake');
  const lake = (...args: string[]) => bench.run(['lake', ...args], { MIRROR_LAKE: there });
  return { ...bench, there, lake };
}

/** Every change once, and every version with every value: as the mirror has it, up to the last change that is there. */
export async function expectEqual(file: string, there: string): Promise<void> {
  expect(await differencesThere(file, there)).toEqual([]);
}
