/** Redis in every trouble that can be made: mirroring goes on without it, two lines of log tell of it, and BullMQ wakes again when it is over. */

import { expect, test } from 'vitest';
import type { Status } from '../../src/reading/status.ts';
import { daemonHere } from '../helpers/daemon.ts';
import { freePort } from '../helpers/loopback.ts';
import { runMain } from '../helpers/main.ts';
import { setupSync } from '../helpers/sync-bench.ts';
import { hastyClock, sharedClock } from '../helpers/virtual-clock.ts';
import { othersOff } from '../helpers/virtual-life.ts';
import { redisServer, type Server, until } from '../queue/setup.ts';

const settings = {
  ...othersOff,
  MIRROR_SCHEDULE_NEWS: 'off',
  MIRROR_SCHEDULE_AI_SIGNALS: 'every 5s',
};

/** A daemon on that Redis, which reads one dataset every fifth of a second: every five of its own clock. */
async function daemonOn(url: string) {
  const clock = hastyClock(25);
  const bench = await setupSync({ rows: 5 }, sharedClock());
  const environment = { ...bench.environment, ...settings, REDIS_URL: url };
  const { lines } = daemonHere(environment, { clock });
  const said = (msg: RegExp) => lines.filter((line) => msg.test(line.msg));
  const calls = () => bench.model.callsTo('/api/v1/ai-signals').length;
  const goesOn = async (when: string) => {
    const before = calls();
    await until(`two walks ${when}`, () => calls() >= before + 2);
  };
  const status = async () =>
    JSON.parse((await runMain(['status', '--json'], environment, clock)).stdout) as Status;
  return { lines, said, goesOn, status };
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
};

async function commandsOf(server: Server): Promise<number> {
  return Number(/total_commands_processed:(\d+)/.exec(await server.client.info('stats'))?.[1]);
}

const shocks: Record<string, Trouble['make']> = {
  'is flushed': ({ client }) => client.flushall(),
  'cuts every connection': ({ client }) => client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
};

test('one daemon lives through all of it, and through a Redis that is not there at its start', async () => {
  const port = await freePort();
  const { lines, said, goesOn, status } = await daemonOn(`redis://127.0.0.1:${port}`);
  const told = () => lines.splice(0).filter(({ level, msg }) => level > 30 || /Redis/.test(msg));
  await goesOn('without Redis');
  expect(said(/^Redis is away/)).toMatchObject([{ err: expect.stringContaining('ECONNREFUSED') }]);
  const server = await redisServer({ port });
  await until('it to be noticed', () => said(/^Redis is back$/).length > 0);
  await until('its scheduler', async () => (await server.client.keys('*:datasets:repeat')).length === 1);
  await goesOn('with Redis');

  for (const [name, { make, mend }] of Object.entries(troubles)) {
    const of = `of a Redis that ${name}`;
    told();
    await make(server);
    await until(`the outage ${of}`, () => said(/^Redis is away/).length > 0);
    const isHere = name === 'is full';
    const [asked, from] = [isHere ? await commandsOf(server) : 0, Date.now()];
    await goesOn(`in the outage ${of}`);
    // Little is asked of a Redis that refuses: BullMQ alone would ask thousands of times a second.
    if (isHere) expect((await commandsOf(server)) - asked).toBeLessThan(20 + (Date.now() - from) / 5);
    const away = await status();
    expect([name, away.exitCode]).toEqual([name, 0]);
    expect(away.problems).toMatchObject([{ code: 'redis-away', level: 'warning', exitCode: 0 }]);

    await mend(server);
    await until(`the end ${of}`, () => said(/^Redis is back$/).length > 0);
    await goesOn(`after the end ${of}`);
    const { daemon, problems } = await status();
    expect([name, daemon?.queue, problems]).toEqual([name, null, []]);
    expect([name, told().map(({ msg }) => msg)]).toEqual([
      name,
      ['Redis is away: a timer runs what is due meanwhile', 'Redis is back'],
    ]);
  }

  for (const [name, shock] of Object.entries(shocks)) {
    await shock(server);
    await goesOn(`after a Redis ${name}`);
    expect([name, told()]).toEqual([name, []]);
  }
});

test('a wrong password of Redis is an outage, and is shown nowhere', async () => {
  const server = await redisServer({ password: 'right' });
  const { lines, said, goesOn, status } = await daemonOn(`redis://:hunter2@127.0.0.1:${server.port}`);
  await goesOn('without Redis');
  expect(said(/^Redis is away/)).toMatchObject([{ err: expect.stringContaining('WRONGPASS') }]);
  expect(JSON.stringify([lines, await status()])).not.toContain('hunter2');
});
