import { Worker } from 'bullmq';
import { expect, onTestFinished, test } from 'vitest';
import { handsOf } from '../../src/queue/bullmq.ts';
import { redisServer, until } from './setup.ts';

test('a worker that rests is alive, one whose loop has ended is not', async () => {
  const server = await redisServer();
  const worker = new Worker('control', async () => {}, { connection: { url: server.url } });
  worker.on('error', () => {});
  onTestFinished(() => worker.close());
  const hands = handsOf(worker);
  await until('the loop', () => hands.isAlive());
  hands.pause();
  await until('the loop to end', () => !worker.isRunning(), 15_000);
  expect(hands.isAlive()).toBe(true);
  hands.resume();
  await until('the loop to begin again', () => worker.isRunning());
  expect(worker.isPaused()).toBe(false);
  await worker.close();
  expect(hands.isAlive()).toBe(false);
});
