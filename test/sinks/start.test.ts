import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { daemonHere } from '../helpers/daemon.ts';
import { setup, sparingly } from '../helpers/daemon-bench.ts';
import { memoryFolder } from '../helpers/folder.ts';
import { cuttingProxy, postgres } from '../helpers/postgres.ts';
import { expectEqual as expectLaid } from './lake/bench.ts';

test('the daemon ships after every walk and lays a lake after its proofs, mirrors on where it cannot, says so, and goes on by itself', async () => {
  const there = await postgres();
  let isDown = true;
  const way = await cuttingProxy(there, () => (isDown ? 'before' : false));
  const folder = memoryFolder('mm-lake-');
  const obstacle = join(folder, '_partial');
  writeFileSync(obstacle, 'no folder');
  const { cwd, environment, status, file, complete } = await setup();
  const { lines, stop } = daemonHere({
    ...{ ...environment, PATH: process.env['PATH'], MIRROR_DIR: join(cwd, 'data') },
    ...{ MIRROR_SHIP: way.url, MIRROR_LAKE: folder, MIRROR_LAKE_EVERY: '100ms' },
  });
  const now = async () => (await status()).status;
  const troubles = async () => {
    const { ship, lake } = await now();
    return [ship, lake].map((target) => target?.trouble?.message);
  };
  await expect.poll(complete, sparingly).toBe(5);
  await expect
    .poll(troubles, sparingly)
    .toEqual([expect.stringContaining('is not there'), expect.stringContaining('cannot be')]);
  const { problems, ship, lake } = await now();
  for (const code of ['ship-behind', 'lake-behind'])
    expect(problems).toContainEqual(expect.objectContaining({ code, level: 'warning' }));
  expect([ship?.changes, lake?.changes]).toEqual(Array(2).fill(expect.toSatisfy((behind) => behind > 130)));

  isDown = false;
  rmSync(obstacle);
  const upToDate = { changes: 0, seconds: 0, trouble: null };
  await expect.poll(now, sparingly).toMatchObject({ ship: upToDate, lake: upToDate });
  const fresh = await there.query('SELECT job FROM freshness WHERE complete_as_of IS NOT NULL');
  expect(fresh).toHaveLength(5);
  await stop();
  const log = lines.map(({ msg }) => msg).join('\n');
  for (const said of ['mirroring goes on', 'shipping goes on', 'the lake goes on'])
    expect(log).toContain(said);
  await expectLaid(file, folder);
});
