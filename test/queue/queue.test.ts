/** The queue where Redis goes away, and as it is closed. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../helpers/folder.ts';
import { gate } from '../helpers/gate.ts';
import { freePort } from '../helpers/loopback.ts';
import { compiledFolder } from '../helpers/program-file.ts';
import { HOUR, redisServer, running, start, until, untilAborted } from './setup.ts';

/** Within which a queue is closed, unless told otherwise. */
const IN_TIME_MS = 8_000;

/** Milliseconds. */
async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const from = Date.now();
  await work();
  return Date.now() - from;
}

describe('a Redis that goes away', () => {
  test('in the middle of a run does not disturb the run', async () => {
    const page = gate();
    let aborted = false;
    const { server, runs, wakes, said, runNow } = await running({
      async run(_, signal) {
        await page.passed;
        aborted = signal.aborted;
      },
    });
    runNow('news');
    await until('a run', () => runs.length === 1);
    await server.kill();
    await until('the loss', () => said(/lost/).length === 1);
    page.open();
    await server.start();
    await until('the return', () => said(/is back/).length === 1);
    await until('the end to be known', async () => (await wakes.getActiveCount()) === 0);
    expect(aborted).toBe(false);
  });

  test('and comes back empty has its schedules again at once', async () => {
    const schedules = { news: { every: 300 }, usage: { every: HOUR } };
    const { server, runs, wakes, said } = await running({ schedules });
    await until('a run', () => runs.length > 0);
    await server.client.flushall();
    await server.kill();
    await until('the loss', () => said(/lost/).length === 1);
    const before = runs.length;
    await server.start();
    await until('runs to go on', () => runs.length >= before + 2);
    const restored = await wakes.getJobSchedulers();
    expect(restored.map(({ key }) => key).sort()).toEqual(['news', 'usage']);
    expect(runs).not.toContain('usage');
  });

  test('is waited for where it is not there at the start', async () => {
    const port = await freePort();
    let runs = 0;
    const run = async () => void runs++;
    const queue = await start({ redis: { url: `redis://127.0.0.1:${port}` }, lastRun: () => null, run });
    expect(queue.said(/not reachable/)).toHaveLength(1);
    await redisServer({ port });
    await until('a first connection', () => queue.said(/is back/).length === 1);
    await until('a run', () => runs === 1);
  });
});

describe('close', () => {
  test('ends in time where Redis goes while the run is being stopped', async () => {
    const { server, runs, runNow, close } = await running({
      timing: { close: 4_000 },
      async run(_, signal) {
        await untilAborted(signal).catch(() => {});
        await server.kill();
        throw signal.reason;
      },
    });
    runNow('news');
    await until('a run', () => runs.length === 1);
    expect(await timeOf(close)).toBeLessThan(IN_TIME_MS);
  });

  test('does not wait for ever for a run that does not stop, and says so', async () => {
    const never = gate();
    onTestFinished(never.open);
    const run = () => never.passed;
    const { runs, said, runNow, close } = await running({ timing: { close: 800 }, run });
    runNow('news');
    await until('a run', () => runs.length === 1);
    expect(await timeOf(close)).toBeLessThan(IN_TIME_MS);
    expect(said(/did not reach its next page/)).toHaveLength(1);
  });

  test('ends in time, and leaves nothing that keeps the process alive, wherever Redis is', async () => {
    const script = join(compiledFolder(), 'dist/test/queue/daemon.js');
    const closeWhere = async (where: string) => {
      const child = spawn(process.execPath, [script, where, temporaryFolder()], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      const exited = once(child, 'exit');
      const said = (await child.stdout.setEncoding('utf8').toArray()).join('');
      expect(said).toMatch(/^closed at the page boundary in \d+\n$/);
      expect(Number(/\d+/.exec(said))).toBeLessThan(IN_TIME_MS);
      expect(await exited).toEqual([0, null]);
    };
    await Promise.all(['all is well', 'Redis has gone', 'Redis never came'].map(closeWhere));
  });
});
