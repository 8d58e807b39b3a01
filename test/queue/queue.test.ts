import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../helpers/loopback.ts';
import { compiledFolder } from '../helpers/program-file.ts';
import { gate, redisServer, start, temporaryFolder, until, untilAborted, wakesIn } from './setup.ts';

/** Within which a queue is closed, unless told otherwise. */
const IN_TIME_MS = 8_000;

/** Milliseconds. */
async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const from = Date.now();
  await work();
  return Date.now() - from;
}

test("two mirrors on one Redis take none of each other's runs", async () => {
  const server = await redisServer();
  const ran: string[] = [];
  const open = (prefix: string) =>
    start({ redis: { url: server.url }, prefix, run: async () => void ran.push(prefix) });
  const [one, two] = [await open('market-mirror-one'), await open('market-mirror-two')];
  for (const queue of [two, one, two]) {
    const before = ran.length;
    queue.runNow('news');
    await until('the run', () => ran.length > before);
  }
  expect(ran).toEqual(['market-mirror-two', 'market-mirror-one', 'market-mirror-two']);
});

describe('a Redis that goes away', () => {
  test('in the middle of a run does not disturb the run', async () => {
    const server = await redisServer();
    const [begun, page] = [gate(), gate()];
    let aborted = false;
    const queue = await start({
      redis: { url: server.url },
      async run(_, signal) {
        begun.open();
        await page.passed;
        aborted = signal.aborted;
      },
    });
    queue.runNow('news');
    await begun.passed;
    await server.kill();
    await until('the loss', () => queue.said(/lost/).length === 1);
    page.open();
    await server.start();
    await until('the return', () => queue.said(/is back/).length === 1);
    await until('the end to be known', async () => (await wakesIn(server).getActiveCount()) === 0);
    expect(aborted).toBe(false);
  });

  test('and comes back empty has its schedules again at once', async () => {
    const server = await redisServer();
    const ran: string[] = [];
    const queue = await start({
      redis: { url: server.url },
      schedules: { news: { every: 300 }, usage: { every: 3_600_000 } },
      run: async (job) => void ran.push(job),
    });
    await until('a run', () => ran.length > 0);
    await server.client.flushall();
    await server.kill();
    await until('the loss', () => queue.said(/lost/).length === 1);
    const before = ran.length;
    await server.start();
    await until('runs to go on', () => ran.length >= before + 2);
    const schedules = await wakesIn(server).getJobSchedulers();
    expect(schedules.map(({ key }) => key).sort()).toEqual(['news', 'usage']);
    expect(ran).not.toContain('usage');
  });

  test('is waited for where it is not there at the start', async () => {
    const port = await freePort();
    let runs = 0;
    const queue = await start({
      redis: { url: `redis://127.0.0.1:${port}` },
      lastRun: () => null,
      async run() {
        runs += 1;
      },
    });
    expect(queue.said(/not reachable/)).toHaveLength(1);
    const server = await redisServer({ port });
    await until('a first connection', () => queue.said(/is back/).length === 1);
    await until('a run', () => runs === 1);
    expect(server.port).toBe(port);
  });
});

describe('close', () => {
  test('ends in time where Redis goes while the run is being stopped', async () => {
    const server = await redisServer();
    const begun = gate();
    const queue = await start({
      redis: { url: server.url },
      timing: { close: 4_000 },
      async run(_, signal) {
        begun.open();
        await untilAborted(signal).catch(() => {});
        await server.kill();
        throw signal.reason;
      },
    });
    queue.runNow('news');
    await begun.passed;
    expect(await timeOf(queue.close)).toBeLessThan(IN_TIME_MS);
  });

  test('does not wait for ever for a run that does not stop, and says so', async () => {
    const server = await redisServer();
    const [begun, never] = [gate(), gate()];
    onTestFinished(never.open);
    const queue = await start({
      redis: { url: server.url },
      timing: { close: 800 },
      async run() {
        begun.open();
        await never.passed;
      },
    });
    queue.runNow('news');
    await begun.passed;
    expect(await timeOf(queue.close)).toBeLessThan(IN_TIME_MS);
    expect(queue.said(/did not reach its next page/)).toHaveLength(1);
  });

  test.each(['while all is well', 'when Redis has gone', 'where Redis never came'])(
    'ends in time, and leaves nothing that keeps the process alive %s',
    async (when) => {
      const script = join(compiledFolder(), 'dist/test/queue/daemon.js');
      const child = spawn(process.execPath, [script, when, temporaryFolder()], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      let said = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
      await until('close', () => said.includes('closed'));
      const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode];
      expect([code, said]).toEqual([0, expect.stringMatching(/^closed at the page boundary in \d+\n$/)]);
      expect(Number(/\d+/.exec(said))).toBeLessThan(IN_TIME_MS);
    },
  );
});
