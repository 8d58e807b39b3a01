import { expect, test } from 'vitest';
import { setup, sparingly } from '../../helpers/daemon-bench.ts';
import { cuttingProxy, postgres } from '../../helpers/postgres.ts';

test('the daemon ships after every walk, mirrors on where Postgres is down, says so, and goes on by itself', async () => {
  const there = await postgres();
  let isDown = true;
  const way = await cuttingProxy(there, () => (isDown ? 'before' : false));
  const { start, status, complete } = await setup({}, { MIRROR_SHIP: way.url });
  const daemon = start();
  await expect.poll(complete, sparingly).toBe(5);
  await expect
    .poll(async () => (await status()).status.ship?.trouble?.message, sparingly)
    .toContain('is not there');
  const { problems, ship } = (await status()).status;
  expect(problems).toContainEqual(expect.objectContaining({ code: 'ship-behind', level: 'warning' }));
  expect(ship?.changes).toBeGreaterThan(130);
  isDown = false;
  const fresh = () =>
    there.query('SELECT job FROM freshness WHERE complete_as_of IS NOT NULL').catch(() => []);
  await expect.poll(async () => (await fresh()).length, sparingly).toBe(5);
  await expect
    .poll(async () => (await status()).status.ship, sparingly)
    .toEqual({ changes: 0, seconds: 0, trouble: null });
  daemon.child.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
  expect(daemon.output()).toContain('mirroring goes on');
  expect(daemon.output()).toContain('shipping goes on');
});
