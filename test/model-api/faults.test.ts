import { request } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { namedFaults } from '../../model-api/fault-scripts.ts';
import {
  type endpointNames,
  type Fault,
  faults,
  type ModelApi,
  parseFaults,
  sampleKey,
  seededRandom,
  when,
} from '../../model-api/index.ts';
import { openModel } from './support.ts';

type Outcome = {
  status?: number;
  headers: Record<string, unknown>;
  bytes: Buffer;
  /** The system's code, or `timeout`, where the answer did not end as it should. */
  error?: string;
};

/** What arrives on the wire, good or bad. */
function fetchRaw(model: ModelApi, path: string, longestWaitMs = 10_000): Promise<Outcome> {
  return new Promise((resolve) => {
    const outcome: Outcome = { headers: {}, bytes: Buffer.alloc(0) };
    const end = (error?: string) => resolve(error === undefined ? outcome : { ...outcome, error });
    const call = request(model.url + path, {
      headers: { authorization: `Bearer ${sampleKey.key}` },
      agent: false,
      signal: AbortSignal.timeout(longestWaitMs),
    });
    call.on('error', (error: NodeJS.ErrnoException) =>
      end(error.name === 'AbortError' ? 'timeout' : error.code),
    );
    call.on('response', (response) => {
      Object.assign(outcome, { status: response.statusCode, headers: response.headers });
      response.on('data', (chunk: Buffer) => {
        outcome.bytes = Buffer.concat([outcome.bytes, chunk]);
      });
      response.on('error', (error: NodeJS.ErrnoException) =>
        end(error.name === 'AbortError' ? 'timeout' : error.code),
      );
      response.on('end', () => end());
    });
    call.end();
  });
}

const signals = '/api/v1/ai-signals?limit=20&offset=20';

async function spoiled(fault: Fault, path = signals) {
  const model = await openModel({ faults: [() => fault] });
  const outcome = await fetchRaw(model, path);
  const text = outcome.bytes.toString();
  return { ...outcome, text, json: (): Record<string, unknown> => JSON.parse(text) };
}

it('every fault of the list changes what is sent', async () => {
  const model = await openModel({ rows: 60, delay: async () => {} });
  const look = async (text: string) => {
    model.faults = parseFaults(text);
    const response = await fetch(`${model.url}/api/v1/ai-signals?offset=20&limit=40`, {
      headers: { authorization: `Bearer ${sampleKey.key}` },
      redirect: 'manual',
      signal: AbortSignal.timeout(text === 'hang' ? 100 : 60_000),
    });
    const headers = Object.fromEntries(response.headers);
    // They differ from call to call.
    for (const name of ['date', 'x-request-id', 'x-ratelimit-remaining']) delete headers[name];
    return { status: response.status, headers, text: await response.text() };
  };
  const plain = await look('');
  for (const name of Object.keys(namedFaults)) {
    const sent = await look(name).catch((error: unknown) => ({ error }));
    const onlyLater = name === 'slow' || name === 'drip';
    expect([name, isDeepStrictEqual(sent, plain)]).toEqual([name, onlyLater]);
  }
});

describe('a connection', () => {
  it.each<[string, Fault, Partial<Outcome>]>([
    ['is reset before the answer', faults.resetBeforeHeaders(), { error: 'ECONNRESET' }],
    ['is reset in the body', faults.resetMidBody(), { status: 200, error: 'ECONNRESET' }],
    ['falls silent in the body', faults.hangMidBody(), { status: 200, error: 'timeout' }],
    ['ends before Content-Length', faults.contentLengthOff(10), { status: 200, error: 'ECONNRESET' }],
  ])('%s', async (_, fault, expected) => {
    const model = await openModel({ faults: [() => fault] });
    const { status, error } = await fetchRaw(model, signals, expected.error === 'timeout' ? 400 : undefined);
    expect({ status, error }).toEqual({ status: undefined, error: undefined, ...expected });
  });
});

describe('a page', () => {
  it('is as short as it is told, or has as much pagination', async () => {
    expect((await spoiled(faults.shortPage(3))).json()).toMatchObject({
      rows: [{}, {}, {}],
      pagination: { offset: 20, limit: 20, total: 120, returned: 3, hasMore: true },
    });
    expect((await spoiled(faults.withoutPagination())).json()).not.toHaveProperty('pagination');
    const { json } = await spoiled(faults.withoutPagination('total', 'offset'));
    expect(json()['pagination']).toEqual({ limit: 20, returned: 20, hasMore: true });
  });
});

describe('a list of faults', () => {
  const requestOf = (nth: number, endpoint: (typeof endpointNames)[number] = 'news') => ({
    endpoint,
    nth,
    number: nth,
    offset: 0,
    limit: 50,
    at: 0,
    method: 'GET',
    path: '/',
    query: new URLSearchParams(),
  });
  const struck = (text: string, calls: number) => {
    const [script] = parseFaults(text);
    const random = seededRandom(1);
    return Array.from({ length: calls }, (_, n) => n + 1).filter((nth) => script?.(requestOf(nth), random));
  };

  it('says when each strikes', () => {
    expect(struck('html', 3)).toEqual([1, 2, 3]);
    expect(struck('html@2', 5)).toEqual([2]);
    expect(struck('html@2-4', 5)).toEqual([2, 3, 4]);
    expect(struck('html@4-', 6)).toEqual([4, 5, 6]);
    expect(struck('news=html', 2)).toEqual([1, 2]);
    expect(struck('ai-signals=html', 2)).toEqual([]);
    expect(struck('html:0', 50)).toEqual([]);
    expect(struck('html:0.5', 1_000).length).toBeGreaterThan(400);
    expect(struck('html:0.5', 1_000).length).toBeLessThan(600);
  });
});

describe('a fault strikes', () => {
  const statuses = async (model: ModelApi, paths: readonly string[]) => {
    const seen = [];
    for (const path of paths) seen.push((await fetchRaw(model, `/api/v1/${path}`)).status);
    return seen;
  };
  const gone = () => faults.status(410, {});

  it('the calls that are named: by endpoint, number, offset', async () => {
    const model = await openModel({ faults: [when({ endpoint: 'news', nth: [2, 3] }, gone())] });
    expect(await statuses(model, ['news', 'usage', 'news', 'news', 'news'])).toEqual([
      200, 200, 410, 410, 200,
    ]);
    model.faults = [
      when({ offset: 50, nth: 1 }, gone()),
      when({ endpoint: ['usage', 'memeSignals'] }, gone()),
    ];
    expect(await statuses(model, ['news', 'news?offset=50', 'news?offset=50', 'usage'])).toEqual([
      200, 410, 200, 410,
    ]);
    model.faults = [when({ from: 2, to: 3 }, gone())];
    expect(await statuses(model, ['usage', 'news', 'usage', 'usage'])).toEqual([200, 410, 410, 200]);
  });
});
