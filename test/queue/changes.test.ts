/** The queue `mirror-changes`, as report workers of others see it. */

import { connect } from 'node:net';
import { Queue, Worker } from 'bullmq';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Change } from '../../src/queue.ts';
import { redisServer, type Server, type Started, start, until, wakesIn } from './setup.ts';

const prefix = 'market-mirror-test';
const WEEK_MS = 7 * 24 * 3_600_000;

/** A mirror of one dataset whose changes are numbered from 1; a run tells of those up to now. */
function mirrored() {
  const asked: number[] = [];
  const at = { seq: 0, asked };
  return {
    at,
    run: async () => {},
    prefix,
    changeSince(job: string, seq: number): Change | null {
      asked.push(seq);
      return at.seq > seq ? ({ job, firstSeq: seq + 1, lastSeq: at.seq } as Change) : null;
    },
  };
}

function reader({ url }: Server): Queue {
  const queue = new Queue('mirror-changes', { connection: { url }, prefix });
  queue.on('error', () => {});
  onTestFinished(() => queue.close());
  return queue;
}

/** Runs the job once more, when its last run is over: until then it is the same run. */
async function runAgain(queue: Started, server: Server): Promise<void> {
  const wakes = wakesIn(server, prefix);
  await until('the last run to end', async () => (await wakes.getActiveCount()) === 0);
  queue.runNow('news');
}

const waiting = async (queue: Queue) => (await queue.getWaiting()).map(({ data }) => data);
const rangeOf = (firstSeq: number, lastSeq: number) => ({ job: 'news', firstSeq, lastSeq });

describe('the queue of changes', () => {
  test('has one job for each run that changed something, which a worker of others takes away', async () => {
    const server = await redisServer();
    const mirror = mirrored();
    const queue = await start({ redis: { url: server.url }, ...mirror });
    expect(queue.changesAt).toEqual({ queue: 'mirror-changes', prefix, socket: null });
    const changes = reader(server);
    mirror.at.seq = 3;
    queue.runNow('news');
    await until('the first change', async () => (await changes.getWaitingCount()) === 1);
    const calls = mirror.at.asked.length;
    await runAgain(queue, server);
    await until('a run without a change', () => mirror.at.asked.length > calls);
    mirror.at.seq = 5;
    await runAgain(queue, server);
    await until('the second change', async () => (await changes.getWaitingCount()) === 2);

    const seen: unknown[] = [];
    const { queue: name, prefix: at } = queue.changesAt;
    const connection = { url: server.url, maxRetriesPerRequest: null };
    const worker = new Worker(name, async ({ data }) => void seen.push(data), { connection, prefix: at });
    onTestFinished(() => worker.close());
    await until('both to be taken', () => seen.length === 2);
    expect(seen).toEqual([rangeOf(1, 3), rangeOf(4, 5)]);
    await until('nothing to be left', async () => (await changes.getJobCountByTypes()) === 0);
  });

  test('is told what it missed while Redis was away, and all of it where Redis was flushed', async () => {
    const server = await redisServer();
    const mirror = mirrored();
    mirror.at.seq = 3;
    const queue = await start({ redis: { url: server.url }, ...mirror, timing: { restore: 50 } });
    const changes = reader(server);
    await until('the first change', async () => (await changes.getWaitingCount()) === 1);
    await server.kill();
    await until('Redis to be missed', () => queue.said(/Redis is lost/)[0]);
    mirror.at.seq = 8;
    await server.start();
    await until('the second change', async () => (await changes.getWaitingCount()) === 2);
    expect((await waiting(changes)).at(-1)).toEqual(rangeOf(4, 8));
    await server.client.flushall();
    await until('all of it', async () => (await waiting(changes)).at(0)?.firstSeq === 1);
    expect(await waiting(changes)).toEqual([rangeOf(1, 8)]);
  });

  test('is told all of it, at whatever moment Redis is flushed', async () => {
    const server = await redisServer();
    const mirror = mirrored();
    await start({ redis: { url: server.url }, ...mirror, timing: { restore: 20 } });
    const changes = reader(server);
    const flushes: Promise<unknown>[] = [];
    let heard = '';
    const monitor = connect(server.port, '127.0.0.1', () => void monitor.write('MONITOR\r\n'));
    onTestFinished(() => void monitor.destroy());
    monitor.setEncoding('utf8').on('data', (commands: string) => {
      heard += commands;
      const isTold = heard.includes(`lastSeq\\":${mirror.at.seq}}`);
      if (isTold && flushes.length < mirror.at.seq) flushes.push(server.client.flushall());
    });
    for (let flush = 1; flush <= 30; flush += 1) {
      mirror.at.seq = flush;
      await until('the change to be told', () => flushes.length === flush);
      await flushes.at(-1);
      await until('all of it', async () =>
        (await waiting(changes)).some(({ firstSeq, lastSeq }) => firstSeq === 1 && lastSeq === flush),
      );
    }
  });

  test('keeps no more than a thousand jobs for nobody, and none for longer than a week', async () => {
    const server = await redisServer();
    const changes = reader(server);
    const old = { timestamp: Date.now() - WEEK_MS - 1_000 };
    await changes.add('news', rangeOf(0, 0), old);
    const jobs = Array.from({ length: 1_000 }, (_, at) => ({ name: 'news', data: rangeOf(at, at) }));
    await changes.addBulk(jobs);
    const mirror = mirrored();
    const queue = await start({ redis: { url: server.url }, ...mirror });
    mirror.at.seq = 2_000;
    queue.runNow('news');
    await until('the newest', async () => (await waiting(changes)).at(-1)?.lastSeq === 2_000);
    await until('the oldest to go', async () => (await changes.getWaitingCount()) === 1_000);
    const left = await waiting(changes);
    expect([left.at(0), left.at(-1)]).toEqual([rangeOf(1, 1), rangeOf(1, 2_000)]);
  });
});
