/** Secrets stay in the process that needs them: what its real children find in their environments. */

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { runCli, startCli } from './helpers/cli.ts';
import { CANARY, redisServers, releaseAll, releases, setup, within } from './helpers/daemon-bench.ts';
import { freePort } from './helpers/loopback.ts';

afterEach(releaseAll);

const secrets = {
  AWS_ACCESS_KEY_ID: 'canary-aws-id',
  AWS_SECRET_ACCESS_KEY: 'canary-aws-secret',
  AWS_SESSION_TOKEN: 'canary-aws-token',
  PGPASSWORD: 'canary-pg',
  SOME_TOKEN: 'canary-of-others',
};
const canaries = [CANARY, ...Object.values(secrets), 'canary-ship'];

/** Names of the canaries that a text holds. */
const found = (text: string) => canaries.filter((canary) => text.includes(canary));

/** The processes that descend from this one, by their command lines, with their environments as they were started. */
function descendants(of: number): { command: string; environment: string }[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => parentOf(pid) === of);
  return children.flatMap((pid) => {
    const command = read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
    return [{ command, environment: read(`/proc/${pid}/environ`) }, ...descendants(Number(pid))];
  });
}

const parentOf = (pid: string) => Number(/\) \S (\d+)/.exec(read(`/proc/${pid}/stat`))?.[1]);

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

test('no child of the daemon finds a secret; its command finds what MIRROR_ON_CHANGE_ENV names', async () => {
  const hook = `env > "$CHANGE_JOB.env.part"; mv "$CHANGE_JOB.env.part" "$CHANGE_JOB.env"; exec sleep 600`;
  const { cwd, start, complete } = await setup(
    {},
    {
      ...secrets,
      MIRROR_SERVE: `127.0.0.1:${await freePort()}`,
      MIRROR_SHIP: 'postgres://mirror:canary-ship@127.0.0.1:1/market',
      MIRROR_ON_CHANGE: hook,
      MIRROR_ON_CHANGE_ENV: 'AWS_*',
    },
  );
  writeFileSync(join(cwd, '.env'), 'AWS_PROFILE=canary-aws-id\n', { mode: 0o600 });
  const daemon = start();
  const hookFile = join(cwd, 'usage.env');
  await expect.poll(() => existsSync(hookFile) && complete() === 5, within).toBe(true);
  const children = () => descendants(daemon.child.pid ?? 0);
  const [server] = redisServers(cwd);
  expect(server).toBeGreaterThan(0);
  await expect.poll(() => children().some(({ command }) => / serve $/.test(command)), within).toBe(true);
  // Redis writes its title over its environment; the watcher beside it was given the same.
  const others = children().filter(({ command }) => !/sleep 600/.test(command));
  expect(others.filter(({ environment }) => environment.includes('PATH=')).length).toBeGreaterThanOrEqual(2);
  for (const { command, environment } of others) expect([command, found(environment)]).toEqual([command, []]);

  const told = readFileSync(hookFile, 'utf8');
  expect(found(told).sort()).toEqual(['canary-aws-id', 'canary-aws-secret', 'canary-aws-token']);
  expect(told).toContain('CHANGE_JOB=usage');
  expect(found(daemon.output())).toEqual([]);
});

test('the process of a query finds no secret', async () => {
  const { cwd, environment } = await setup({ rows: 5 });
  expect((await runCli(['sync', 'usage'], environment, cwd)).code).toBe(0);
  const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n';
  const asking = startCli(['query', endless], { ...environment, ...secrets }, cwd);
  releases.push(async () => {
    asking.child.kill('SIGKILL');
    await asking.ended;
  });
  const children = () => descendants(asking.child.pid ?? 0);
  const isThere = () => children().some(({ command }) => command.includes('worker-main.js query'));
  await expect.poll(isThere, within).toBe(true);
  for (const { command, environment } of children()) {
    expect(environment).toContain('PATH=');
    expect([command, found(environment)]).toEqual([command, []]);
  }
});
