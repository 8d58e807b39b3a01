import { describe, expect, test } from 'vitest';
import { watchJumps } from '../../src/account.ts';
import { Failure } from '../../src/errors.ts';
import { redisServer, type Server, until } from '../queue/setup.ts';
import { countIn, KEY, openMachine } from './bench.ts';

const newer = JSON.stringify({ version: 3, state: { version: 99 }, processes: {} });

describe('a start', () => {
  test.each([
    [
      'a key that holds something else',
      (server: Server) => server.client.lpush(KEY, 'x'),
      78,
      /something else/,
    ],
    [
      'a state of a newer release',
      (server: Server) => server.client.hset(KEY, { revision: 'r', account: newer }),
      78,
      /newer market-mirror/,
    ],
    ['a replica', (server: Server) => server.client.replicaof('127.0.0.1', 1), 75, /read-only replica/],
    ['no memory', (server: Server) => server.client.config('SET', 'maxmemory', '1'), 75, /memory limit/],
    ['nobody', (server: Server) => server.kill(), 75, /not reachable/],
  ])(
    'on %s ends with one line that says what to do, and changes nothing',
    async (name, prepare, exitCode, message) => {
      const server = await redisServer();
      await prepare(server);
      const thrown = await openMachine(server).catch((error: unknown) => error);
      expect(thrown).toBeInstanceOf(Failure);
      expect(thrown).toMatchObject({ exitCode, message: expect.stringMatching(message) });
      expect((thrown as Failure).message).not.toContain('\n');
      if (/newer/.test(name))
        expect(await server.client.hgetall(KEY)).toEqual({ revision: 'r', account: newer });
    },
  );

  test('with a wrong password shows neither it nor the right one', async () => {
    const server = await redisServer({ password: 'right-canary' });
    const url = server.url.replace('right', 'wrong');
    const thrown = await openMachine({ url }).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ exitCode: 78, message: expect.not.stringContaining('canary') });
  });

  test('of a daemon waits for a Redis that is away', async () => {
    const server = await redisServer();
    await server.kill();
    const { count, told } = await openMachine(server, { isPatient: true });
    expect(told).toMatchObject([{ code: 'unreachable' }]);
    const counted = count();
    await server.start();
    await counted;
    expect(told.at(-1)).toBeNull();
    expect(await countIn(server)).toBe(1);
  });
});

describe('later', () => {
  test.each([
    [
      'READONLY',
      (server: Server) => server.client.replicaof('127.0.0.1', 1),
      (server: Server) => server.client.replicaof('NO', 'ONE'),
    ],
    [
      'OOM',
      (server: Server) => server.client.config('SET', 'maxmemory', '1'),
      (server: Server) => server.client.config('SET', 'maxmemory', '0'),
    ],
    ['unreachable', (server: Server) => server.kill(), (server: Server) => server.start()],
    [
      'silent',
      async (server: Server) => server.signal('SIGSTOP'),
      async (server: Server) => server.signal('SIGCONT'),
    ],
  ])('%s is told once, and its end; the change is made once', async (code, begin, end) => {
    const server = await redisServer();
    const { count, told } = await openMachine(server);
    await begin(server);
    const counted = count();
    // The end of a connection may be seen before it is used, or as it is.
    const codes = code === 'unreachable' ? [code, 'lost'] : [code];
    await until('the trouble', () => told.some((trouble) => codes.includes(trouble?.code ?? '')));
    await end(server);
    await counted;
    expect(told.at(-1)).toBeNull();
    expect(told.filter((trouble) => trouble === null)).toHaveLength(1);
    expect(await countIn(server)).toBe(1);
  });

  test('an idle connection that Redis has closed is no trouble', async () => {
    const server = await redisServer();
    const { count, told } = await openMachine(server);
    await server.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    for (let turn = 0; turn < 20; turn += 1) await server.client.ping();
    await count();
    expect(told).toEqual([]);
  });

  test('what a change throws is thrown, and is no trouble of Redis', async () => {
    const server = await redisServer();
    const { account, count, told } = await openMachine(server);
    const broken = () => {
      throw new Error('the key cannot be read');
    };
    await expect(account.transact(broken)).rejects.toThrow('the key cannot be read');
    await count();
    expect(told).toEqual([]);
    expect(await countIn(server)).toBe(1);
  });

  test('a close does not wait for a Redis that is away', async () => {
    const server = await redisServer();
    const { account, count } = await openMachine(server);
    await server.kill();
    const counted = count().catch((error: unknown) => error);
    const begun = performance.now();
    await account.close(counted.then(() => undefined));
    expect(performance.now() - begun).toBeLessThan(20_000);
    expect(await counted).toBeInstanceOf(Failure);
  });
});

describe('the clock of Redis', () => {
  const ours = { wall: 0, monotonic: 0 };
  const clock = {
    now: () => ours.wall,
    monotonic: () => ours.monotonic,
    sleep: async () => undefined,
    after: () => () => undefined,
  };

  test('jumped where it agrees with none of ours', () => {
    const hasJumped = watchJumps(clock);
    const at = (there: number, wall: number, monotonic: number) => {
      Object.assign(ours, { wall, monotonic });
      return hasJumped(there);
    };
    expect(at(50_000, 0, 0)).toBe(false);
    expect(at(51_000, 1_000, 1_000)).toBe(false);
    // Ours was set; ours slept; Redis's was set.
    expect(at(52_000, 90_000, 2_000)).toBe(false);
    expect(at(172_000, 210_000, 3_000)).toBe(false);
    expect(at(1_000_000, 211_000, 4_000)).toBe(true);
    expect(at(1_001_000, 212_000, 5_000)).toBe(false);
    expect(at(900_000, 213_000, 6_000)).toBe(true);
  });
});
