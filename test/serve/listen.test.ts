import { once } from 'node:events';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listenOnLoopback } from '../helpers/loopback.ts';
import { answerTo, get, getLast, hello, listening, refusalIn, speak } from './listen/support.ts';

test('a request is answered where it listens, and the connection kept for the next', async () => {
  const { url, port } = await listening();
  expect(url).toBe(`http://127.0.0.1:${port}`);
  expect(await (await fetch(url)).text()).toBe('hello');
  const answer = await answerTo(port, get() + get() + getLast());
  expect(answer.match(/hello/g)).toHaveLength(3);
  expect(answer.match(/Connection: close/g)).toHaveLength(1);
});

test('a connection is closed after as many answers as it may have', async () => {
  const { port } = await listening(hello, { requests: 2 });
  const answer = await answerTo(port, get() + get() + get());
  expect(answer.match(/hello/g)).toHaveLength(2);
  expect(answer.match(/Connection: close/g)).toHaveLength(1);
});

describe('a request with a body', () => {
  test.each([
    ['of a known length', `Content-Length: 40\r\n\r\n${getLast('/smuggled')}`],
    ['in chunks', `Transfer-Encoding: chunked\r\n\r\n5\r\nGET /\r\n0\r\n\r\n${getLast('/smuggled')}`],
    ['that waits to be asked for it', 'Content-Length: 40\r\nExpect: 100-continue\r\n\r\n'],
  ])('%s is answered without it, and nothing behind it is taken for a request', async (_, rest) => {
    const asked: unknown[] = [];
    const { port } = await listening((question, response) => {
      asked.push(question.url);
      hello(question, response);
    });
    const answer = await answerTo(port, `GET /first HTTP/1.1\r\nHost: localhost\r\n${rest}`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 .*\r\nConnection: close\r\n.*hello$/s);
    expect(asked).toEqual(['/first']);
  });
});

test('a handler that throws costs its caller the answer, and nobody else', async () => {
  const { port, said } = await listening((question, response) => {
    if (question.url === '/bad') throw new Error('oh');
    if (question.url === '/late') response.write('half');
    if (question.url === '/late') throw new Error('oh');
    hello(question, response);
  });
  expect(refusalIn(await answerTo(port, get('/bad')))).toEqual([500, 'internal_error']);
  expect(await answerTo(port, get('/late'))).not.toContain('0\r\n\r\n');
  expect(await answerTo(port, getLast())).toContain('hello');
  expect(said.map(({ level }) => level)).toEqual(['error', 'error']);
});

test('a client that vanishes leaves nothing behind', async () => {
  let answer: ServerResponse | undefined;
  const { port } = await listening((_, response) => {
    answer = response;
  });
  const { socket } = await speak(port, get());
  await expect.poll(() => answer).toBeDefined();
  socket.resetAndDestroy();
  await once(answer as ServerResponse, 'close');
  answer?.end('to nobody');
  const served = request({ port, host: '127.0.0.1' }).end();
  served.on('response', (response: IncomingMessage) => response.resume());
  await expect.poll(() => answer?.writableEnded).toBe(false);
  answer?.end('to somebody');
  await once(served, 'close');
});

describe('a place where it cannot listen', () => {
  test('is in use: 75, with the process that holds it', async () => {
    const { port, close } = await listenOnLoopback(createServer());
    onTestFinished(close);
    await expect(listening(hello, {}, { port })).rejects.toMatchObject({
      kind: 'incomplete',
      message: expect.stringMatching(
        new RegExp(`^127\\.0\\.0\\.1, port ${port}: in use by process ${process.pid} \\(\\S+\\); end it, or`),
      ),
    });
  });

  test('is not of this machine: 78', async () => {
    await expect(listening(hello, {}, { host: '192.0.2.1' })).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringContaining('192.0.2.1, port 0: this machine has no such address'),
    });
  });

  test('is a name that nobody knows: 78', async () => {
    await expect(listening(hello, {}, { host: 'nowhere.invalid' })).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringContaining('no such name is known'),
    });
  });
});
