import { once } from 'node:events';
import { type RequestListener, request, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectSecurely } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { answerTo, get, getLast, hello, listening, pairOf, speak, waiting } from './support.ts';

const MEGABYTE = 1_000_000;
const large = Buffer.alloc(30 * MEGABYTE);
const sendLarge = (_: unknown, response: ServerResponse) => void response.end(large);

/** More than any test lasts. */
const HOUR = 3_600_000;

/** A port with a short bound for what stalls, and a client of it that takes nothing until it is told to. */
async function stalling(how: string, handle: RequestListener) {
  const isSecure = how === 'over TLS';
  const { port } = await listening(handle, { stalledMs: 100 }, isSecure ? { tls: pairOf('first').tls } : {});
  const place = { port, host: '127.0.0.1', rejectUnauthorized: false };
  const socket = isSecure ? connectSecurely(place) : connect(place);
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined).write(getLast());
  return socket;
}

describe.each(['plainly', 'over TLS'])('%s, one', (how) => {
  test('that takes nothing of its answer is cut off, be it long in the making', async () => {
    const answers: ServerResponse[] = [];
    await stalling(how, async ({ socket }, response) => {
      answers.push(response);
      await once(socket, 'timeout');
      response.end(large);
    });
    await expect.poll(() => answers[0]?.destroyed).toBe(true);
  });

  test('whose answer is long in the making is given all of it', async () => {
    const client = await stalling(how, async ({ socket }, response) => {
      await once(socket, 'timeout');
      response.write('half of it, ');
      await once(socket, 'timeout');
      response.end('and the rest');
    });
    expect(await text(client)).toMatch(/half of it, .*and the rest/s);
  });
});

test('one that takes its answer slowly, but takes it, is given all of it', async () => {
  const { port } = await listening(sendLarge, { stalledMs: 1_500, takenMs: HOUR });
  const { socket, closed } = await speak(port, getLast());
  const taken = takeSlowly(socket, { pauseMs: 50, pauses: 36 });
  await closed;
  expect(taken()).toBeGreaterThan(large.length);
});

test('one that does not take its answer whole in time is cut off, however it takes it', async () => {
  const { port } = await listening(sendLarge, { stalledMs: HOUR, takenMs: 200 });
  const { socket, closed } = await speak(port, getLast());
  const taken = takeSlowly(socket, { pauseMs: 50, pauses: 10 });
  await closed;
  expect(taken()).toBeLessThan(large.length);
});

test('a thousand connections without a word keep nobody out', async () => {
  // Nobody is let go of for being silent alone.
  const { port, said } = await listening(hello, { connections: 300, headersMs: HOUR, requestMs: HOUR });
  const crowd = await Promise.all(Array.from({ length: 1_000 }, () => speak(port)));
  expect(await answerTo(port, getLast())).toContain('hello');
  await expect.poll(() => crowd.filter(({ socket }) => !socket.destroyed).length).toBeLessThanOrEqual(300);
  expect(said.filter(({ level }) => level === 'warn')).toHaveLength(1);
});

test('a crowd of one address makes room for itself, and takes none from others', async () => {
  const { port } = await listening(hello, { connections: 20 });
  const other = request({
    port,
    host: '127.0.0.1',
    localAddress: '127.0.0.2',
    headers: { Connection: 'keep-alive' },
  });
  other.on('response', (response) => response.resume()).end();
  await once(other, 'close');
  const kept = other.socket;
  await Promise.all(Array.from({ length: 60 }, () => speak(port)));
  expect(await answerTo(port, getLast())).toContain('hello');
  expect(kept?.destroyed).toBe(false);
  kept?.destroy();
});

test('those who do not take their answers make room, and those who are being answered do not', async () => {
  const answers: ServerResponse[] = [];
  let slowOnes = 0;
  const { port } = await listening(
    (question, response) => {
      if (question.url === '/large') {
        slowOnes += 1;
        response.end(large);
      } else if (question.url === '/waits') answers.push(response);
      else hello(question, response);
    },
    { connections: 4 },
  );
  const waiting = await Promise.all([speak(port, get('/waits')), speak(port, get('/waits'))]);
  await expect.poll(() => answers).toHaveLength(2);
  const slow = await Promise.all([speak(port, get('/large')), speak(port, get('/large'))]);
  for (const { socket } of slow) socket.pause();
  await expect.poll(() => slowOnes).toBe(2);
  expect(await answerTo(port, getLast())).toContain('hello');
  for (const answer of answers) answer.end('at last');
  for (const { heard } of waiting) await expect.poll(heard).toContain('at last');
});

test('where everybody is being answered, a new one is turned away', async () => {
  const { port, responses, ask } = await waiting({ connections: 2 });
  for (let client = 0; client < 2; client += 1) await ask();
  expect(await answerTo(port, getLast())).toBe('');
  for (const response of responses) response.end();
});

test('an answer under way is not broken by nonsense behind its request', async () => {
  const { responses, ask } = await waiting();
  const { closed } = await ask(`${get()}nonsense\r\n\r\n`);
  // From then on the nonsense has been read.
  await expect.poll(() => responses[0]?.shouldKeepAlive).toBe(false);
  responses[0]?.end('whole');
  const heard = await closed;
  expect(heard.match(/HTTP\/1\.1/g)).toHaveLength(1);
  expect(heard).toContain('whole');
});

/** Pauses behind each tenth of a megabyte. @returns how many bytes came so far. */
function takeSlowly(socket: Socket, { pauseMs, pauses }: { pauseMs: number; pauses: number }): () => number {
  let taken = 0;
  let until = 0;
  let paused = 0;
  socket.on('data', (data) => {
    taken += data.length;
    if (taken < until || paused >= pauses) return;
    paused += 1;
    until = taken + MEGABYTE / 10;
    socket.pause();
    setTimeout(() => socket.resume(), pauseMs);
  });
  return () => taken;
}

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
