import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ClientGone, clientAddresses, hostNames, readBody } from '../../src/serve/http/request.ts';
import { type Stream, streamTo } from '../../src/serve/http/response.ts';
import { listenOnLoopback } from '../helpers/loopback.ts';
import { setupServe } from '../helpers/serve-bench.ts';
import { getter } from './client.ts';
import { limitsOf } from './support.ts';

const NEWS = '/api/v1/news';

test('a page and a HEAD cost one call; errors, 304s and refusals none; beyond the quota it is said when to come again', async () => {
  const { bench, issue, url } = await setupServe({ rows: 20, walked: ['news'] });
  const get = getter(url, issue({ scopes: ['news:read'] }, limitsOf('3/1d')).key);
  const left = async () => (await get(NEWS, { 'if-none-match': '*' })).headers['x-ratelimit-remaining'];
  expect(await left()).toBe('3');
  const page = await get(NEWS);
  expect(page.headers).toMatchObject({ 'x-ratelimit-limit': '3', 'x-ratelimit-remaining': '2' });
  const head = await get(NEWS, {}, 'HEAD');
  expect([head.status, head.bytes.length]).toEqual([200, 0]);
  expect(head.headers).toMatchObject({
    'content-length': String(page.bytes.length),
    'x-ratelimit-remaining': '1',
    etag: page.headers['etag'],
  });
  for (const [path, status] of [
    [`${NEWS}?seq=x`, 400],
    ['/api/v1/ai-signals', 403],
    ['/api/v1/nothing', 404],
  ] as const)
    expect((await get(path)).status).toBe(status);
  expect((await get(NEWS, {}, 'POST')).status).toBe(405);
  expect(await left()).toBe('1');
  await get(NEWS);
  const { status, headers, json } = await get(NEWS);
  expect([status, json]).toMatchObject([429, { error: 'too_many_requests' }]);
  bench.clock.advance(Number(headers['retry-after']) * 1_000);
  expect(await get(NEWS)).toMatchObject({ status: 200 });
});

test('nothing at a host name that is not ours; where all addresses are listened on, any of them will do, and no name', async () => {
  const { issue, url } = await setupServe({
    rows: 5,
    walked: ['news'],
    settings: { hosts: ['mirror.example'] },
  });
  const get = getter(url, issue().key);
  const statusAs = async (host: string) => [host, (await get(NEWS, { host })).status];
  for (const host of ['localhost', 'LOCALHOST:4020', '127.0.0.1:1', '[::1]:4020', 'mirror.example'])
    expect(await statusAs(host)).toEqual([host, 200]);
  for (const host of ['evil.example', 'localhost.evil.example', 'mirror.example.evil', '192.0.2.1'])
    expect(await statusAs(host)).toEqual([host, 421]);
  const isOurs = hostNames('0.0.0.0', []);
  expect(['192.0.2.7:4020', '[2001:db8::7]:4020', 'localhost'].map(isOurs)).toEqual([true, true, true]);
  expect(['evil.example', '', undefined, '192.0.2.7:x', '[::1'].map(isOurs)).toEqual(Array(5).fill(false));
});

test('every answer forbids what other pages could do with it', async () => {
  const { url } = await setupServe({ rows: 5, walked: [] });
  for (const path of [NEWS, '/healthz', '/nothing']) {
    const { headers } = await getter(url)(path);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(headers).not.toHaveProperty('access-control-allow-origin');
  }
});

test('a mistake of ours is answered 500, told in the log, and takes nothing with it', async () => {
  const mistakes = [new Error('a mistake of ours')];
  const beforeAnswer = async () => {
    const mistake = mistakes.pop();
    if (mistake) throw mistake;
  };
  const { issue, url, log } = await setupServe({ rows: 5, walked: ['news'], beforeAnswer });
  const get = getter(url, issue({}, limitsOf('10/1d', undefined, 1)).key);
  const { status, headers, json } = await get(NEWS);
  expect([status, json]).toMatchObject([500, { error: 'internal_error' }]);
  expect(JSON.stringify(json)).not.toContain('of ours');
  expect(log()).toContain('a mistake of ours');
  expect(log()).toContain(String(headers['x-request-id']));
  const next = await get(NEWS);
  expect([next.status, next.headers['x-ratelimit-remaining']]).toEqual([200, '9']);
});

describe('the address of a client', () => {
  test.each([
    ['from a proxy, the one before it', '10.0.0.1', '192.0.2.7', '192.0.2.7'],
    ['past two of them', '10.0.0.1', '192.0.2.7, 10.0.0.2', '192.0.2.7'],
    ['not what a client wrote itself', '10.0.0.1', '198.51.100.1, 192.0.2.7', '192.0.2.7'],
    ['from elsewhere, that itself', '192.0.2.9', '198.51.100.1', '192.0.2.9'],
    ['a hop with a port', '10.0.0.1', '192.0.2.7:5555', '192.0.2.7'],
    ['a hop in brackets with a port', '10.0.0.1', '[2001:db8::7]:5555', '2001:db8::7'],
    ['a hop of IPv6 without', '10.0.0.1', '2001:db8::7', '2001:db8::7'],
    ['an empty hop is none', '10.0.0.1', '192.0.2.7, , ', '192.0.2.7'],
    ['what is no address is an unknown one', '10.0.0.1', '1.1.1.1, junk, 10.0.0.2', 'unknown'],
    ['a proxy that tells of nobody', '10.0.0.1', undefined, '10.0.0.1'],
    ['all of them trusted', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['IPv4 within IPv6', '::ffff:10.0.0.1', '192.0.2.7', '192.0.2.7'],
  ])('%s', (_, peer, forwarded, client) => {
    expect(clientAddresses(['10.0.0.0/8'])(peer, forwarded)).toBe(client);
    expect(clientAddresses([])(peer, forwarded), 'without proxies nothing is believed').toBe(peer);
  });

  test('is what a key is held to, and a proxy opens nothing to those whose address it does not tell', async () => {
    const settings = { trusted: ['127.0.0.0/8'] };
    const { issue, url } = await setupServe({ rows: 5, walked: ['news'], settings });
    const get = getter(url, issue({ addresses: ['192.0.2.0/24', '127.0.0.1'] }).key);
    const statusFrom = async (hop: string) => [hop, (await get(NEWS, { 'x-forwarded-for': hop })).status];
    for (const hop of ['192.0.2.7', '192.0.2.7:5555']) expect(await statusFrom(hop)).toEqual([hop, 200]);
    for (const hop of ['198.51.100.7', 'unknown', '_hidden', '10.1.2.3:5555', '[2001:db8::1]', '10.1.2.3:x'])
      expect(await statusFrom(hop)).toEqual([hop, 403]);
  });

  test('is not this machine where a header shows that a proxy passed it on', async () => {
    const { url } = await setupServe({ rows: 5, walked: [] });
    const statusWith = async (name: string) =>
      (await getter(url)('/metrics', { [name]: '1.1 proxy' })).status;
    expect(await statusWith('x-other')).toBe(200);
    for (const name of 'Forwarded Via X-Real-IP X-Forwarded-For X-Forwarded-Proto X-Forwarded-Host'.split(
      ' ',
    ))
      expect([name, await statusWith(name)]).toEqual([name, 401]);
  });
});

/** A client that has asked and takes nothing until it is told to, and how its answer ended. */
async function asking(stream: Stream) {
  let ended: (how: unknown) => void = () => {};
  const over = new Promise<unknown>((resolve) => {
    ended = resolve;
  });
  const handle = (incoming: IncomingMessage, outgoing: ServerResponse) =>
    void streamTo({ incoming, outgoing }, stream).then(() => ended('well'), ended);
  const { port, close } = await listenOnLoopback(createServer(handle));
  onTestFinished(close);
  const client = connect(port, '127.0.0.1');
  onTestFinished(() => void client.destroy());
  client.pause();
  client.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  return { client, over };
}

test('nothing more is written to a client that has gone', async () => {
  const { client, over } = await asking(async (write) => {
    const taking = write('x'.repeat(20_000_000));
    client.destroy();
    await taking;
  });
  expect(await over).toBeInstanceOf(ClientGone);
});

test('a stream that breaks is cut off, never ended', async () => {
  const { client, over } = await asking(async (write) => {
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
