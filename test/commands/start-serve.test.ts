/** The service of the daemon, and what no child of either may know. */

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { isAlive } from '../../src/base/process-name.ts';
import { daemonHere } from '../helpers/daemon.ts';
import { CANARY, redisServers, setup } from '../helpers/daemon-bench.ts';
import { freePort } from '../helpers/loopback.ts';

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

const secrets = {
  AWS_ACCESS_KEY_ID: 'canary-aws-id',
  AWS_SECRET_ACCESS_KEY: 'canary-aws-secret',
  AWS_SESSION_TOKEN: 'canary-aws-token',
  PGPASSWORD: 'canary-pg',
  SOME_TOKEN: 'canary-of-others',
};

/** Names of the canaries that a text holds. */
const found = (text: string) =>
  [CANARY, ...Object.values(secrets), 'canary-ship'].filter((canary) => text.includes(canary));

/** The processes that descend from this one, by their command lines, with their environments as they were started. */
function descendants(of: number): { command: string; environment: string }[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => Number(/\) \S (\d+)/.exec(read(`/proc/${pid}/stat`))?.[1]) === of);
  return children.flatMap((pid) => {
    const command = read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
    return [{ command, environment: read(`/proc/${pid}/environ`) }, ...descendants(Number(pid))];
  });
}

/** Nothing of a process that has ended. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

test('no child of the daemon finds a secret; its command finds what MIRROR_ON_CHANGE_ENV names; the service ends with a daemon that is killed', async () => {
  const hook = `env > "$CHANGE_JOB.env.part"; mv "$CHANGE_JOB.env.part" "$CHANGE_JOB.env"; exec sleep 600`;
  const { cwd, start, status, lives, port } = await setupServing({
    ...secrets,
    MIRROR_SHIP: 'postgres://mirror:canary-ship@127.0.0.1:1/market',
    MIRROR_ON_CHANGE: hook,
    MIRROR_ON_CHANGE_ENV: 'AWS_*',
  });
  writeFileSync(join(cwd, '.env'), 'AWS_PROFILE=canary-aws-id\n', { mode: 0o600 });
  const daemon = start();
  await expect.poll(lives).toBe(200);
  const { serve } = await status();
  expect(serve).toMatchObject({ url: `http://127.0.0.1:${port}`, since: expect.any(String) });
  const pid = serve?.pid as number;
  expect(pid).not.toBe(daemon.child.pid);
  const settings = read(`/proc/${pid}/environ`).split('\0');
  expect(settings).toEqual(expect.arrayContaining(['MARKET_API_KEY=', 'REDIS_URL=']));

  const hookFile = join(cwd, 'usage.env');
  await expect.poll(() => existsSync(hookFile)).toBe(true);
  expect(redisServers(cwd)).not.toEqual([]);
  // Redis writes its title over its environment; the watcher beside it was given the same.
  const children = descendants(daemon.child.pid ?? 0).filter(({ command }) => !/sleep 600/.test(command));
  expect(children.filter(({ environment }) => environment.includes('PATH=')).length).toBeGreaterThanOrEqual(
    2,
  );
  for (const { command, environment } of children)
    expect([command, found(environment)]).toEqual([command, []]);
  const told = readFileSync(hookFile, 'utf8');
  expect(found(told).sort()).toEqual(['canary-aws-id', 'canary-aws-secret', 'canary-aws-token']);
  expect(told).toContain('CHANGE_JOB=usage');

  daemon.child.kill('SIGKILL');
  await daemon.ended;
  await expect.poll(() => isAlive(pid)).toBe(false);
  expect(found(daemon.output())).toEqual([]);
});

test('mirroring goes on where the service cannot run, and status says why', async () => {
  const certificate = {
    MIRROR_SERVE_TLS_CERT: '/none',
    MIRROR_SERVE_TLS_KEY: resolve('test/fixtures/tls/first.key'),
  };
  const { environment, cwd, run, status, file } = await setupServing(certificate);
  const { lines } = daemonHere({ ...environment, MIRROR_DIR: join(cwd, 'data') });
  await expect.poll(() => read(file)).not.toBe('');
  await expect
    .poll(async () => (await status()).daemon?.serve)
    .toMatchObject({
      message: expect.stringContaining('MIRROR_SERVE_TLS_CERT: /none cannot be read'),
    });
  const fresh = async () => (await status()).datasets?.find(({ job }) => job === 'news')?.fresh;
  await expect.poll(fresh).toBe(true);
  const { problems } = await status();
  expect(problems).toContainEqual(expect.objectContaining({ code: 'serve-down', level: 'warning' }));
  expect((await run('status')).stdout).toContain('the service does not run since');
  const { checks } = JSON.parse((await run('doctor', '--offline', '--json')).stdout);
  expect(checks).toContainEqual(expect.objectContaining({ name: 'serve', level: 'warning' }));
  expect(lines.filter(({ msg }) => msg.startsWith('the service does not run: '))).toHaveLength(1);
});
