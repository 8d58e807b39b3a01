/** What a person reads where the API refuses a request: what it said, and what to do, which is not always to look at the settings. */

import { describe, expect, test } from 'vitest';
import { type Answer, CANARY, json, pageFor, setupUpstream } from '../helpers/upstream.ts';

const html = { 'content-type': 'text/html' };

const refuses =
  (status: number, body: string, from = 1, headers = {}): Answer =>
  (response, nth, request) =>
    nth >= from ? json(response, body, headers, status) : json(response, pageFor(request, 450));

const error = (code: string, message: string) => JSON.stringify({ error: code, message });

test.each([400, 410, 418])(
  'in the middle of a walk a %i shows status, code and message, says what happens next, and blames no setting',
  async (status) => {
    const said = error('offset_too_large', 'limit + offset must be at most 300');
    const bench = await setupUpstream(refuses(status, said, 3));
    const { stderr } = await bench.sync();
    expect(stderr).toContain(`answered ${status} (offset_too_large: limit + offset must be at most 300)`);
    expect(stderr).toContain('the next run tries again');
    expect(stderr).not.toMatch(/check|MARKET_API_URL/);
  },
);

describe('at the first request', () => {
  test('an error of the API is no wrong address', async () => {
    const bench = await setupUpstream(refuses(422, error('bad_limit', 'limit is too high')));
    const { code, stderr } = await bench.sync();
    expect([code, stderr]).toEqual([
      69,
      expect.stringContaining('answered 422 (bad_limit: limit is too high)'),
    ]);
    expect(stderr).not.toContain('MARKET_API_URL');
  });

  test.each([
    ['a 404', 404, '<p>Not found</p>', html],
    ['a 404 of the API', 404, error('not_found', 'no such route'), {}],
    ['a 400 of nobody', 400, '<p>Bad request</p>', html],
  ])('%s may be a wrong address', async (_, status, body, headers) => {
    const bench = await setupUpstream(refuses(status, body, 1, headers));
    const { code, stderr } = await bench.sync();
    expect([code, stderr]).toEqual([69, expect.stringContaining('check MARKET_API_URL')]);
  });
});

describe('what the API says', () => {
  const lineOf = async (body: string, status = 400) => {
    const bench = await setupUpstream(refuses(status, body));
    const { stderr } = await bench.sync();
    return stderr.split('\n').find((line) => line.includes(String(status))) ?? '';
  };

  test('is one line that a terminal can show', async () => {
    const line = await lineOf(error('bad\u001b[31m', 'first\nsecond\u001b[2J\u202ethird'));
    expect(line).toContain('second');
    expect(line).toMatch(/^[ -~]*$/);
  });

  test('is bounded', async () => {
    const line = await lineOf(error('c'.repeat(5_000), 'm'.repeat(5_000)));
    expect(line.length).toBeLessThan(600);
  });

  test.each([400, 500])('is left out where it is nested too deep to be shown: a %i', async (status) => {
    expect(await lineOf('['.repeat(60_000) + ']'.repeat(60_000), status)).toContain(`answered ${status};`);
  });

  test('never holds the key', async () => {
    const line = await lineOf(error(CANARY, `no such key: ${CANARY}`));
    expect(line).toContain('[key]');
  });

  test('is shown in other forms, too', async () => {
    expect(await lineOf('{"detail":"limit must be below 50"}')).toContain('limit must be below 50');
    expect(await lineOf('{"error":"bad_limit","message":"too high","docs":"/d"}')).toContain(
      'bad_limit: too high',
    );
    expect(await lineOf('{"error":{"code":7,"message":"too high"}}')).toContain('too high');
    expect(await lineOf('{"error":"bad_limit"}')).toContain('answered 400 (bad_limit)');
    expect(await lineOf('{"message":"too high"}')).toContain('answered 400 (too high)');
  });
});
