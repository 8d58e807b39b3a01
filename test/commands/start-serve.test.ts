import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { isAlive } from '../../src/process-name.ts';
import { CANARY, releaseAll, setup, within } from '../helpers/daemon-bench.ts';
import { freePort } from '../helpers/loopback.ts';

afterEach(releaseAll);

const off = Object.fromEntries(
  ['SMART_WALLETS', 'MEME_SIGNALS', 'AI_SIGNALS'].map((job) => [`MIRROR_SCHEDULE_${job}`, 'off']),
);

async function setupServing(settings: Record<string, string> = {}) {
  const port = await freePort();
  const bench = await setup({}, { ...off, MIRROR_SERVE: `127.0.0.1:${port}`, ...settings });
  const status = async () => (await bench.status()).status;
  const lives = async () => {
    try {
      return (await fetch(`http://127.0.0.1:${port}/healthz`)).status;
    } catch {
      return undefined;
    }
  };
  return { ...bench, port, status, lives };
}

test('start runs the service, without what it must not know, starts it again, and ends it however it ends itself', async () => {
  const { start, status, lives, port } = await setupServing();
  const first = start();
  await expect.poll(lives, within).toBe(200);
  const { serve } = await status();
  expect(serve).toMatchObject({ url: `http://127.0.0.1:${port}`, since: expect.any(String) });
  const pid = serve?.pid as number;
  expect(pid).not.toBe(first.child.pid);
  const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
  expect(environment).not.toContain(CANARY);
  expect(environment.split('\0')).toEqual(expect.arrayContaining(['MARKET_API_KEY=', 'REDIS_URL=']));

  const another = async (before: number) => {
    await expect.poll(async () => (await status()).serve?.pid ?? before, within).not.toBe(before);
    await expect.poll(lives, within).toBe(200);
    return (await status()).serve?.pid as number;
  };
  process.kill(pid, 'SIGKILL');
  const second = await another(pid);
  expect(first.output()).toMatch(/the service does not run: it was ended by SIGKILL/);

  // The next daemon can start it: it is gone with the one that was killed.
  first.child.kill('SIGKILL');
  await first.ended.catch(() => undefined);
  await expect.poll(() => isAlive(second), within).toBe(false);
  const daemon = start();
  const third = await another(second);
  daemon.child.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
  expect(isAlive(third)).toBe(false);
});

test('mirroring goes on where the service cannot run, and status says why', async () => {
  const certificate = {
    MIRROR_SERVE_TLS_CERT: '/none',
    MIRROR_SERVE_TLS_KEY: resolve('test/fixtures/tls/first.key'),
  };
  const { start, run, status, file } = await setupServing(certificate);
  const daemon = start();
  const walked = () => {
    try {
      return readFileSync(file).length > 0;
    } catch {
      return false;
    }
  };
  await expect.poll(walked, within).toBe(true);
  await expect
    .poll(async () => (await status()).daemon?.serve, within)
    .toMatchObject({
      message: expect.stringContaining('MIRROR_SERVE_TLS_CERT: /none cannot be read'),
    });
  const fresh = async () => (await status()).datasets?.find(({ job }) => job === 'news')?.fresh;
  await expect.poll(fresh, within).toBe(true);
  const { problems } = await status();
  expect(problems).toContainEqual(expect.objectContaining({ code: 'serve-down', level: 'warning' }));
  expect((await run('status')).stdout).toContain('the service does not run since');
  const { checks } = JSON.parse((await run('doctor', '--offline', '--json')).stdout);
  expect(checks).toContainEqual(expect.objectContaining({ name: 'serve', level: 'warning' }));
  expect(daemon.output().match(/the service does not run: /g)).toHaveLength(1);
});
