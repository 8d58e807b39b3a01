import { Queue, Worker } from 'bullmq';
import { expect, onTestFinished, test } from 'vitest';
import { loopOf, takeBack } from '../../src/queue/bullmq.ts';
import { redisServer, until } from './setup.ts';

test('a worker that rests is alive, one whose loop has ended is not', async () => {
  const server = await redisServer();
  const worker = new Worker('control', async () => {}, { connection: { url: server.url } });
  worker.on('error', () => {});
  onTestFinished(() => worker.close());
  const loop = loopOf(worker);
  await until('the loop', () => loop.isAlive());
  loop.pause();
  await until('the loop to end', () => !worker.isRunning(), 15_000);
  expect(loop.isAlive()).toBe(true);
  loop.resume();
  await until('the loop to begin again', () => worker.isRunning());
  expect(worker.isPaused()).toBe(false);
  await worker.close();
  expect(loop.isAlive()).toBe(false);
});

test('a run that ends while it is taken back is no error, and the others are taken back', async () => {
  const { client, url } = await redisServer();
  const worker = new Worker('mirror', null, { connection: { url } });
  const queue = new Queue('mirror', { connection: client });
  onTestFinished(() => Promise.all([worker.close(), queue.close()]).then(() => undefined));
  await queue.addBulk(['news', 'usage'].map((name) => ({ name, data: {}, opts: { jobId: name } })));
  for (const name of ['news', 'usage']) expect((await worker.getNextJob('token'))?.name).toBe(name);

  await takeBack(queue, (id) => {
    // Arrives at Redis before the command that takes it back.
    if (id === 'news') void client.del(queue.toKey('news'));
    return false;
  });
  expect((await queue.getWaiting()).map(({ name }) => name)).toEqual(['usage']);
});
