/** Questions that are asked again when something changes. */

import { expect, test } from 'vitest';
import { keepAsking } from '../../web/keep-asking.ts';

/** A service that answers when it is told to. */
function open() {
  const questions: { answer(text: string): Promise<void>; signal: AbortSignal }[] = [];
  const told: string[] = [];
  const loading: boolean[] = [];
  const running = keepAsking(
    (signal) =>
      new Promise<string>((resolve) => {
        const answer = async (text: string) => {
          resolve(text);
          await new Promise(setImmediate);
        };
        signal.addEventListener('abort', () => resolve('stopped'));
        questions.push({ answer, signal });
      }),
    (text) => told.push(text),
    (isLoading) => loading.push(isLoading),
  );
  return { questions, told, loading, running };
}

test('changes that come faster than the answer end no question, and are asked for once it is there', async () => {
  const { questions, told, loading, running } = open();
  for (let change = 0; change < 3; change += 1) running.again();
  expect(questions).toHaveLength(1);
  await questions[0]?.answer('first');
  expect(told).toEqual(['first']);
  expect(questions).toHaveLength(2);
  await questions[1]?.answer('second');
  expect(told).toEqual(['first', 'second']);
  expect(questions).toHaveLength(2);
  expect(loading.at(-1)).toBe(false);
});

test('a change when nothing is asked is asked for at once', async () => {
  const { questions, running } = open();
  await questions[0]?.answer('first');
  running.again();
  expect(questions).toHaveLength(2);
});

test('what was stopped is not asked again by itself', async () => {
  const { questions, told, running } = open();
  running.again();
  running.stop();
  await new Promise(setImmediate);
  expect(told).toEqual(['stopped']);
  expect(questions).toHaveLength(1);
});

test('what has ended tells nothing more, and its question ends', async () => {
  const { questions, told, running } = open();
  running.end();
  expect(questions[0]?.signal.aborted).toBe(true);
  await questions[0]?.answer('late');
  expect(told).toEqual([]);
});
