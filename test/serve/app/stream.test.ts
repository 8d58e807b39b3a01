import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { ClientGone, readBody, type Stream, streamTo } from '../../../src/serve/http/stream.ts';
import { listenOnLoopback } from '../../helpers/loopback.ts';

/** A client that has asked and takes nothing until it is told to, and how its answer ended. */
async function asking(stream: (incoming: IncomingMessage) => Stream) {
  let ended: (how: unknown) => void = () => {};
  const over = new Promise<unknown>((resolve) => {
    ended = resolve;
  });
  const handle = (incoming: IncomingMessage, outgoing: ServerResponse) =>
    void streamTo({ incoming, outgoing }, stream(incoming)).then(() => ended('well'), ended);
  const server = createServer(handle);
  server.timeout = 30_000;
  const { port, close } = await listenOnLoopback(server);
  onTestFinished(close);
  const client = connect(port, '127.0.0.1');
  onTestFinished(() => void client.destroy());
  client.pause();
  client.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  return { client, over };
}

const MEGABYTES = 'x'.repeat(20_000_000);

test('a client is waited for only so long, and waits for us as long as it likes', async () => {
  const patience: (number | undefined)[] = [];
  const { client, over } = await asking((incoming) => async (write) => {
    patience.push(incoming.socket.timeout);
    const taking = write(MEGABYTES);
    patience.push(incoming.socket.timeout);
    client.resume();
    await taking;
    patience.push(incoming.socket.timeout);
  });
  expect(await over).toBe('well');
  expect(patience).toEqual([0, 30_000, 0]);
});

test('nothing more is written to a client that has gone', async () => {
  const { client, over } = await asking(() => async (write) => {
    const taking = write(MEGABYTES);
    client.destroy();
    await taking;
  });
  expect(await over).toBeInstanceOf(ClientGone);
});

test('a stream that breaks is cut off, never ended', async () => {
  const { client, over } = await asking(() => async (write) => {
    await write('half');
    throw new Error('broken');
  });
  let text = '';
  client.on('data', (piece) => {
    text += String(piece);
  });
  client.resume();
  await new Promise((resolve) => client.once('close', resolve));
  expect(await over).toMatchObject({ message: 'broken' });
  expect(text).not.toMatch(/\r\n0\r\n\r\n$/);
});

test('a body is read whole, or not at all where it is too long', async () => {
  const read: unknown[] = [];
  const server = createServer(async (incoming, outgoing) => {
    read.push(await readBody({ incoming }, 5));
    outgoing.setHeader('Connection', 'close');
    outgoing.end();
  });
  const { url, close } = await listenOnLoopback(server);
  onTestFinished(close);
  for (const body of ['', '12345', 'é12', '123456']) await fetch(url, { method: 'POST', body });
  expect(read).toEqual(['', '12345', 'é12', undefined]);
});
