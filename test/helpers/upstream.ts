/** APIs that answer as a test says, in HTTP or byte by byte, and a proxy on the way to them. */

import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsSocketServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import type { Status } from '../../src/reading/status.ts';
import { memoryFolder } from './folder.ts';
import { listenOnLoopback } from './loopback.ts';
import { runMain } from './main.ts';
import { read } from './sync-bench.ts';
import { virtualClock } from './virtual-clock.ts';

export const CANARY = 'canary-key-5d80e3';

/** @param nth of all requests, from 1. */
export type Answer = (response: ServerResponse, nth: number, request: IncomingMessage) => void;

/** `count` rows of a list, as JSON text from `offset` on. */
export function page(count: number, offset: number, limit = 100): string {
  const all = Array.from({ length: count }, (_, at) => ({ id: `row-${at}`, title: `Title ${at}` }));
  const rows = all.slice(offset, offset + limit);
  const hasMore = offset + rows.length < count;
  return JSON.stringify({
    rows,
    pagination: { offset, limit, total: count, returned: rows.length, hasMore },
  });
}

/** The page of `count` rows that was asked for. */
export function pageFor({ url = '' }: { url?: string | undefined }, count: number): string {
  const query = new URL(url, 'http://x').searchParams;
  return page(count, Number(query.get('offset')), Number(query.get('limit') ?? 100));
}

export const json = (response: ServerResponse, text: string | Buffer, headers = {}, status = 200) =>
  void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);

/** An answer as `page`, on every request. */
export const answersPages =
  (count: number): Answer =>
  (response, _, request) =>
    json(response, pageFor(request, count));

/** `market-mirror` against an API that answers so. `answer` may be replaced. */
export async function setupUpstream(answer: Answer) {
  const upstream = { answer, requests: [] as { url: string; at: number }[] };
  const clock = virtualClock();
  const server = createHttpServer((request, response) => {
    upstream.requests.push({ url: request.url ?? '', at: clock.now() });
    // Its time is not that of the test.
    response.sendDate = false;
    upstream.answer(response, upstream.requests.length, request);
  });
  const { url, close } = await listenOnLoopback(server);
  onTestFinished(close);
  return Object.assign(upstream, setupCommands(url, clock));
}

/** The same with bytes of our own: `reply` is written at the first piece of each request. */
export async function setupRaw(reply: (socket: Socket, nth: number, request: string) => void) {
  const upstream = { reply, requests: 0 };
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      upstream.requests += 1;
      upstream.reply(socket, upstream.requests, data.toString('latin1'));
    });
  });
  const { url, close } = await listenOnLoopback(server);
  onTestFinished(close);
  return Object.assign(upstream, setupCommands(url, virtualClock()));
}

function setupCommands(url: string, clock: ReturnType<typeof virtualClock>) {
  const cwd = memoryFolder('mm-wire-');
  const environment: Record<string, string> = {
    MARKET_API_URL: url,
    MARKET_API_KEY: CANARY,
    MIRROR_DIR: join(cwd, 'data'),
  };
  const run = async (...args: string[]) => {
    const ended = await runMain(args, environment, clock);
    expect(ended.stdout + ended.stderr).not.toContain(CANARY);
    return ended;
  };
  const file = join(cwd, 'data/mirror.db');
  return {
    url,
    cwd,
    clock,
    environment,
    run,
    sync: (...args: string[]) => run('sync', 'news', ...args),
    status: async () => JSON.parse((await run('status', '--json')).stdout) as Status,
    rows: () => read<{ rows: number }>(file, 'SELECT count(*) AS rows FROM news')[0]?.rows,
    file,
  };
}

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url));

/** For NODE_EXTRA_CA_CERTS: the certificate of `startTlsUpstream`, for api.mirror.test, other.mirror.test and this machine. */
export const authority = fixture('upstream.crt');

const ownPair = () => ({ cert: readFileSync(authority), key: readFileSync(fixture('upstream.key')) });

/** An API over TLS. */
export async function startTlsUpstream(answer: Answer) {
  let requests = 0;
  const server = createTlsServer(ownPair(), (request, response) => {
    requests += 1;
    answer(response, requests, request);
  });
  const { port, close } = await listenOnLoopback(server);
  onTestFinished(close);
  return { port, requests: () => requests };
}

/**
 * A proxy that opens tunnels (CONNECT) to this machine, whatever host they are for; `overTls`: it is spoken to over TLS.
 * @param refuse what it answers instead of a tunnel, where it does.
 */
export async function startProxy(
  refuse: (head: string) => string | undefined = () => undefined,
  { overTls = false } = {},
) {
  /** All that clients sent before a tunnel was open. */
  const heads: string[] = [];
  const serve = (client: Socket) => {
    client.on('error', () => undefined);
    client.once('data', (data) => {
      const head = data.toString('latin1');
      heads.push(head);
      const refusal = refuse(head);
      if (refusal !== undefined) return void client.end(refusal);
      const port = Number(/^CONNECT [^ ]+:(\d+) HTTP\/1\.1\r\n/.exec(head)?.[1]);
      if (Number.isNaN(port)) return void client.end('HTTP/1.1 405 Method Not Allowed\r\n\r\n');
      const there = connect(port, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        client.pipe(there).pipe(client);
      });
      there.on('error', () => client.destroy());
      client.on('close', () => there.destroy());
    });
  };
  const server = overTls ? createTlsSocketServer(ownPair(), serve) : createServer(serve);
  const { port, close } = await listenOnLoopback(server);
  onTestFinished(close);
  return { port, heads };
}
