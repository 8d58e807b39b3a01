import { once } from 'node:events';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { boundsOf, mayConnectWithoutTls } from '../../src/serve/http/server.ts';
import { listenOnLoopback } from '../helpers/loopback.ts';
import { answerTo, get, getLast, hello, listening, refusalIn, speak, waiting } from './listen/support.ts';

test('a connection is kept for as many requests as it may have, and then closed', async () => {
  const { port } = await listening(hello, { requests: 2 });
  const { socket, heard } = await speak(port, get());
  await expect.poll(heard).toContain('hello');
  socket.write(get());
  // Its client closes it, or its time is over.
  await expect.poll(heard).toMatch(/hello.*\r\nConnection: close\r\n.*hello/s);
});

test('of requests that come before the first has its answer, the first alone is answered, with Connection: close', async () => {
  const { responses, ask } = await waiting();
  const { closed } = await ask(get('/0') + get('/1').repeat(1_500));
  responses[0]?.end('the answer');
  const heard = await closed;
  expect(heard).toMatch(/\r\nConnection: close\r\n.*the answer/s);
  expect([heard.match(/HTTP\/1\.1/g)?.length, responses.length]).toEqual([1, 1]);
});

test('where an answer has begun, its connection closes behind it all the same', async () => {
  const { responses, ask } = await waiting();
  const { socket, heard, closed } = await ask();
  responses[0]?.write('half of it, ');
  await expect.poll(heard).toContain('half');
  socket.write(get('/second'));
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  responses[0]?.end('and the rest');
  expect(await closed).toMatch(/half of it, .*and the rest/s);
  expect(responses).toHaveLength(1);
});

test('an answer under way is not broken by nonsense behind its request', async () => {
  const { responses, ask } = await waiting();
  const { closed } = await ask(`${get()}nonsense\r\n\r\n`);
  // From then on the nonsense has been read.
  await expect.poll(() => responses[0]?.shouldKeepAlive).toBe(false);
  responses[0]?.end('whole');
  const heard = await closed;
  expect([heard.match(/HTTP\/1\.1/g)?.length, heard]).toEqual([1, expect.stringContaining('whole')]);
});

test('one that takes nothing of its answer is cut off', async () => {
  const answer: Parameters<typeof listening>[0] = (_, response) =>
    void response.end(Buffer.alloc(30_000_000));
  const { port } = await listening(answer, { silentMs: 100 });
  const { socket, closed } = await speak(port, get());
  await once(socket, 'data');
  socket.pause();
  setTimeout(() => socket.resume(), 500);
  expect((await closed).length).toBeLessThan(30_000_000);
});

test('where as many are connected as may be, a new one is closed, and the others are answered', async () => {
  const { port, responses, ask, said } = await waiting({ connections: 2 });
  const clients = [await ask(getLast()), await ask(getLast())];
  expect(await answerTo(port, getLast())).toBe('');
  for (const response of responses) response.end('whole');
  for (const { closed } of clients) expect(await closed).toContain('whole');
  expect(said.filter(({ level }) => level === 'warn')).toHaveLength(1);
  const allowed = [Number.POSITIVE_INFINITY, 4_096, 1_024, 100].map(
    (files) => boundsOf({}, files).connections,
  );
  expect(allowed, 'of the files that may be open').toEqual([1_000, 1_000, 512, 50]);
});

test('a client that was refused, and sends on without closing its end, is cut off', async () => {
  const { port } = await listening();
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined).resume();
  socket.write('good morning\r\n\r\n');
  await once(socket, 'end');
  const sending = setInterval(() => socket.write('k'), 20);
  onTestFinished(() => {
    clearInterval(sending);
    socket.destroy();
  });
  await expect.poll(() => socket.closed).toBe(true);
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

test('a place where it cannot listen: in use is 75, and how to find who holds it; no address of this machine, or no name, is 78', async () => {
  const { port, close } = await listenOnLoopback(createServer());
  onTestFinished(close);
  for (const [place, kind, message] of [
    [{ port }, 'incomplete', `127.0.0.1, port ${port}: in use: ss -ltnp shows by which process`],
    [{ host: '192.0.2.1' }, 'config', '192.0.2.1, port 0: this machine has no such address'],
    [{ host: 'nowhere.invalid' }, 'config', 'no such name is known'],
  ] as const)
    await expect(listening(hello, {}, place)).rejects.toMatchObject({
      kind,
      message: expect.stringContaining(message),
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
    expect(mayConnectWithoutTls(['10.0.0.7'])({ remoteAddress, localAddress })).toBe(may);
  },
);

/** An address by which this machine is somebody else to itself. */
const outer = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

test.skipIf(outer === undefined)('others are turned away, which is said once', async () => {
  const statusFor = (port: number, localAddress = '') =>
    new Promise((resolve) => {
      const asked = request({ port, host: '127.0.0.1', localAddress }).end();
      asked.on('response', (answer) => resolve(answer.resume().statusCode));
      asked.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
    });
  const { port, said } = await listening(hello, {}, { host: '0.0.0.0', proxies: ['10.0.0.7'] });
  const statuses = [
    await statusFor(port, '127.0.0.1'),
    await statusFor(port, outer),
    await statusFor(port, outer),
  ];
  expect(statuses).toEqual([200, 'ECONNRESET', 'ECONNRESET']);
  expect(said).toEqual([{ level: 'warn', text: expect.stringContaining('MIRROR_SERVE_TRUST') }]);
  const open = await listening(hello, {}, { host: '0.0.0.0', proxies: [outer ?? ''] });
  expect(await statusFor(open.port, outer)).toBe(200);
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
