/** Clients that send requests before they have the responses to those before. */

import { once } from 'node:events';
import { connect as connectSecurely } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { get, getLast, hello, listening, pairOf, speak, waiting } from './support.ts';

const requests = (count: number) => Array.from({ length: count }, (_, at) => get(`/${at}`)).join('');

test('eight requests of a connection are in flight, and the others are read as they are answered', async () => {
  const { port, responses } = await waiting();
  const { heard } = await speak(port, requests(20));
  for (let answered = 0; answered < 20; answered += 1) {
    await expect.poll(() => responses.length).toBe(Math.min(20, answered + 8));
    // So many turns of the event loop would bring the next one.
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    expect(responses.length).toBe(Math.min(20, answered + 8));
    responses[answered]?.end(`answer ${answered}.`);
  }
  await expect.poll(heard).toContain('answer 19.');
  expect(heard().match(/answer \d+\./g)).toEqual(Array.from({ length: 20 }, (_, at) => `answer ${at}.`));
});

test('between two requests of one connection others have their turn', async () => {
  const order: string[] = [];
  const { port } = await listening((request, response) => {
    order.push(request.url ?? '');
    hello(request, response);
  });
  const [flood, other] = [await speak(port), await speak(port)];
  flood.socket.write(requests(1_000));
  other.socket.write(get('/other'));
  await expect.poll(() => order.length).toBe(1_001);
  expect(order.indexOf('/other')).toBeLessThan(100);
});

test('what is not read is not asked on', async () => {
  const large = Buffer.alloc(1_000_000);
  let asked = 0;
  const { port } = await listening((_, response) => {
    asked += 1;
    response.end(large);
  });
  const { socket } = await speak(port);
  socket.pause().write(requests(1_000));
  await expect.poll(() => asked).toBeGreaterThan(0);
  let before = -1;
  await expect
    .poll(() => {
      const isStill = asked === before;
      before = asked;
      return isStill;
    })
    .toBe(true);
  expect(asked).toBeLessThan(40);
});

test.each([1, 2, 3, 4, 5, 7, 26, 100, 1_000])(
  'requests that come in pieces of %d bytes are each answered once, in order, and a body is none',
  async (bytes) => {
    const { port } = await listening(async (request, response) => {
      let body = '';
      for await (const piece of request) body += piece;
      response.end(`${request.url} ${body.length}.`);
    });
    const { socket, closed } = await speak(port);
    socket.setNoDelay(true);
    const body = `\r\n\r\n${getLast('/smuggled')}`;
    const head = ['POST /last HTTP/1.1', 'Host: localhost', `Content-Length: ${body.length}`, '', ''].join(
      '\r\n',
    );
    const all = `${requests(12)}${head}${body}`;
    for (let from = 0; from < all.length; from += bytes) {
      socket.write(all.slice(from, from + bytes));
      await new Promise(setImmediate);
    }
    const answers = (await closed).match(/\/\w+ \d+\./g);
    expect(answers).toEqual([...Array.from({ length: 12 }, (_, at) => `/${at} 0.`), `/last ${body.length}.`]);
  },
);

test('over TLS, too', async () => {
  const { port, responses } = await waiting({}, { tls: pairOf('first').tls });
  const socket = connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  let heard = '';
  socket.on('data', (data) => {
    heard += data;
  });
  socket.write(requests(100));
  await expect.poll(() => responses.length).toBe(8);
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  expect(responses).toHaveLength(8);
  for (let answered = 0; answered < 100; answered += 1) {
    await expect.poll(() => responses.length, { interval: 1 }).toBeGreaterThan(answered);
    responses[answered]?.end(`answer ${answered}.`);
  }
  await expect.poll(() => heard).toContain('answer 99.');
});

test('requests are answered also where their client has ended its side behind them', async () => {
  const { port } = await listening();
  const { socket, closed } = await speak(port);
  socket.end(requests(3));
  expect((await closed).match(/hello/g)).toHaveLength(3);
});
