/** `ship` of the built program, which can be killed. */

import { expect, test } from 'vitest';
import { startCli } from '../../helpers/cli.ts';
import type { Postgres } from '../../helpers/postgres.ts';
import { expectEqual, setupMirrored } from './bench.ts';

test('a shipper that is killed at any moment leaves nothing half', async () => {
  const bench = await setupMirrored(60);
  const settings = { ...bench.environment, MIRROR_SHIP: bench.there.url };
  for (let kill = 0; kill < 3; kill += 1) {
    const { child, ended } = startCli(['ship'], settings, bench.cwd);
    // Once it is at work there, and a little later each time; one that was quicker than the look has ended.
    await expect.poll(async () => child.exitCode ?? (await shippers(bench.there)) > 0).not.toBe(false);
    await bench.there.query('SELECT pg_sleep($1)', [kill * 0.05]);
    child.kill('SIGKILL');
    expect([0, null]).toContain((await ended).code);
  }
  expect((await bench.ship()).code).toBe(0);
  await expectEqual(bench.file, bench.there);
});

const shippers = async ({ query, database }: Postgres) =>
  (
    await query(
      `SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'market-mirror%' AND datname = $1`,
      [database],
    )
  ).length;
