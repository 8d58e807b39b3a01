/** Redis in every trouble that can be made: mirroring goes on without it, two lines of log tell of it, and BullMQ wakes again when it is over. */

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Status } from '../../src/reading/status.ts';
import { daemonHere } from '../helpers/daemon.ts';
import { freePort } from '../helpers/loopback.ts';
import { setupSync } from '../helpers/sync-bench.ts';
import { sharedClock } from '../helpers/virtual-clock.ts';
import { othersOff } from '../helpers/virtual-life.ts';
import { redisServer, type Server, until } from '../queue/setup.ts';

const settings = { ...othersOff, MIRROR_SCHEDULE_NEWS: 'off', MIRROR_SCHEDULE_AI_SIGNALS: 'every 1s' };

/** A daemon on that Redis, which reads one dataset each second. */
async function daemonOn(url: string) {
  const bench = await setupSync({ rows: 5 }, sharedClock());
  const { lines } = daemonHere({ ...bench.environment, ...settings, REDIS_URL: url });
  const said = (msg: RegExp) => lines.filter((line) => msg.test(line.msg));
  const calls = () => bench.model.callsTo('/api/v1/ai-signals').length;
  const goesOn = async (when: string) => {
    const before = calls();
    await until(`two walks ${when}`, () => calls() >= before + 2);
  };
  const status = async () => JSON.parse((await bench.run(['status', '--json'], settings)).stdout) as Status;
  return { ...bench, lines, said, goesOn, status };
}

type Trouble = { make(server: Server): Promise<unknown>; mend(server: Server): Promise<unknown> };

const config = (server: Server, name: string, value: string) => server.client.config('SET', name, value);

const troubles: Record<string, Trouble> = {
  'is killed, and comes back empty': {
    async make(server) {
      await server.client.flushall();
      await server.kill();
    },
    mend: (server) => server.start(),
  },
  'is stopped': {
    make: async (server) => server.signal('SIGSTOP'),
    mend: async (server) => server.signal('SIGCONT'),
  },
  'is full': {
    make: (server) => config(server, 'maxmemory', '1'),
    mend: (server) => config(server, 'maxmemory', '0'),
  },
  'is a read-only replica': {
    make: async (server) => server.client.replicaof('127.0.0.1', await freePort()),
    mend: (server) => server.client.replicaof('NO', 'ONE'),
  },
  'cannot write to its disk': {
    // A folder in place of its file keeps Redis from saving, also where root runs it.
    async make(server) {
      mkdirSync(join(server.dir, 'dump.rdb', 'full'), { recursive: true });
      await config(server, 'save', '3600 1');
      await server.client.bgsave();
      await until('the save to fail', async () =>
        /rdb_last_bgsave_status:err/.test(await server.client.info('persistence')),
      );
    },
    mend: async (server) => {
      rmSync(join(server.dir, 'dump.rdb'), { recursive: true });
      await server.client.bgsave();
    },
  },
  'forbids its user scripts': {
    make: (server) => server.client.call('ACL', 'SETUSER', 'default', '-eval', '-evalsha'),
    mend: (server) => server.client.call('ACL', 'SETUSER', 'default', '+@all'),
  },
  'has come to ask for another password': {
    async make(server) {
      await config(server, 'requirepass', 'another');
      await server.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    },
    mend: (server) => config(server, 'requirepass', ''),
  },
};

async function commandsOf(server: Server): Promise<number> {
  return Number(/total_commands_processed:(\d+)/.exec(await server.client.info('stats'))?.[1]);
}

test.each(Object.entries(troubles))('a Redis that %s', async (name, { make, mend }) => {
  const server = await redisServer();
  const { lines, said, goesOn, status } = await daemonOn(server.url);
  await goesOn('before');
  await make(server);
  await until('the outage', () => said(/^Redis is away/).length > 0);
  const isHere = !/killed|stopped|password/.test(name);
  const [asked, from] = [isHere ? await commandsOf(server) : 0, Date.now()];
  await goesOn('meanwhile');
  await goesOn('meanwhile');
  // Little is asked of a Redis that refuses: BullMQ alone would ask thousands of times a second.
  if (isHere) expect((await commandsOf(server)) - asked).toBeLessThan(20 + (Date.now() - from) / 50);
  const away = await status();
  expect(away.exitCode).toBe(0);
  expect(away.problems).toMatchObject([{ code: 'redis-away', level: 'warning', exitCode: 0 }]);

  await mend(server);
  await until('the end', () => said(/^Redis is back$/).length > 0);
  await goesOn('afterwards');
  const { daemon, problems } = await status();
  expect([daemon?.queue, problems]).toEqual([null, []]);
  expect(lines.filter(({ level, msg }) => level > 30 || /Redis/.test(msg)).map(({ msg }) => msg)).toEqual([
    'Redis is away: a timer runs what is due meanwhile',
    'Redis is back',
  ]);
});

test('a flush, lost scripts and cut connections are no outage', async () => {
  const server = await redisServer();
  const { lines, goesOn } = await daemonOn(server.url);
  await goesOn('before');
  for (const shock of [
    () => server.client.flushall(),
    () => server.client.script('FLUSH'),
    () => server.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
  ]) {
    await shock();
    await goesOn('afterwards');
  }
  expect(lines.filter(({ level, msg }) => level > 30 || /Redis/.test(msg))).toEqual([]);
});

describe('a Redis that is not there at the start', () => {
  test('is done without until it comes', async () => {
    const port = await freePort();
    const { said, goesOn } = await daemonOn(`redis://127.0.0.1:${port}`);
    await goesOn('without Redis');
    expect(said(/^Redis is away/)).toMatchObject([{ err: expect.stringContaining('ECONNREFUSED') }]);
    const server = await redisServer({ port });
    await until('it to be noticed', () => said(/^Redis is back$/).length > 0);
    await until('its scheduler', async () => (await server.client.keys('*:datasets:repeat')).length === 1);
    await goesOn('with Redis');
  });

  test('since the password is wrong is done without, and the password is shown nowhere', async () => {
    const server = await redisServer({ password: 'right' });
    const { lines, said, goesOn, status } = await daemonOn(`redis://:hunter2@127.0.0.1:${server.port}`);
    await goesOn('without Redis');
    expect(said(/^Redis is away/)).toMatchObject([{ err: expect.stringContaining('WRONGPASS') }]);
    expect(JSON.stringify([lines, await status()])).not.toContain('hunter2');
  });
});
