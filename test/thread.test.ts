import type { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { startThread, threadOnDemand } from '../src/thread.ts';

function setup() {
  const workers: Worker[] = [];
  /** Of each of them. */
  const ends: Promise<unknown>[] = [];
  const thread = threadOnDemand<string, { echo: string; answers: number }>(() => {
    const worker = startThread('helpers/echo', import.meta.url, null);
    workers.push(worker);
    ends.push(new Promise((resolve) => worker.once('exit', resolve)));
    return worker;
  }, 'the thread that echoes');
  onTestFinished(thread.close);
  return { ...thread, workers, ends };
}

test('a thread is started by the first question, and answers all of them', async () => {
  const { ask, ends } = setup();
  expect(ends).toHaveLength(0);
  expect(await ask('a question')).toEqual({ echo: 'a question', answers: 1 });
  expect(await ask('another')).toEqual({ echo: 'another', answers: 2 });
  expect(ends).toHaveLength(1);
});

test.each([
  ['sends a failure', 'fail', { kind: 'disk', message: 'the disk is full' }],
  ['ends by a mistake', 'throw', { kind: 'bug', message: expect.stringContaining('a mistake') }],
  ['ends without a word', 'exit', { kind: 'incomplete', message: 'the thread that echoes has ended' }],
])('one that %s is told to whoever asked, and another answers the next question', async (_, end, failure) => {
  const { ask, ends } = setup();
  await expect(ask(end)).rejects.toMatchObject({ name: 'Failure', ...failure });
  expect(await ask('another')).toEqual({ echo: 'another', answers: 1 });
  expect(ends).toHaveLength(2);
});

test('one that ends between two questions harms nobody but who asks next', async () => {
  const { ask, ends, workers } = setup();
  await ask('a question');
  workers[0]?.postMessage('throw');
  await ends[0];
  await expect(ask('another')).rejects.toThrow('the thread that echoes has ended');
  expect(await ask('a third')).toEqual({ echo: 'a third', answers: 1 });
});

test('once all is closed, nobody waits for it, and none is started', async () => {
  const { ask, close, ends } = setup();
  const waiting = ask('wait');
  await close();
  await expect(waiting).rejects.toMatchObject({ kind: 'incomplete' });
  await expect(ask('a question')).rejects.toMatchObject({ kind: 'incomplete' });
  expect(ends).toHaveLength(1);
});
