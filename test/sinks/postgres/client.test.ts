/** A connection to a Postgres that says nothing. */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openPostgres } from '../../../src/sinks/postgres/client.ts';
import { listenOnLoopback } from '../../helpers/loopback.ts';
import { runMain } from '../../helpers/main.ts';
import { cuttingProxy, postgres } from '../../helpers/postgres.ts';
import { setupSync } from '../../helpers/sync-bench.ts';

/** When the kernel asks the other side whether it is still there, in seconds; undefined where it does not. */
function keepAliveSeconds(remotePort: number): number | undefined {
  const port = remotePort.toString(16).toUpperCase().padStart(4, '0');
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n');
  const found = rows
    .map((row) => row.trim().split(/\s+/))
    .find(([, , remote]) => remote?.endsWith(`:${port}`));
  const [timer = '', ticks = ''] = found?.[5]?.split(':') ?? [];
  return timer === '02' ? Number.parseInt(ticks, 16) / 100 : undefined;
}

test('a host that vanishes is noticed within a minute: the kernel asks for it after 30 s of silence', async () => {
  const { url } = await cuttingProxy(await postgres(), () => false);
  const connection = await openPostgres({ url, schema: 'market_mirror' }, new AbortController().signal);
  onTestFinished(connection.close);
  const port = Number(new URL(url).port);
  await expect.poll(() => keepAliveSeconds(port)).toBeLessThanOrEqual(30);
});

test('a host that takes the connection and says nothing is left as soon as ship is told to stop', async () => {
  const { environment, clock, sync } = await setupSync({ rows: 3 });
  await sync('usage');
  const stop = new AbortController();
  let stoppedAt = Number.NaN;
  const server = createServer(() => {
    stoppedAt = performance.now();
    stop.abort(new Error('stopped by SIGINT'));
  });
  const { port, close } = await listenOnLoopback(server);
  onTestFinished(close);
  const MIRROR_SHIP = `postgres://me@127.0.0.1:${port}/reports`;
  const ended = await runMain(['ship'], { ...environment, MIRROR_SHIP }, clock, stop.signal);
  expect(ended).toMatchObject({ code: 75, stderr: expect.stringMatching(/: stopped; [^\n]+\n$/) });
  // Without a word it would wait for 10 s.
  expect(performance.now() - stoppedAt).toBeLessThan(5_000);
});
