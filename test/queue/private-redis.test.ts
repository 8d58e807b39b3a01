import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { findRedisServer, type PrivateRedis, startPrivateRedis } from '../../src/queue/private-redis.ts';
import { temporaryFolder } from '../helpers/folder.ts';
import { compiledFolder } from '../helpers/program-file.ts';
import { isAlive, recordingLog, until } from './setup.ts';

const recording = recordingLog();

afterEach(() => void vi.unstubAllEnvs());

function started(dir: string, parts: { binary?: string; log?: typeof recording.log } = {}): PrivateRedis {
  const server = startPrivateRedis({ dir, log: recording.log, ...parts });
  onTestFinished(server.close);
  return server;
}

function clientOf(path: string): Redis {
  const client = new Redis({ path, retryStrategy: () => 20, maxRetriesPerRequest: null });
  client.on('error', () => {});
  onTestFinished(() => client.disconnect());
  return client;
}

async function pidOf(client: Redis): Promise<number> {
  return Number(/process_id:(\d+)/.exec(await client.info('server'))?.[1]);
}

const mode = (path: string) => statSync(path).mode & 0o777;

describe('the private Redis', () => {
  test('listens on a socket for this user alone, on no port, keeps nothing on disk and evicts nothing', async () => {
    const dir = temporaryFolder();
    const { path } = started(dir).target;
    const client = clientOf(path);
    await client.set('walk', '7');
    expect(path).toBe(join(dir, 'redis', 'redis.sock'));
    expect([mode(join(dir, 'redis')), mode(path)]).toEqual([0o700, 0o700]);
    const setting = async (name: string) => ((await client.config('GET', name)) as string[])[1];
    expect({
      port: await setting('port'),
      appendonly: await setting('appendonly'),
      policy: await setting('maxmemory-policy'),
      save: await setting('save'),
    }).toEqual({ port: '0', appendonly: 'no', policy: 'noeviction', save: '' });
    expect(readdirSync(join(dir, 'redis'))).toEqual(['redis.sock']);
  });

  test('is gone after close, and starts again from nothing', async () => {
    const dir = temporaryFolder();
    const first = startPrivateRedis({ dir, log: recording.log });
    const client = clientOf(first.target.path);
    const pid = await pidOf(client);
    await client.set('walk', '7');
    client.disconnect();
    await first.close();
    expect(isAlive(pid)).toBe(false);
    expect(readdirSync(join(dir, 'redis'))).toEqual([]);
    expect(await clientOf(started(dir).target.path).get('walk')).toBeNull();
  });

  test('is started again when it is killed, and one line says so', async () => {
    const { log, lines } = recordingLog();
    const client = clientOf(started(temporaryFolder(), { log }).target.path);
    const pid = await pidOf(client);
    process.kill(pid, 'SIGKILL');
    await until('another', async () => (await pidOf(client)) !== pid);
    expect(lines).toMatchObject([
      { msg: 'the private Redis ended: it is started again', err: 'killed by SIGKILL' },
    ]);
  });

  test('that cannot start is tried again, and its last line says why, once', async () => {
    const [dir, folder] = [temporaryFolder(), temporaryFolder()];
    const binary = join(folder, 'redis-server');
    const script = `#!/bin/sh\necho tried >> ${folder}/tries\necho "Address family not supported"\nexit 1\n`;
    writeFileSync(binary, script, { mode: 0o755 });
    const { log, lines } = recordingLog();
    started(dir, { binary, log });
    await until('three tries', () => {
      const file = join(folder, 'tries');
      return existsSync(file) && readFileSync(file, 'utf8').split('\n').length > 3;
    });
    expect(lines.map(({ err }) => err)).toEqual(['Address family not supported']);
  });

  test.each([
    ['apt-get', 'one of them (apt-get install redis-server)'],
    ['ls', 'redis-server or valkey-server'],
  ])('on a machine with %s that lacks one says what to install or set: %s', (tool, install) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, tool), '#!/bin/sh\n', { mode: 0o755 });
    expect(() => findRedisServer(folder)).toThrow(
      expect.objectContaining({
        kind: 'config',
        message: `found neither redis-server nor valkey-server on PATH: install ${install}, or set REDIS_URL to a Redis of yours; market-mirror sync needs none`,
      }),
    );
  });
});

describe('the private Redis of a daemon', () => {
  async function daemon(dir: string): Promise<{ child: ChildProcess; pid: number; path: string }> {
    const script = join(compiledFolder(), 'dist/test/queue/parent.js');
    const child = spawn(process.execPath, [script, dir], {
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    const path = join(dir, 'redis', 'redis.sock');
    return { child, path, pid: await pidOf(clientOf(path)) };
  }

  test('does not outlive it, even after kill -9, and leaves its socket to the next start, however soon that is', async () => {
    const dir = temporaryFolder();
    const { child, pid, path } = await daemon(dir);
    child.kill('SIGKILL');
    const next = clientOf(started(dir).target.path);
    await until('the old one to end', () => !isAlive(pid));
    expect(existsSync(path)).toBe(true);
    expect(await pidOf(clientOf(path))).toBe(await pidOf(next));
  });

  test('is out of reach of a Ctrl-C, so that the daemon can still tell it how its runs ended', async () => {
    const { child, pid, path } = await daemon(temporaryFolder());
    const group = (of: number | undefined) =>
      execFileSync('ps', ['-o', 'pgid=', '-p', `${of}`], { encoding: 'utf8' });
    expect(group(pid)).not.toBe(group(child.pid));

    process.kill(-Number(child.pid), 'SIGINT');
    await once(child.stdout ?? child, 'data');
    expect(await pidOf(clientOf(path))).toBe(pid);
  });
});
