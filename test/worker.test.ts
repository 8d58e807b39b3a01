import { expect, onTestFinished, test } from 'vitest';
import { Failure } from '../src/base/errors.ts';
import { threadOnDemand } from '../src/base/worker.ts';
import { programFile } from './helpers/program-file.ts';

function setup() {
  const main = programFile('worker-main', import.meta.url);
  const thread = threadOnDemand<string, { echo: string; answers: number }>(
    'echo',
    'the thread that echoes',
    main,
  );
  onTestFinished(thread.close);
  return thread;
}

test('a thread answers one call after the other', async () => {
  const { call } = setup();
  expect(await call('a call')).toEqual({ echo: 'a call', answers: 1 });
  expect(await call('another')).toEqual({ echo: 'another', answers: 2 });
});

test.each([
  ['sends a failure', 'fail', { kind: 'disk', message: 'the disk is full' }],
  ['makes a mistake', 'throw', { kind: 'bug', message: expect.stringContaining('a mistake') }],
])(
  'where a task %s, the caller is told, and another thread answers the next call',
  async (_, end, failure) => {
    const { call } = setup();
    await call('a call');
    await expect(call(end)).rejects.toMatchObject({ name: 'Failure', ...failure });
    expect(await call('another')).toEqual({ echo: 'another', answers: 1 });
  },
);

test('what ends a thread between two calls is told to the next caller, and harms nobody else', async () => {
  const { call } = setup();
  // Its mistake is later than its answer, on whichever way both come.
  await call('throw later');
  const now = new BroadcastChannel('late mistake');
  onTestFinished(() => now.close());
  now.postMessage('now');
  const outcome = () => call('another').catch((thrown: unknown) => thrown);
  await expect
    .poll(outcome)
    .toMatchObject({ name: 'Failure', message: expect.stringContaining('a late mistake') });
  expect(await call('a third')).toEqual({ echo: 'a third', answers: 1 });
});

test('once all is closed, nobody waits for it, and none is started', async () => {
  const { call, close } = setup();
  const waiting = call('wait');
  close();
  const closed = new Failure('incomplete', 'the thread that echoes has ended');
  await expect(waiting).rejects.toEqual(closed);
  await expect(call('a call')).rejects.toEqual(closed);
});
