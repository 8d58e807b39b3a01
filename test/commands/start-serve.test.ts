import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { isAlive } from '../../src/process-name.ts';
import type { Status } from '../../src/reading/status.ts';
import { runCli } from '../helpers/cli.ts';
import { CANARY, releaseAll, setup, within } from '../helpers/daemon-bench.ts';
import { freePort } from '../helpers/loopback.ts';

afterEach(releaseAll);

const off = Object.fromEntries(
  ['SMART_WALLETS', 'MEME_SIGNALS', 'AI_SIGNALS'].map((job) => [`MIRROR_SCHEDULE_${job}`, 'off']),
);

async function setupServing(settings: Record<string, string> = {}) {
  const port = await freePort();
  const bench = await setup({}, { ...off, MIRROR_SERVE: `127.0.0.1:${port}`, ...settings });
  const status = async () => {
    const { stdout } = await runCli(['status', '--json'], {}, bench.cwd);
    return (stdout === '' ? {} : JSON.parse(stdout)) as Partial<Status>;
  };
  const lives = async () => {
    try {
      return (await fetch(`http://127.0.0.1:${port}/healthz`)).status;
    } catch {
      return undefined;
    }
  };
  return { ...bench, port, status, lives };
}

test('start runs the service, without what it must not know, starts it again, and ends it', async () => {
  const { start, status, lives, port } = await setupServing();
  const daemon = start();
  await expect.poll(lives, within).toBe(200);
  const { serve } = await status();
  expect(serve).toMatchObject({ url: `http://127.0.0.1:${port}`, since: expect.any(String) });
  const pid = serve?.pid as number;
  expect(pid).not.toBe(daemon.child.pid);
  const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
  expect(environment).not.toContain(CANARY);
  expect(environment.split('\0')).toEqual(expect.arrayContaining(['MARKET_API_KEY=', 'REDIS_URL=']));

  process.kill(pid, 'SIGKILL');
  await expect.poll(async () => (await status()).serve?.pid ?? pid, within).not.toBe(pid);
  await expect.poll(lives, within).toBe(200);
  const again = (await status()).serve?.pid as number;
  expect(daemon.output()).toMatch(/the service does not run: it was ended by SIGKILL/);
  daemon.child.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
  expect(isAlive(again)).toBe(false);
});

test('a daemon that is killed takes the service with it, so that the next one can start it', async () => {
  const { start, status, lives } = await setupServing();
  const first = start();
  await expect.poll(lives, within).toBe(200);
  const pid = (await status()).serve?.pid as number;
  first.child.kill('SIGKILL');
  await first.ended.catch(() => undefined);
  await expect.poll(() => isAlive(pid), within).toBe(false);
  start();
  await expect.poll(lives, within).toBe(200);
});

test('mirroring goes on where the service cannot run, and status says why', async () => {
  const certificate = {
    MIRROR_SERVE_TLS_CERT: '/none',
    MIRROR_SERVE_TLS_KEY: resolve('test/fixtures/tls/first.key'),
  };
  const { start, status, file, cwd } = await setupServing(certificate);
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
  expect((await runCli(['status'], {}, cwd)).stdout).toContain('the service does not run since');
  const { checks } = JSON.parse((await runCli(['doctor', '--offline', '--json'], {}, cwd)).stdout);
  expect(checks).toContainEqual(expect.objectContaining({ name: 'serve', level: 'warning' }));
  expect(daemon.output().match(/the service does not run: /g)).toHaveLength(1);
});
