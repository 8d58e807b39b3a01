import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Fault, faults, type ModelApi, when } from '../../model-api/index.ts';
import { errorBody, fetchRaw, type Outcome, signals, spoiled } from './spoil.ts';
import { openModel } from './support.ts';

describe('another answer', () => {
  it.each([401, 403, 429, 503] as const)(
    '%i comes with an Error body and the Retry-After that is scripted',
    async (code) => {
      const { status, headers, json } = await spoiled(faults.refuse(code, { retryAfter: 'next week' }));
      expect([status, headers['retry-after'], json()]).toEqual([code, 'next week', errorBody]);
      expect(headers).toHaveProperty('x-request-id');
      expect((await spoiled(faults.refuse(code))).headers).not.toHaveProperty('retry-after');
    },
  );

  it('is any status with any body', async () => {
    const { status, text, headers } = await spoiled(
      faults.status(502, Buffer.from('bad gateway'), { 'content-type': 'text/plain' }),
    );
    expect([status, text, headers['content-type']]).toEqual([502, 'bad gateway', 'text/plain']);
  });

  it('is a web page, a redirect, or nothing at all', async () => {
    const page = await spoiled(faults.html());
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.text).toMatch(/^<!doctype html>/);
    const away = await spoiled(faults.redirect('http://127.0.0.1:9/'));
    expect([away.status, away.headers['location'], away.text]).toEqual([302, 'http://127.0.0.1:9/', '']);
    const nothing = await spoiled(faults.noContent());
    expect([nothing.status, nothing.text, nothing.error]).toEqual([204, '', undefined]);
  });
});

describe('a body', () => {
  it('is cut, emptied, padded, or not UTF-8', async () => {
    const cut = await spoiled(faults.truncated());
    expect(cut.error).toBeUndefined();
    expect(cut.json).toThrow(SyntaxError);
    expect((await spoiled(faults.emptyBody())).text).toBe('');
    const big = await spoiled(faults.huge(3_000_000));
    expect(big.bytes.length).toBe(3_000_000);
    expect(big.json()).toHaveProperty('rows');
    const { bytes } = await spoiled(faults.invalidUtf8());
    expect(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes)).toThrow();
    expect((await spoiled(faults.byteOrderMark())).bytes.subarray(0, 3)).toEqual(Buffer.from('\ufeff'));
  });

  it('holds numbers that JavaScript cannot', async () => {
    const { text } = await spoiled(
      faults.editText((json) => json.replace(/"confidence":[\d.]+/, '"confidence":1e400')),
    );
    expect(text).toContain('"confidence":1e400');
  });

  it('is compressed unasked, or says it is of another type', async () => {
    const { headers, bytes } = await spoiled(faults.gzipped());
    expect(headers['content-encoding']).toBe('gzip');
    expect(JSON.parse(gunzipSync(bytes).toString())).toHaveProperty('rows');
    expect((await spoiled(faults.contentType('text/plain'))).headers['content-type']).toBe('text/plain');
  });
});

describe('headers', () => {
  it('are left out, nonsense, or sent twice', async () => {
    const without = await spoiled(faults.withoutRateLimitHeaders());
    expect(without.headers).not.toHaveProperty('x-ratelimit-limit');
    expect(without.headers).not.toHaveProperty('x-ratelimit-remaining');
    const odd = await spoiled(
      faults.headers({
        'x-ratelimit-remaining': 'NaN',
        'x-ratelimit-limit': ['5', '-7'],
        'x-request-id': undefined,
      }),
    );
    expect(odd.headers).toMatchObject({ 'x-ratelimit-remaining': 'NaN', 'x-ratelimit-limit': '5, -7' });
    expect(odd.headers).not.toHaveProperty('x-request-id');
  });
});

describe('a connection', () => {
  it.each<[string, Fault, Partial<Outcome>]>([
    ['is reset before the answer', faults.resetBeforeHeaders(), { error: 'ECONNRESET' }],
    ['is reset in the body', faults.resetMidBody(), { status: 200, error: 'ECONNRESET' }],
    ['is silent', faults.hang(), { error: 'timeout' }],
    ['falls silent in the body', faults.hangMidBody(), { status: 200, error: 'timeout' }],
    ['ends without the last chunk', faults.truncatedChunks(), { status: 200, error: 'ECONNRESET' }],
    ['ends before Content-Length', faults.contentLengthOff(10), { status: 200, error: 'ECONNRESET' }],
    ['drips', faults.drip({ bytes: 100, everyMs: 5 }), { status: 200, error: 'timeout' }],
    ['is slow', faults.slow(1_000), { error: 'timeout' }],
  ])('%s', async (_, fault, expected) => {
    const model = await openModel({ faults: [() => fault] });
    const { status, error } = await fetchRaw(model, signals, expected.error === 'timeout' ? 400 : undefined);
    expect({ status, error }).toEqual({ status: undefined, error: undefined, ...expected });
  });

  it('drips to the last byte', async () => {
    const { json, error } = await spoiled(faults.drip({ bytes: 2_000, everyMs: 2 }));
    expect(error).toBeUndefined();
    expect(json()).toHaveProperty('rows');
  });

  it('ends after Content-Length, with bytes to spare', async () => {
    const { status, headers, error } = await spoiled(faults.contentLengthOff(-10));
    const whole = await spoiled(faults.contentLengthOff(0));
    expect([status, Number(headers['content-length'])]).toEqual([200, whole.bytes.length - 10]);
    expect(error).toMatch(/^HPE_/);
  });

  it('closes after a whole answer, which keeps alive otherwise', async () => {
    const model = await openModel({ faults: [when({ nth: [3, 4] }, faults.closeAfterwards())] });
    const agent = new Agent({ keepAlive: true });
    const sockets = new Set<unknown>();
    for (let call = 0; call < 5; call++) {
      const outgoing = get({ agent, port: model.port, path: '/' });
      const [response] = await once(outgoing, 'response');
      sockets.add(outgoing.socket);
      await once(response.resume(), 'close');
      if (call > 1) await expect.poll(() => outgoing.socket?.destroyed).toBe(call < 4);
    }
    agent.destroy();
    expect(sockets.size).toBe(3);
  });

  it('is not remembered as an answer that was sent', async () => {
    const model = await openModel({ faults: [when({ nth: 1 }, faults.resetMidBody())] });
    await fetchRaw(model, '/api/v1/news');
    await fetchRaw(model, '/api/v1/news');
    expect(model.calls.map(({ sent }) => sent)).toEqual([false, true]);
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

  it('by chance, the same way for the same seed', async () => {
    const play = async (seed: number) => {
      const model = await openModel({ seed, faults: [when({ chance: 0.5 }, gone())] });
      return statuses(
        model,
        Array.from({ length: 24 }, () => 'usage'),
      );
    };
    const [one, same, other] = await Promise.all([play(1), play(1), play(2)]);
    expect(one).toEqual(same);
    expect(one).not.toEqual(other);
    expect(new Set(one)).toEqual(new Set([200, 410]));
  });

  it('as a script decides', async () => {
    const model = await openModel({
      faults: [({ query }) => (query.get('limit') === '7' ? gone() : undefined)],
    });
    expect(await statuses(model, ['news?limit=6', 'news?limit=7'])).toEqual([200, 410]);
  });

  it('and the call costs what its status costs', async () => {
    const model = await openModel({
      quota: { limit: 10, periodMs: 3_600_000 },
      faults: [when({ nth: 1 }, faults.refuse(503))],
    });
    expect(await statuses(model, ['usage'])).toEqual([503]);
    expect(model.limits.quota.remaining(Date.now())).toBe(10);
    expect(await statuses(model, ['usage'])).toEqual([200]);
    expect(model.limits.quota.remaining(Date.now())).toBe(9);
  });
});
