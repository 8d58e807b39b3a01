import { createServer, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseRedisUrl } from '../../src/config.ts';
import { connect, greet } from '../../src/queue/connection.ts';
import { bullOptions } from '../../src/queue/runs.ts';
import { diagnose } from '../../src/redis.ts';
import { freePort, listenOnLoopback } from '../helpers/loopback.ts';
import { recordingLog, redisServer, start, until } from './setup.ts';

const run = async () => {};

describe('REDIS_URL', () => {
  test.each([
    ['redis://cache', { host: 'cache', port: 6379, db: 0 }],
    [
      'redis://me:p%40ss@cache:7000/3',
      { host: 'cache', port: 7000, db: 3, username: 'me', password: 'p@ss' },
    ],
    ['redis://:secret@[::1]:7000', { host: '::1', port: 7000, db: 0, password: 'secret' }],
    ['rediss://cache', { host: 'cache', port: 6379, db: 0, tls: {} }],
    ['redis://\u0441ache', { host: 'xn--ache-k6d', port: 6379, db: 0 }],
    ['unix:///run/redis.sock', { path: '/run/redis.sock' }],
  ])('%s is understood', (text, expected) => {
    expect(parseRedisUrl(text)).toEqual(expected);
  });

  test.each([
    '',
    'hunter2',
    'http://:hunter2@cache',
    'redis://:hunter2@',
    'redis://:hunter2@cache:99999',
    'redis://:hunter2@cache/zero',
    'redis://:hunter2@cache?db=1',
    'redis://:hunter2%zz@cache',
    'unix://:hunter2@cache/redis.sock',
  ])('%j is refused without being shown', async (url) => {
    const refusal = await (async () => parseRedisUrl(url))().catch((thrown: unknown) => thrown);
    expect(refusal).toMatchObject({
      kind: 'config',
      message: expect.stringMatching(/^is not of the form redis:\/\//),
    });
    expect(JSON.stringify([refusal, String(refusal), (refusal as Error).stack])).not.toContain('hunter2');
    expect(refusal).not.toHaveProperty('cause');
  });

  test('with a wrong password stops the start, and shows the password nowhere', async () => {
    const server = await redisServer({ password: 'right' });
    const { log, lines } = recordingLog();
    const url = `redis://:hunter2@127.0.0.1:${server.port}`;
    const refusal = await start({ redis: { url }, run, log }).catch((thrown: unknown) => thrown);
    expect(refusal).toMatchObject({
      kind: 'config',
      message: expect.stringContaining(`127.0.0.1:${server.port}`),
    });
    expect(JSON.stringify([lines, refusal, String(refusal)])).not.toContain('hunter2');
  });

  test('with the right password is never in the log, whatever happens to Redis', async () => {
    const server = await redisServer({ password: 'hunter2' });
    const queue = await start({ redis: { url: server.url }, run });
    queue.runNow('news');
    await server.kill();
    await until('the loss', () => queue.said(/lost/).length > 0);
    await server.start();
    await until('the return', () => queue.said(/is back/).length > 0);
    expect(JSON.stringify(queue.lines)).not.toContain('hunter2');
  });

  test('of a Redis that may evict jobs is said to be so', async () => {
    const server = await redisServer({ policy: 'allkeys-lru' });
    const queue = await start({ redis: { url: server.url }, run });
    await until('a warning', () => queue.said(/may evict jobs/).length === 1);
  });
});

describe('a Redis that does not say whether it may evict jobs', () => {
  /** A connection to a Redis where `command` has been run. */
  async function connected(command: string, ...args: string[]) {
    const server = await redisServer();
    await server.client.call(command, ...args);
    const { log, said } = recordingLog();
    return { ...server, log, warnings: () => said(/may evict jobs/).map(({ reason }) => reason) };
  }

  test('since its user may not ask, gets a warning', async () => {
    const { client, log, warnings } = await connected('ACL', 'SETUSER', 'default', '-info');
    expect(await bullOptions(client, 'test', log)).toMatchObject({ skipVersionCheck: true });
    expect(warnings()).toEqual(['unknown']);
  });

  test('since it is kept busy, is asked again later', async () => {
    const { client, log, warnings, url } = await connected('CONFIG', 'SET', 'lua-time-limit', '1');
    const other = new Redis(url);
    onTestFinished(() => other.disconnect());
    other.eval('while true do end', 0).catch(() => undefined);
    await until('it to be busy', () => client.ping().then(() => false, isBusy));
    await expect(bullOptions(client, 'test', log)).rejects.toThrow('BUSY');
    await client.call('SCRIPT', 'KILL');
    await until('it to be free', () =>
      client.ping().then(
        () => true,
        () => false,
      ),
    );
    expect(await bullOptions(client, 'test', log)).toMatchObject({ skipVersionCheck: false });
    expect(warnings()).toEqual([]);
  });
});

const isBusy = (thrown: Error) => thrown.message.startsWith('BUSY');

/** A queue's connection, and the codes of what it reports. */
function linkTo(url: string) {
  const codes: string[] = [];
  const report = (error: Error) => void codes.push(diagnose(error).code);
  const link = connect(parseRedisUrl(url), { prefix: 'test', report, answerMs: 4_000 });
  onTestFinished(link.disconnect);
  return { link, codes };
}

describe('the connection', () => {
  test('reports once that Redis is lost, however often it tries, and takes trials when it is back', async () => {
    const server = await redisServer();
    const { link, codes } = linkTo(server.url);
    await link.trial().catch(() => undefined);
    await until('the connection', () => link.client.status === 'ready');
    let tries = 0;
    link.client.on('reconnecting', () => {
      tries += 1;
    });
    await server.kill();
    await until('several tries', () => tries >= 4);
    await expect(link.trial()).rejects.toThrow(/ECONNREFUSED/);
    await server.start();
    await until('the return', () => link.client.status === 'ready');
    await link.trial();
    expect(codes).toEqual(['lost']);
  });

  test.each(['redis', 'rediss'])(
    'by %s to something that does not answer is said to be silent',
    async (protocol) => {
      const { port, close } = await listenOnLoopback(createServer());
      onTestFinished(close);
      const absence = await greet(parseRedisUrl(`${protocol}://127.0.0.1:${port}`), undefined, 400);
      expect(absence && diagnose(absence).code).toBe('silent');
    },
  );

  test('that is closed after a while is asked for TLS once', async () => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      // The greeting is held until the question for TLS has been hung up on.
      if (sockets.push(socket) > 1) socket.on('close', () => sockets[0]?.destroy()).destroy();
    });
    const { port, close } = await listenOnLoopback(server);
    onTestFinished(close);
    const absence = await greet(parseRedisUrl(`redis://127.0.0.1:${port}`));
    expect(absence && diagnose(absence).code).toBe('unreachable');
    expect(sockets).toHaveLength(2);
  });

  test('reports that Redis has come to refuse the password', async () => {
    const server = await redisServer({ password: 'old' });
    const { link, codes } = linkTo(server.url);
    await until('the connection', () => link.client.status === 'ready');
    await server.client.config('SET', 'requirepass', 'new');
    await server.client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await until('the refusal', () => codes.includes('NOAUTH'));
    expect([...new Set(codes)]).toEqual(['lost', 'NOAUTH']);
    await expect(link.trial()).rejects.toThrow(/WRONGPASS/);
  });

  test('to nobody is said to be unreachable at once, and one that comes is used', async () => {
    const port = await freePort();
    const absence = await greet(parseRedisUrl(`redis://127.0.0.1:${port}`));
    expect(absence && diagnose(absence).code).toBe('unreachable');
    const server = await redisServer();
    expect(await greet(parseRedisUrl(server.url))).toBeUndefined();
  });

  test('of a start that is stopped is given up', async () => {
    const { port, close } = await listenOnLoopback(createServer());
    onTestFinished(close);
    const stop = new AbortController();
    const greeting = greet(parseRedisUrl(`redis://127.0.0.1:${port}`), stop.signal);
    stop.abort(new Error('told to stop'));
    await expect(greeting).rejects.toThrow('told to stop');
  });
});

test('a greeting that is stopped before it begins ends with that reason, and nothing of it fails later', async () => {
  const failed: unknown[] = [];
  const note = (reason: unknown) => failed.push(reason);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  const { port, close } = await listenOnLoopback(createServer());
  onTestFinished(close);
  const reason = new Error('stopped by SIGTERM');
  const greeting = greet(parseRedisUrl(`redis://127.0.0.1:${port}`), AbortSignal.abort(reason));
  await expect(greeting).rejects.toBe(reason);
  // A rejection that nobody handles is told before the next timers run.
  await new Promise(setImmediate);
  expect(failed).toEqual([]);
});
