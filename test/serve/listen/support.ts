/** A port that listens for one test, and clients that say on it what no client library would. */

import { once } from 'node:events';
import { chmodSync, copyFileSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { Bounds } from '../../../src/serve/http/server.ts';
import { type ListenAddress, type Listening, listen } from '../../../src/serve/http/server.ts';
import { temporaryFolder } from '../../helpers/folder.ts';

export type Said = { level: string; text: string };

export async function listening(
  handle: RequestListener = hello,
  bounds: Partial<Bounds> = {},
  place: Partial<ListenAddress> = {},
): Promise<Listening & { port: number; said: Said[] }> {
  const said: Said[] = [];
  const hear = (level: string) => (_: unknown, text: string) => void said.push({ level, text });
  const log = { info: hear('info'), warn: hear('warn'), error: hear('error') };
  const quick = { checkMs: 20, graceMs: 2_000, ...bounds };
  const served = await listen(
    handle,
    { host: '127.0.0.1', port: 0, ...place },
    { clock: systemClock, log: log as never, bounds: quick },
  );
  onTestFinished(() => served.end());
  return { ...served, port: Number(new URL(served.url).port), said };
}

export const hello: RequestListener = (_, response) => {
  response.setHeader('Content-Length', '5');
  response.end('hello');
};

/** A port of which every response waits for the test. */
export async function waiting(bounds: Partial<Bounds> = {}, place: Partial<ListenAddress> = {}) {
  const responses: ServerResponse[] = [];
  const served = await listening((_, response) => void responses.push(response), bounds, place);
  const ask = async (said = get()) => {
    const before = responses.length;
    const client = await speak(served.port, said);
    await expect.poll(() => responses.length).toBeGreaterThan(before);
    return client;
  };
  return { ...served, responses, ask };
}

/** Certificate and key as they lie in a folder: what a checkout makes of the key is not for this user alone. */
export function pairOf(name: 'first' | 'second') {
  const folder = temporaryFolder();
  const tls = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') };
  const install = (cert: string, key = cert) => {
    copyFileSync(join('test/fixtures/tls', `${cert}.crt`), tls.certFile);
    copyFileSync(join('test/fixtures/tls', `${key}.key`), tls.keyFile);
    chmodSync(tls.keyFile, 0o600);
  };
  install(name);
  return { tls, install };
}

export type Client = {
  socket: Socket;
  /** All that came so far. */
  heard(): string;
  /** Resolves with all that came when the other end has closed, or cut the line. */
  closed: Promise<string>;
};

/** Connects, says `text` at once, and listens. */
export async function speak(port: number, text = ''): Promise<Client> {
  const socket = connect({ port, host: '127.0.0.1' });
  let heard = '';
  socket.on('data', (data) => {
    heard += data;
  });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(heard)));
  await once(socket, 'connect');
  if (text !== '') socket.write(text);
  return { socket, heard: () => heard, closed };
}

/** What comes for `text` until the other end closes. */
export async function answerTo(port: number, text: string): Promise<string> {
  return await (await speak(port, text)).closed;
}

export const get = (path = '/', more = '') => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;
export const getLast = (path = '/') => get(path, 'Connection: close\r\n');

/** The status and the Error body of an answer that was refused. */
export function refusalIn(answer: string): [status: number, error: string] {
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
  const { error, message, ...others } = JSON.parse(body) as Record<string, string>;
  const isClean =
    typeof message === 'string' && Object.keys(others).length === 0 && /\r\nConnection: close\b/i.test(head);
  return [status, isClean ? String(error) : `unclean: ${answer}`];
}
