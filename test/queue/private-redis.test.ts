import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import {
  findRedisServer,
  type PrivateRedis,
  ping,
  startPrivateRedis,
} from '../../src/queue/private-redis.ts';
import { temporaryFolder } from '../helpers/folder.ts';
import { compiledFolder } from '../helpers/program-file.ts';
import { isAlive, recordingLog } from './setup.ts';

const recording = recordingLog();

afterEach(() => void vi.unstubAllEnvs());

async function started(dir: string, log = recording.log): Promise<PrivateRedis> {
  const server = await startPrivateRedis({ dir, log });
  onTestFinished(() => server.close());
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
  test('listens on a socket for this user alone, on no port, keeps its file and evicts nothing', async () => {
    const dir = temporaryFolder();
    const { connection } = await started(dir);
    const client = clientOf(connection.path);

    expect(connection.path).toBe(join(dir, 'redis', 'redis.sock'));
    expect([mode(join(dir, 'redis')), mode(connection.path)]).toEqual([0o700, 0o700]);
    const setting = async (name: string) => ((await client.config('GET', name)) as string[])[1];
    expect({
      port: await setting('port'),
      appendonly: await setting('appendonly'),
      appendfsync: await setting('appendfsync'),
      policy: await setting('maxmemory-policy'),
      save: await setting('save'),
    }).toEqual({ port: '0', appendonly: 'yes', appendfsync: 'everysec', policy: 'noeviction', save: '' });
  });

  test.runIf(process.platform === 'linux')(
    'sees nothing of our environment, where the key may be',
    async () => {
      vi.stubEnv('MARKET_API_KEY', 'canary');
      const { connection } = await started(temporaryFolder());
      const pid = await pidOf(clientOf(connection.path));
      // Redis writes its title over its environment: look at the watcher beside it, which was given the same.
      const watcher = execFileSync('ps', ['-o', 'pid=', '--ppid', `${pid}`], { encoding: 'utf8' }).trim();
      const environment = readFileSync(`/proc/${watcher}/environ`, 'utf8');
      expect(environment).toContain('PATH=');
      expect(environment).not.toContain('canary');
    },
  );

  test('is gone after close, and has its data when it starts again', async () => {
    const dir = temporaryFolder();
    const first = await startPrivateRedis({ dir, log: recording.log });
    const client = clientOf(first.connection.path);
    const pid = await pidOf(client);
    await client.set('walk', '7');
    await first.close();
    expect(isAlive(pid)).toBe(false);
    expect(await ping(first.connection.path)).toBe('nobody');

    const second = await started(dir);
    expect(await clientOf(second.connection.path).get('walk')).toBe('7');
  });

  test('is started again when it is killed, with its data, and that is reported', async () => {
    const deaths: Error[] = [];
    const { log } = recording;
    const report = (error: Error) => void deaths.push(error);
    const server = await startPrivateRedis({ dir: temporaryFolder(), log, report });
    onTestFinished(() => server.close());
    const { connection } = server;
    const client = clientOf(connection.path);
    await client.config('SET', 'appendfsync', 'always');
    await client.set('walk', '7');
    const pid = await pidOf(client);
    process.kill(pid, 'SIGKILL');
    expect(await client.get('walk')).toBe('7');
    expect(await pidOf(client)).not.toBe(pid);
    expect(deaths).toMatchObject([{ message: 'killed by SIGKILL', problem: { code: 'ended' } }]);
  });

  test('starts empty rather than not at all when its file is damaged, and keeps the file', async () => {
    const dir = temporaryFolder();
    const first = await startPrivateRedis({ dir, log: recording.log });
    await first.close();
    const folder = join(dir, 'redis', 'appendonlydir');
    const file = readdirSync(folder).find((name) => name.endsWith('.incr.aof')) ?? '';
    writeFileSync(join(folder, file), 'no such format\r\n'.repeat(20));

    const { log, said } = recordingLog();
    const second = await started(dir, log);
    expect(await clientOf(second.connection.path).ping()).toBe('PONG');
    expect(said(/set aside/)).toHaveLength(1);
    expect(readdirSync(join(dir, 'redis', 'appendonlydir.damaged'))).toContain(file);
  });

  test('refuses to take the socket of a server that lives on', async () => {
    const dir = temporaryFolder();
    const { connection } = await started(dir);
    const pid = await pidOf(clientOf(connection.path));
    let hurried = 0;
    const impatient = { ...systemClock, monotonic: () => hurried++ * 1_000 };
    await expect(startPrivateRedis({ dir, log: recording.log, clock: impatient })).rejects.toMatchObject({
      kind: 'incomplete',
      message: expect.stringContaining(
        `another Redis, process ${pid}, still serves it, left by a daemon that was killed: end it (kill -9 ${pid})`,
      ),
    });
    expect(await ping(connection.path)).toBe('ready');
  });

  test.each([
    'Address family not supported',
    "Can't open the append-only file: No space left on device (AOF)",
  ])('that cannot start says why, and keeps its file, also on a full disk: %s', async (why) => {
    const [dir, binary] = [temporaryFolder(), join(temporaryFolder(), 'redis-server')];
    writeFileSync(binary, `#!/bin/sh\necho "${why}"\nexit 1\n`, { mode: 0o755 });
    mkdirSync(join(dir, 'redis', 'appendonlydir'), { recursive: true });
    const starting = startPrivateRedis({ dir, log: recording.log, binary });
    const message = `the private Redis does not start: ${why}`;
    await expect(starting).rejects.toMatchObject({ kind: 'disk', message });
    expect(readdirSync(join(dir, 'redis'))).toContain('appendonlydir');
  });

  test('without a server on PATH says what to install or set', () => {
    expect(() => findRedisServer(temporaryFolder())).toThrow(
      expect.objectContaining({ kind: 'config', message: expect.stringMatching(/redis-server.*REDIS_URL/) }),
    );
  });
});

describe('the socket of a long MIRROR_DIR', () => {
  /** The folder for temporary files may be a long one itself. */
  const shortFolder = () => {
    const dir = mkdtempSync('/tmp/mm-');
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    return dir;
  };
  const longFolder = () => {
    const dir = join(temporaryFolder(), 'x'.repeat(120));
    mkdirSync(dir);
    return dir;
  };

  test('lies in a short private folder, one for each mirror, the same at every start', async () => {
    const short = shortFolder();
    vi.stubEnv('XDG_RUNTIME_DIR', short);
    const dir = longFolder();
    const first = await startPrivateRedis({ dir, log: recording.log });
    const { path } = first.connection;
    expect(path).toMatch(new RegExp(`^${short}/market-mirror-\\d+/[0-9a-f]{16}\\.sock$`));
    expect(mode(join(path, '..'))).toBe(0o700);
    const other = await started(longFolder());
    expect(other.connection.path).not.toBe(path);
    await first.close();
    expect((await started(dir)).connection.path).toBe(path);
  });

  test('is refused where others can write to that folder', async () => {
    const short = shortFolder();
    vi.stubEnv('XDG_RUNTIME_DIR', short);
    const folder = join(short, `market-mirror-${process.getuid?.()}`);
    mkdirSync(folder, { mode: 0o777 });
    chmodSync(folder, 0o777);
    await expect(startPrivateRedis({ dir: longFolder(), log: recording.log })).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringContaining(folder),
    });
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

  test('does not outlive it, even after kill -9, and the next start takes over at once', async () => {
    const dir = temporaryFolder();
    const { child, pid, path } = await daemon(dir);
    child.kill('SIGKILL');
    const next = await started(dir);
    expect(isAlive(pid)).toBe(false);
    expect(next.connection.path).toBe(path);
    expect(await pidOf(clientOf(path))).not.toBe(pid);
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
