/** The queue `mirror-changes`, as report workers of others see it. */

import { Queue, Worker } from 'bullmq';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Change } from '../../src/queue.ts';
import { HOUR, redisServer, type Server, start, until } from './setup.ts';

const prefix = 'market-mirror-test';

/** A mirror of one dataset, of which proofs have made known the changes up to `seq`, and which is due all the time. */
function mirrored(seq: number) {
  const at = { seq };
  return {
    at,
    run: async () => {},
    prefix,
    schedules: { news: { every: 100 } },
    changes: {
      proven: () => seq,
      since: (job: string, after: number): Change | null =>
        at.seq > after ? ({ job, firstSeq: after + 1, lastSeq: at.seq } as Change) : null,
    },
  };
}

function reader({ url }: Server): Queue {
  const queue = new Queue('mirror-changes', { connection: { url }, prefix });
  queue.on('error', () => {});
  onTestFinished(() => queue.close());
  return queue;
}

const waiting = async (queue: Queue) => (await queue.getWaiting()).map(({ data }) => data);
const rangeOf = (firstSeq: number, lastSeq: number) => ({ job: 'news', firstSeq, lastSeq });

describe('the queue of changes', () => {
  test('has one job for each run that changed something, which a worker of others takes away', async () => {
    const server = await redisServer();
    const { at, ...mirror } = mirrored(2);
    const { changesAt } = start({ redis: { url: server.url }, ...mirror });
    expect(changesAt).toEqual({ queue: 'mirror-changes', prefix, socket: null });
    const changes = reader(server);
    at.seq = 3;
    await until('the first change', async () => (await changes.getWaitingCount()) === 1);
    at.seq = 5;
    await until('the second change', async () => (await changes.getWaitingCount()) === 2);

    const seen: unknown[] = [];
    const connection = { url: server.url, maxRetriesPerRequest: null };
    const { queue: name, prefix: own } = changesAt;
    const worker = new Worker(name, async ({ data }) => void seen.push(data), { connection, prefix: own });
    onTestFinished(() => worker.close());
    await until('both to be taken', () => seen.length === 2);
    expect(seen).toEqual([rangeOf(3, 3), rangeOf(4, 5)]);
    await until('nothing to be left', async () => (await changes.getJobCountByTypes()) === 0);
  });

  test('has what came while Redis was away when it is back; what nobody fetched went with it', async () => {
    const server = await redisServer();
    const { at, ...mirror } = mirrored(0);
    const { said } = start({ redis: { url: server.url }, ...mirror, timing: { answer: 300 } });
    const changes = reader(server);
    at.seq = 3;
    await until('the first change', async () => (await changes.getWaitingCount()) === 1);
    await server.client.flushall();
    await server.kill();
    await until('Redis to be missed', () => said(/Redis is away/)[0]);
    at.seq = 8;
    await server.start();
    await until('the second change', async () => (await waiting(changes)).length > 0);
    expect(await waiting(changes)).toEqual([rangeOf(4, 8)]);
  });

  test('keeps no more than a thousand jobs for nobody', async () => {
    const server = await redisServer();
    const changes = reader(server);
    const jobs = Array.from({ length: 1_000 }, (_, at) => ({ name: 'news', data: rangeOf(at, at) }));
    await changes.addBulk(jobs);
    const { at, ...mirror } = mirrored(1_000);
    start({
      redis: { url: server.url },
      ...mirror,
      schedules: { news: { every: HOUR } },
      lastRun: () => null,
    });
    at.seq = 2_000;
    await until('the newest', async () => (await waiting(changes)).at(-1)?.lastSeq === 2_000);
    await until('the oldest to go', async () => (await changes.getWaitingCount()) === 1_000);
    expect((await waiting(changes)).at(0)).toEqual(rangeOf(1, 1));
  });
});
