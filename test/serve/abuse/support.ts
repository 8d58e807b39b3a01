/** The whole service as it listens, a client that sends bytes as they are, and what holds of every answer. */

import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { Bounds } from '../../../src/serve/http/server.ts';
import { listen } from '../../../src/serve/http/server.ts';
import { openServeBench, type ServeBench, type ServeBenchOptions } from '../../helpers/serve-bench.ts';

export const NEWS = '/api/v1/news';

export type Raw = { status: number; head: string; body: string };

export type Abused = {
  serve: ServeBench;
  url: string;
  /** As a client would send it that has been told the address. */
  host: string;
  /** For news and AI signals. */
  key: string;
  /** Sends a request line and headers, and nothing else. */
  send(line: string, headers?: readonly string[]): Promise<Raw>;
  /** GET with host and key, unless other headers are given. */
  get(target: string, headers?: readonly string[]): Promise<Raw>;
};

/** One for all tests of a file, or of a `describe`. */
export function sharedAbuse(options: AbuseOptions = {}): () => Abused {
  let open: (Abused & Closing) | undefined;
  beforeAll(async () => {
    open = await openAbuse(options);
  });
  afterAll(() => open?.close());
  return () => open ?? expect.fail('it has not started');
}

type AbuseOptions = ServeBenchOptions & {
  /** What one client may take; what the service allows unless given. */
  bounds?: Partial<Bounds>;
};

/** One for one test. */
export async function setupAbuse(options: AbuseOptions = {}): Promise<Abused> {
  const { close, ...abused } = await openAbuse(options);
  onTestFinished(close);
  return abused;
}

type Closing = { close(): Promise<void> };

async function openAbuse({ bounds, ...options }: AbuseOptions = {}): Promise<Abused & Closing> {
  const serve = await openServeBench({ rows: 5, walked: ['news'], ...options });
  const { key } = serve.issue({ scopes: ['news:read', 'ai-signals:read'] });
  const place = { host: '127.0.0.1', port: 0 };
  const log = pino({ enabled: false });
  const { url, end } = await listen(serve.service.handle, place, {
    clock: systemClock,
    log,
    errorBody: serve.service.errorBody,
    ...(bounds && { bounds }),
  });
  const { host } = new URL(url);
  const send: Abused['send'] = (line, headers = []) => exchange(url, [line, 'Connection: close', ...headers]);
  const known = [`Host: ${host}`, `Authorization: Bearer ${key}`];
  return {
    serve,
    url,
    host,
    key,
    send,
    get: (target, headers = known) => send(`GET ${target} HTTP/1.1`, headers),
    async close() {
      await end();
      await serve.close();
    },
  };
}

async function exchange(url: string, lines: readonly string[]): Promise<Raw> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write([...lines, '', ''].join('\r\n'), 'latin1');
  const answer = await text(socket);
  const [head = '', ...body] = answer.split('\r\n\r\n');
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]), head, body: body.join('\r\n\r\n') };
}

/** @returns its code, once it is sure that it is an Error body and tells nothing of this machine or of a key. */
export function errorIn({ serve, key }: Pick<Abused, 'serve' | 'key'>, { head, body }: Raw): unknown {
  expect(head).toMatch(/\r\nContent-Type: application\/json\r\n/i);
  const { error, message, ...others } = JSON.parse(body) as Record<string, unknown>;
  expect([typeof error, typeof message, others]).toEqual(['string', 'string', {}]);
  const secrets = [key, secretOf(key), serve.bench.dir, process.cwd(), 'node_modules', '    at ', '.db'];
  for (const secret of secrets) expect(head + body).not.toContain(secret);
  return error;
}

/** Whatever was done, the key stands neither in the log nor in a file, and nothing that must not happen has. */
export function expectNothingKept({ serve: { bench, log }, key }: Pick<Abused, 'serve' | 'key'>): void {
  expect(log()).not.toContain(secretOf(key));
  expect(log()).not.toContain('a call failed');
  const entries = readdirSync(bench.dir, { withFileTypes: true, recursive: true });
  for (const { name, parentPath } of entries.filter((entry) => entry.isFile()))
    expect(readFileSync(join(parentPath, name), 'latin1').includes(secretOf(key)), name).toBe(false);
}

/** The part of a key that nobody could guess. */
const secretOf = (key: string) => key.slice('mmkey_'.length, -'check.'.length);
