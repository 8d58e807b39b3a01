/** Clients that send or take slowly, break off, or never stop asking: what each of them gets, and that nobody else waits. */

import type { Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Bounds, boundsOf } from '../../../src/serve/http/server.ts';
import { speak } from '../listen/support.ts';
import { type Abused, errorIn, setupAbuse, sharedAbuse } from './support.ts';

const { headersMs: HEADERS_MS } = boundsOf();

/** The bounds of the service, but one so short that a test need not wait for it. */
const short = {
  headers: { headersMs: 200, idleMs: 200, checkMs: 20 },
  body: { headersMs: 200, requestMs: 300, checkMs: 20 },
} satisfies Record<string, Partial<Bounds>>;
const leastMs = { headers: short.headers.headersMs, body: short.body.requestMs };

const CLIENT_GONE = 499;

/** More than it takes to answer on a busy machine, and less than it takes Node.js to give up a silent connection. */
const SOON_MS = 5_000;

type Attack = {
  /** What the client sends at once. */
  text: string;
  /** What it sends again and again, every 20 ms. */
  drip?: string;
  /** What it does after a moment. */
  breaksOff?: (socket: Socket) => void;
  /** The status of the response, and the code of its Error body; none where the connection just ends. */
  status?: number;
  error?: string;
  /** The statuses in the access log, unless it is that of the response. */
  logged?: readonly number[];
  /** Which bound has to end the connection; it ends at once unless given. */
  late?: keyof typeof short;
};

const at = (method: string, path: string, ...headers: string[]) =>
  [`${method} ${path} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n');
const get = (...headers: string[]) => at('GET', '/healthz', ...headers);
const upload = at('POST', '/page/login', 'Content-Length: 1000');
const chunks = 'Transfer-Encoding: chunked';
const chunked = at('POST', '/page/login', chunks);

const lateBody: Partial<Attack> = { status: 408, error: 'request_timeout', late: 'body' };
const lateHeaders: Partial<Attack> = { ...lateBody, logged: [], late: 'headers' };

/** Refused before it is a call, and so in no access log. */
const refused = (text: string, status = 400, error = 'bad_request'): Attack => ({
  text,
  status,
  error,
  logged: [],
});

const attacks: Record<string, Attack> = {
  'a body that comes byte by byte': { text: upload, drip: 'k', ...lateBody },
  'a body that never comes': { text: upload, ...lateBody },
  'a body that never ends, and that nobody reads': {
    text: get('Content-Length: 1000'),
    drip: 'k',
    status: 200,
  },
  'a request in a body of a known length': {
    text: `${get('Content-Length: 40')}${at('GET', '/readyz')}`,
    status: 200,
  },
  'a request behind chunks': {
    text: `${get(chunks)}5\r\nGET /\r\n0\r\n\r\n${at('GET', '/readyz')}`,
    status: 200,
  },
  'a body that waits to be asked for': {
    text: get('Content-Length: 40', 'Expect: 100-continue'),
    status: 200,
  },
  'a request, and nothing more': { text: get(), status: 200, late: 'headers' },
  'a body that never ends, of a stranger': {
    text: at('POST', '/page/query', 'Content-Length: 1000'),
    drip: 'k',
    status: 401,
  },
  'headers that come letter by letter': {
    text: 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n',
    drip: 'X-A: b\r\n',
    ...lateHeaders,
  },
  'half a request line': { text: 'GET /ab', ...lateHeaders },
  silence: { text: '', logged: [], late: 'headers' },
  'an upload that is broken off': { text: upload, breaksOff: (socket) => void socket.end() },
  'an upload that is reset': { text: upload, breaksOff: (socket) => void socket.resetAndDestroy() },
  'chunks that are none': { text: `${chunked}nonsense\r\n`, status: 400, error: 'bad_request' },
  'a bad request, and more behind it': { ...refused('good morning\r\n\r\n'), drip: 'good morning\r\n\r\n' },
  'no HTTP': refused('good morning\r\n\r\n'),
  'TLS to a port without': refused('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'),
  'no Host': refused('GET / HTTP/1.1\r\n\r\n'),
  'two Hosts': refused(get('Host: elsewhere')),
  'two Hosts that agree': refused(get('HOST: localhost')),
  'a second Host behind thousands of headers': refused(get(...Array(2_500).fill('A:b'), 'Host: elsewhere')),
  'a length and chunks': refused(get('Content-Length: 5', chunks)),
  'chunks and a length': refused(get(chunks, 'Content-Length: 5')),
  'two lengths': refused(get('Content-Length: 5', 'Content-Length: 6')),
  'a length that is none': refused(get('Content-Length: -1')),
  'chunks by another name': refused(get('Transfer-Encoding: xchunked, gzip')),
  'a header folded over lines': refused(get('X-A: b\r\n c')),
  'a space before the colon': refused(get('Content-Length : 5')),
  'a bare line feed': refused('GET / HTTP/1.1\nHost: localhost\n\n'),
  'a null byte': refused(get('X-A: \0')),
  'a long url': refused(at('GET', `/${'a'.repeat(9_000)}`), 414, 'uri_too_long'),
  'a long url, and a request behind it': refused(
    at('GET', `/${'a'.repeat(9_000)}`) + get(),
    414,
    'uri_too_long',
  ),
  'huge headers': refused(get(`X-A: ${'a'.repeat(20_000)}`), 431, 'headers_too_large'),
  'many headers': refused(get(...Array(6_000).fill('X-A: a')), 431, 'headers_too_large'),
  'a tunnel': refused(at('CONNECT', 'example.com:443'), 405, 'method_not_allowed'),
  'a tunnel to a path': refused(at('CONNECT', '/api/v1/news'), 405, 'method_not_allowed'),
};

describe('an attack', () => {
  const settings = { page: 'token' } as const;
  const usual = sharedAbuse({ settings });
  const hurried = {
    headers: sharedAbuse({ bounds: short.headers, settings }),
    body: sharedAbuse({ bounds: short.body, settings }),
  };

  test.each(Object.entries(attacks))(
    '%s: is answered as it should be and once, its connection closed in time, others are answered, and no error of ours',
    async (_, { text, drip, breaksOff, status, error, late, logged = [status ?? CLIENT_GONE] }) => {
      const abused = (late ? hurried[late] : usual)();
      const before = statusesIn(abused).length;
      const begun = performance.now();
      const { socket, closed } = await attack(abused, text);
      if (drip !== undefined) repeat(20, () => socket.write(drip));
      if (breaksOff) setTimeout(() => breaksOff(socket), 100);
      const heard = await closed;
      await expect.poll(() => statusesIn(abused).slice(before)).toEqual(logged);
      const [from, to] = late ? [leastMs[late], SOON_MS] : [0, HEADERS_MS];
      const ms = performance.now() - begun;
      expect(ms).toBeGreaterThanOrEqual(from);
      expect(ms).toBeLessThan(to);
      expect(heard.match(/HTTP\/1\.1/g) ?? []).toHaveLength(status === undefined ? 0 : 1);
      expect(statusOf(heard)).toBe(status);
      if (error !== undefined) {
        const [head = '', body = ''] = heard.split('\r\n\r\n');
        expect(head).toMatch(/\r\nConnection: close\b/i);
        expect(errorIn(abused, { status: status ?? 0, head, body })).toBe(error);
      }
      expect((await abused.get('/healthz')).status).toBe(200);
      expect(abused.serve.log()).not.toMatch(/"level":50/);
    },
  );
});

test('clients that ask on and on, and take no response, leave others their turn, and little is kept', async () => {
  const abused = await setupAbuse();
  const rest = memory();
  const crowd = await Promise.all(Array.from({ length: 42 }, () => attack(abused, '')));
  // A path that needs no key, one that needs one, and one that is none.
  const paths = ['/openapi.json', '/api/v1/news', '/nothing'];
  for (const [place, { socket }] of crowd.entries())
    socket.pause().write(at('GET', paths[place % 3] ?? '').repeat(500));
  for (let asked = 0; asked < 8; asked += 1) {
    const before = statusesIn(abused).length;
    expect((await abused.get('/healthz')).status).toBe(200);
    expect(statusesIn(abused).length - before, 'of 21,000').toBeLessThan(2_000);
    expect(memory() - rest).toBeLessThan(150 * 1_024 ** 2);
  }
});

const attack = ({ url }: Abused, text: string) => speak(Number(new URL(url).port), text);

function repeat(ms: number, work: () => void): void {
  const timer = setInterval(work, ms);
  onTestFinished(() => clearInterval(timer));
}

function memory(): number {
  globalThis.gc?.();
  return process.memoryUsage().rss;
}

const statusOf = (heard: string) => {
  const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(heard) ?? [];
  return status === undefined ? undefined : Number(status);
};

/** Of the calls in the access log. */
const statusesIn = ({ serve }: Abused) =>
  [...serve.log().matchAll(/"status":(\d{3})/g)].map(([, status]) => Number(status));
