import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Running, startCli } from '../helpers/cli.ts';
import { temporaryFolder } from '../helpers/folder.ts';
import { runMain } from '../helpers/main.ts';
import { CANARY, setupSync } from '../helpers/sync-bench.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';

const serving = (cwd: string, settings: Record<string, string> = {}) =>
  startCli(['serve', '--port', '0'], settings, cwd);

async function urlOf({ output }: Running): Promise<string> {
  const url = () => /"url":"(https?:[^"]+)"/.exec(output())?.[1];
  await expect.poll(url).toBeDefined();
  return url() as string;
}

test('answers those who have a key, while no daemon runs, and makes no call', async () => {
  const { cwd, run, sync, model, environment } = await setupSync({ rows: 12 }, virtualClock(Date.now()));
  await sync();
  const { stdout } = await run(['keys', 'create', '--name', 'reports', '--json']);
  const { key } = JSON.parse(stdout) as { key: string };
  const calls = model.calls.length;
  const running = serving(cwd, { MIRROR_DIR: environment.MIRROR_DIR });
  const url = await urlOf(running);
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const ask = (headers = {}, filter = '') => fetch(`${url}/api/v1/news?limit=5${filter}`, { headers });
  expect((await ask()).status).toBe(401);
  // Filters look at rows on a thread.
  for (const [filter, total] of [
    ['', 12],
    ['&q=no+row+has+this', 0],
  ] as const) {
    const answer = await ask({ Authorization: `Bearer ${key}` }, filter);
    expect(answer.status).toBe(200);
    const { rows, pagination } = (await answer.json()) as { rows: unknown[]; pagination: { total: number } };
    expect([rows.length, pagination.total]).toEqual([Math.min(5, total), total]);
  }
  expect(model.calls).toHaveLength(calls);

  const { pid } = running.child;
  const { serve } = JSON.parse((await run(['status', '--json'])).stdout);
  expect(serve).toEqual({ pid, url, page: 'token', since: expect.stringMatching(/^\d{4}-.*Z$/) });
  expect((await run(['status'])).stdout).toMatch(new RegExp(`; serving ${url} \\(process ${pid}, began `));
  running.child.kill('SIGTERM');
  expect((await running.ended).code).toBe(0);
  expect(JSON.parse((await run(['status', '--json'])).stdout).serve).toBeNull();
});

/** A working folder whose `data/` will have a mirror. */
function emptyMirror(): string {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, 'data'), { mode: 0o700 });
  return cwd;
}

test('begins before there is a mirror, lets no second one onto its folder, no crowd keep clients out, and no link into its log', async () => {
  const cwd = emptyMirror();
  const running = serving(cwd);
  const url = await urlOf(running);
  await expect.poll(running.output).toMatch(/mirror\.db does not exist yet: run market-mirror sync or start/);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  const unready = await fetch(`${url}/readyz`);
  expect([unready.status, unready.headers.has('Retry-After')]).toEqual([503, true]);
  await expect.poll(running.output).toContain('market-mirror keys page prints a link');
  expect(running.output()).not.toContain('token=');

  const second = await runMain(['serve', '--port', '0'], { MIRROR_DIR: join(cwd, 'data') }, virtualClock());
  expect([second.code, second.stderr]).toEqual([
    75,
    expect.stringMatching(`process ${running.child.pid} serves from there already; end it first\n$`),
  ]);

  const port = Number(new URL(url).port);
  const crowd = Array.from({ length: 1_100 }, () =>
    connect({ port, host: '127.0.0.1' }).on('error', () => undefined),
  );
  onTestFinished(() => crowd.forEach((socket) => void socket.destroy()));
  await Promise.all(crowd.map((socket) => once(socket, 'connect')));
  const begun = performance.now();
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect(performance.now() - begun).toBeLessThan(5_000);
  crowd.at(-1)?.write('GET /healthz HTTP/1.1\r\nHost: loc');
  running.child.kill('SIGTERM');
  expect((await running.ended).code).toBe(0);
  expect(performance.now() - begun).toBeLessThan(10_000);
});

test.each([
  [['--port', '65536'], {}, 64, /--port: '65536' is no port/],
  [['--host', 'http://localhost'], {}, 64, /--host: 'http:\/\/localhost' is no address or name/],
  [['--host', '0.0.0.0'], {}, 78, /0\.0\.0\.0 is not loopback.*MIRROR_SERVE_TRUST/],
  [['--port', '0'], { MIRROR_SERVE_TLS_CERT: '/none', MIRROR_SERVE_TLS_KEY: '/none' }, 78, /\/none cannot/],
])('what is wrong ends it with one line %j %j', async (args, settings, code, line) => {
  const environment = {
    ...settings,
    MIRROR_DIR: temporaryFolder(),
    LOG_LEVEL: 'fatal',
    MARKET_API_KEY: CANARY,
  };
  const ended = await runMain(['serve', ...args], environment, virtualClock());
  expect([ended.code, ended.stdout]).toEqual([code, '']);
  expect(ended.stderr).toMatch(/^market-mirror: [^\n]+\n$/);
  expect(ended.stderr).toMatch(line);
  expect(ended.stderr).not.toContain(CANARY);
});
