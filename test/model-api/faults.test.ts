import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { namedFaults } from '../../model-api/fault-scripts.ts';
import { type endpointNames, parseFaults, sampleKey, seededRandom } from '../../model-api/index.ts';
import { openModel } from './support.ts';

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
