import { createServer } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  type FaultScript,
  faults,
  type ModelApi,
  scopes,
  startModelApi,
  when,
} from '../../model-api/index.ts';
import type { Call } from '../../src/api/response.ts';
import { type ApiParts, createApi } from '../../src/api.ts';
import { systemClock } from '../../src/base/clock.ts';
import { Failure } from '../../src/base/errors.ts';
import { keyFromValue } from '../../src/base/key.ts';
import { listenOnLoopback } from '../helpers/loopback.ts';

const CANARY = 'canary-key-4f1d2c';
const path = '/api/v1/ai-signals';

async function setup(script: FaultScript[] = [], parts: Partial<ApiParts> = {}) {
  const model = await startModelApi({
    rows: 120,
    keys: [{ id: 'test', key: CANARY, scopes }],
    faults: script,
  });
  onTestFinished(() => model.close());
  const records: Call[] = [];
  const sleeps: number[] = [];
  const completed: (number | null)[] = [];
  const asked: string[] = [];
  const api = createApi({
    baseUrl: model.url,
    key: keyFromValue(CANARY),
    governor: {
      async acquire(job) {
        asked.push(job);
        return ({ status }) => void completed.push(status);
      },
      keyChanged: () => undefined,
    },
    record: (call) => records.push(call),
    clock: { ...systemClock, sleep: async (ms) => void sleeps.push(ms) },
    random: () => 0.5,
    userAgent: 'market-mirror/test',
    ...parts,
  });
  onTestFinished(() => api.close());
  const signal = new AbortController().signal;
  const get = (within = signal) =>
    api.get({ job: 'ai-signals', walkId: 7, path, query: { offset: 0, limit: 100 } }, within);
  return { model, api, get, records, sleeps, completed, asked };
}

const always = (...these: Parameters<typeof when>[1][]) => [when({}, ...these)];

async function failureOf(work: Promise<unknown>): Promise<Failure> {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(Failure);
  const failure = thrown as Failure;
  expect(failure.message).not.toContain(CANARY);
  expect(failure.message).not.toContain('\n');
  expect(String(failure.stack) + JSON.stringify(failure)).not.toContain(CANARY);
  return failure;
}

describe('a page that comes', () => {
  test('brings its JSON, its text and the record of the call', async () => {
    const { get, model, completed, records } = await setup();
    const { json, body, call } = await get();
    const text = body.text();
    expect((json as { rows: unknown[] }).rows).toHaveLength(100);
    expect(JSON.parse(text)).toEqual(json);
    expect(call).toMatchObject({
      job: 'ai-signals',
      walkId: 7,
      url: `${path}?offset=0&limit=100`,
      status: 200,
      bytes: Buffer.byteLength(text),
      requestId: model.calls[0]?.requestId,
      errorCode: null,
    });
    expect(completed).toEqual([200]);
    expect(records).toEqual([]);
  });

  test('is asked for with the key, as JSON, and by name', async () => {
    const seen: Record<string, unknown>[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers);
      response.setHeader('content-type', 'application/json; charset=utf-8').end('{}');
    });
    const { url, close } = await listenOnLoopback(server);
    onTestFinished(close);
    const { get } = await setup([], { baseUrl: `${url}/below/` });
    await get();
    expect(seen[0]).toMatchObject({
      authorization: `Bearer ${CANARY}`,
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'market-mirror/test',
    });
  });
});

describe('an answer that is not a page', () => {
  const fast = { limits: { headersMs: 300, deadlineMs: 600, bodyBytes: 2 ** 20 } };
  const limited = { limits: { bodyBytes: 2 ** 20 } };
  const refusals: [string, Parameters<typeof when>[1], string, number, Partial<ApiParts>?][] = [
    ['401', faults.refuse(401), 'key', 1],
    ['403', faults.refuse(403), 'key', 1],
    ['429', faults.refuse(429), 'incomplete', 3],
    ['a redirect', faults.redirect('http://127.0.0.1:9/elsewhere'), 'unreachable', 1],
    ['404', faults.status(404), 'unreachable', 1],
    ['500', faults.status(500), 'unreachable', 3],
    ['502 with HTML', faults.html(502), 'unreachable', 3],
    ['204', faults.noContent(), 'contract', 1],
    ['HTML with status 200', faults.html(), 'contract', 2],
    ['truncated JSON', faults.truncated(), 'contract', 2],
    ['an empty body', faults.emptyBody(), 'contract', 2],
    ['another content type', faults.contentType('text/plain'), 'contract', 2],
    ['invalid UTF-8', faults.invalidUtf8(), 'contract', 2],
    ['a body larger than any page', faults.huge(3 * 2 ** 20), 'contract', 1, limited],
    ['a reset before the headers', faults.resetBeforeHeaders(), 'unreachable', 3],
    ['a reset in mid-body', faults.resetMidBody(), 'unreachable', 3],
    ['a body shorter than its Content-Length', faults.contentLengthOff(10), 'unreachable', 3, fast],
    ['a body that drips for ever', faults.drip({ everyMs: 20 }), 'unreachable', 3, fast],
  ];

  test.each(refusals)(
    '%s fails as promised and in a bounded number of calls',
    async (_name, fault, kind, calls, parts) => {
      const { get, model, records, completed, asked } = await setup(always(fault), parts);
      expect((await failureOf(get())).kind).toBe(kind);
      expect(model.calls).toHaveLength(calls);
      expect(records).toHaveLength(calls);
      expect(completed).toHaveLength(calls);
      expect(asked).toHaveLength(calls);
      expect(JSON.stringify(records)).not.toContain(CANARY);
    },
  );

  test.each([
    ['503', faults.refuse(503)],
    ['a reset', faults.resetMidBody()],
    ['a stale connection', faults.resetBeforeHeaders()],
  ])('%s that passes is recovered from', async (_name, fault) => {
    const { get, model, records } = await setup([when({ nth: 1 }, fault)]);
    expect((await get()).json).toHaveProperty('rows');
    expect(model.calls).toHaveLength(2);
    expect(records).toHaveLength(1);
  });

  test.each([
    ['a body that drips', faults.drip({ everyMs: 20 })],
    ['a body that stops', faults.hangMidBody()],
  ])('%s for ever is a bad answer, and no answer that never came', async (_, fault) => {
    const { get, records } = await setup(always(fault), fast);
    expect((await failureOf(get())).message).toMatch(/^ai-signals: the API answers badly \(\w+\)/);
    expect(records.map(({ errorCode }) => errorCode?.split(' ')[0])).toEqual(Array(3).fill('BROKEN:'));
  });
});

test('the key never reaches the host that a redirect names', async () => {
  let visited = 0;
  const elsewhere = createServer((_request, response) => {
    visited += 1;
    response.end();
  });
  const { url, close } = await listenOnLoopback(elsewhere);
  onTestFinished(close);
  const { get } = await setup(always(faults.redirect(`${url}${path}`)));
  expect((await failureOf(get())).message).toContain('redirect');
  expect(visited).toBe(0);
});

test('an API that is not there fails as unreachable after bounded, growing pauses', async () => {
  const { get, sleeps, model } = await setup();
  await model.close();
  expect((await failureOf(get())).kind).toBe('unreachable');
  expect(sleeps).toHaveLength(2);
  expect(sleeps[1]).toBeGreaterThan(sleeps[0] as number);
});

test('a proxy that never answers is told as the proxy’s, within the bounds of a call', async () => {
  const silent = createServer();
  const asked: string[] = [];
  silent.on('connect', ({ url }) => void asked.push(String(url)));
  const { url, close } = await listenOnLoopback(silent);
  onTestFinished(close);
  const { get, records } = await setup([], {
    baseUrl: 'https://api.mirror.test',
    proxy: { url, authorization: undefined, exceptions: '' },
    limits: { headersMs: 300, deadlineMs: 60_000 },
  });
  expect((await failureOf(get())).message).toContain(
    'the proxy of HTTPS_PROXY cannot be reached or does not answer',
  );
  expect(asked).toEqual(Array(3).fill('api.mirror.test:443'));
  expect(records.map(({ errorCode }) => errorCode)).toEqual(Array(3).fill('PROXY: UND_ERR_HEADERS_TIMEOUT'));
});

test('stopping ends a call under way at once, and its permit is given back', async () => {
  const { get, model, completed } = await setup(always(faults.hang()));
  const stop = new AbortController();
  const call = get(stop.signal);
  await expect.poll(() => (model as ModelApi).calls.length).toBe(1);
  stop.abort(new Error('stopped'));
  await expect(call).rejects.toThrow('stopped');
  expect(completed).toEqual([null]);
});

test('stopping between permit and call takes no permit along', async () => {
  const stop = new AbortController();
  const completed: unknown[] = [];
  const governor = {
    async acquire() {
      stop.abort(new Error('stopped'));
      return (outcome: unknown) => void completed.push(outcome);
    },
    keyChanged: () => undefined,
  };
  const { get, model } = await setup([], { governor });
  await expect(get(stop.signal)).rejects.toThrow('stopped');
  expect(completed).toHaveLength(1);
  expect(model.calls).toHaveLength(0);
});

test('a changed key is taken up with the next call', async () => {
  let current = 'wrong';
  let changed = false;
  const told = vi.fn();
  const { api, model } = await setup([], {
    key: { current: () => keyFromValue(current).current(), reload: () => changed },
    governor: {
      acquire: async () => () => undefined,
      keyChanged: told,
    },
  });
  const request = { job: 'ai-signals', walkId: null, path, query: {} };
  const { signal } = new AbortController();
  await failureOf(api.get(request, signal));
  current = CANARY;
  changed = true;
  await api.get(request, signal);
  expect(told).toHaveBeenCalledTimes(1);
  expect(model.calls.map(({ status }) => status)).toEqual([401, 200]);
});
