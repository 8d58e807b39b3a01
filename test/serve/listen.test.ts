import { once } from 'node:events';
import { request, type ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, onTestFinished, test } from 'vitest';
import { boundsOf } from '../../src/serve/http/connections.ts';
import { peersOf } from '../../src/serve/http/server.ts';
import { abortSignalOf } from '../../src/serve/http/stream.ts';
import { listenOnLoopback } from '../helpers/loopback.ts';
import { answerTo, get, getLast, hello, listening, refusalIn, speak, waiting } from './listen/support.ts';

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
  const { responses, ask } = await waiting();
  const { socket } = await ask();
  socket.resetAndDestroy();
  await once(responses[0] as ServerResponse, 'close');
  responses[0]?.end('to nobody');
  const { closed } = await ask(getLast());
  responses[1]?.end('to somebody');
  expect(await closed).toContain('to somebody');
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

  test.each([
    ['is not of this machine', '192.0.2.1', '192.0.2.1, port 0: this machine has no such address'],
    ['is a name that nobody knows', 'nowhere.invalid', 'no such name is known'],
  ])('%s: 78', async (_, host, message) => {
    await expect(listening(hello, {}, { host })).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringContaining(message),
    });
  });
});

test.each([
  [Number.POSITIVE_INFINITY, 1_000],
  [4_096, 1_000],
  [1_024, 512],
  [100, 50],
])('of %d files that may be open, connections take %d at most', (files, connections) => {
  expect(boundsOf({}, files).connections).toBe(connections);
});

test('a call whose client has gone is over for who asks only then', async () => {
  const { responses, ask } = await waiting();
  const { socket } = await ask();
  const [outgoing] = responses as [ServerResponse];
  const { req: incoming } = outgoing;
  socket.destroy();
  await expect.poll(() => incoming.socket.destroyed).toBe(true);
  expect(abortSignalOf({ incoming, outgoing }).aborted).toBe(true);
});

test('what is given goes before what is usual', () => {
  expect(boundsOf({ connections: 3_000, idleMs: 5 }, 100)).toMatchObject({
    connections: 3_000,
    idleMs: 5,
    headersMs: 10_000,
  });
});

const here = '192.0.2.2';

test.each([
  ['127.0.0.1', '127.0.0.1', true],
  ['::1', '::1', true],
  ['::ffff:127.0.0.1', '::ffff:127.0.0.1', true],
  [here, here, true],
  ['10.0.0.7', here, true],
  ['::ffff:10.0.0.7', `::ffff:${here}`, true],
  ['10.0.0.8', here, false],
  ['192.0.2.3', here, false],
  [undefined, here, false],
])(
  'without TLS only this machine and the proxies may connect: %s to %s',
  (remoteAddress, localAddress, may) => {
    expect(peersOf(['10.0.0.7'])({ remoteAddress, localAddress })).toBe(may);
  },
);

/** An address by which this machine is somebody else to itself. */
const outer = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

const statusFor = (port: number, localAddress: string) =>
  new Promise((resolve) => {
    const asked = request({ port, host: '127.0.0.1', localAddress }).end();
    asked.on('response', (answer) => resolve(answer.resume().statusCode));
    asked.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
  });

test.skipIf(outer === undefined)('others are turned away, which is said once', async () => {
  const { port, said } = await listening(hello, {}, { host: '0.0.0.0', proxies: ['10.0.0.7'] });
  expect(await statusFor(port, '127.0.0.1')).toBe(200);
  expect(await statusFor(port, outer ?? '')).toBe('ECONNRESET');
  expect(await statusFor(port, outer ?? '')).toBe('ECONNRESET');
  expect(said).toEqual([{ level: 'warn', text: expect.stringContaining('MIRROR_SERVE_TRUST') }]);
  const open = await listening(hello, {}, { host: '0.0.0.0', proxies: [outer ?? ''] });
  expect(await statusFor(open.port, outer ?? '')).toBe(200);
});

test('answers under way are finished at the end, say so, and nothing is answered after them', async () => {
  const { responses, ask, end } = await waiting();
  const client = await ask();
  const begun = performance.now();
  const ended = end();
  client.socket.write(get('/second'));
  responses[0]?.end('first');
  const heard = await client.closed;
  expect(heard).toMatch(/\r\nConnection: close\r\n.*first/s);
  expect(heard.match(/HTTP\/1\.1/g)).toHaveLength(1);
  await ended;
  // Less than those get that have no end.
  expect(performance.now() - begun).toBeLessThan(7_000);
  expect(responses).toHaveLength(1);
});

test('an answer that has begun is finished, and its connection closed all the same', async () => {
  const { responses, ask, end } = await waiting({ graceMs: 5_000 });
  const client = await ask();
  responses[0]?.write('first ');
  await expect.poll(client.heard).toContain('first');
  const ended = end();
  responses[0]?.end('second');
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
  const begun = performance.now();
  await end();
  expect(await client.closed).toBe('');
  // Sooner than one that is silent.
  expect(performance.now() - begun).toBeLessThan(boundsOf().stalledMs / 2);
});

test('one that does not take its answer holds up the end no longer than its grace', async () => {
  const { port, end } = await listening((_, response) => void response.end(Buffer.alloc(30_000_000)), {
    graceMs: 100,
  });
  const { socket } = await speak(port, get());
  await once(socket, 'data');
  socket.pause();
  const begun = performance.now();
  await end();
  expect(performance.now() - begun).toBeLessThan(boundsOf().stalledMs / 2);
});

test('to end twice is to end once', async () => {
  const { end } = await listening();
  await Promise.all([end(), end()]);
});
