import { expect, test } from 'vitest';
import { askThread, startThread } from '../src/thread.ts';

const ended = () => new Error('it has ended');

test('a thread that ends between two questions harms nobody but who asks next', async () => {
  const thread = startThread(new URL('thread/one-answer.ts', import.meta.url), null);
  const exited = new Promise((resolve) => thread.once('exit', resolve));
  expect(await askThread(thread, 'a question', ended)).toBe('a question');
  await exited;
  await expect(askThread(thread, 'another', ended)).rejects.toThrow('it has ended');
});
