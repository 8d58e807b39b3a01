import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { get, hello, listening, speak } from './support.ts';

/** A port of which every answer waits. */
async function waiting(bounds = {}) {
  const answers: ServerResponse[] = [];
  const served = await listening((_, response) => void answers.push(response), bounds);
  const ask = async (said = get()) => {
    const before = answers.length;
    const client = await speak(served.port, said);
    await expect.poll(() => answers.length).toBeGreaterThan(before);
    return client;
  };
  return { ...served, answers, ask };
}

test('answers under way are finished at the end, say so, and nothing is answered after them', async () => {
  const { answers, ask, end } = await waiting();
  const client = await ask();
  const begun = performance.now();
  const ended = end();
  client.socket.write(get('/second'));
  answers[0]?.end('first');
  const heard = await client.closed;
  expect(heard).toMatch(/\r\nConnection: close\r\n.*first/s);
  expect(heard.match(/HTTP\/1\.1/g)).toHaveLength(1);
  await ended;
  expect(performance.now() - begun).toBeLessThan(1_000);
  expect(answers).toHaveLength(1);
});

test('an answer that has begun is finished, and its connection closed all the same', async () => {
  const { answers, ask, end } = await waiting({ graceMs: 5_000 });
  const client = await ask();
  answers[0]?.write('first ');
  await expect.poll(client.heard).toContain('first');
  const ended = end();
  answers[0]?.end('second');
  expect(await client.closed).toContain('second');
  await ended;
});

test('connections on which nothing is asked are closed at once, and no new ones taken', async () => {
  const { port, end } = await listening(hello, { graceMs: 30_000 });
  const clients = await Promise.all([speak(port), speak(port, 'GET / HT'), speak(port, get())]);
  await expect.poll(() => clients[2]?.heard()).toContain('hello');
  await end();
  await Promise.all(clients.map(({ closed }) => closed));
  await expect(speak(port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('what is not answered within its grace is cut off', async () => {
  const { ask, end } = await waiting({ graceMs: 100 });
  const client = await ask();
  await end();
  expect(await client.closed).toBe('');
});

test('one that does not take its answer holds up the end no longer than its grace', async () => {
  const { port, end } = await listening((_, response) => void response.end(Buffer.alloc(30_000_000)), {
    graceMs: 100,
  });
  const { socket } = await speak(port, get());
  await once(socket, 'data');
  socket.pause();
  await end();
});

test('to end twice is to end once', async () => {
  const { end } = await listening();
  await Promise.all([end(), end()]);
});
