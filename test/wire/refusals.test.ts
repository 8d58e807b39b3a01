/** What a 403, a 408 and a 425 mean: a missing scope, a limit, something between us and the API, or the moment. */

import { describe, expect, test } from 'vitest';
import { read } from '../helpers/sync-bench.ts';
import { type Answer, answersPages, json, pageFor, setupUpstream } from '../helpers/upstream.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const between = /something between us and the API \(a firewall or proxy\) answer(s|ed) 403/;

const html = '<!doctype html><title>Just a moment...</title>';
const error = (code: string, message = 'no') => JSON.stringify({ error: code, message });

/** A 403 with this body, with as many others before it as `after` says, and pages behind it. */
const forbids =
  (body: string, when: (nth: number) => boolean = () => true, headers = {}): Answer =>
  (response, nth, request) =>
    when(nth) ? json(response, body, headers, 403) : json(response, pageFor(request, 250));

describe('a 403 without the Error body', () => {
  test.each([
    ['a page of HTML', html, { 'content-type': 'text/html' }],
    ['nothing', '', {}],
    ['a message without an error', '{"message":"Forbidden"}', {}],
    ['more than an Error body', '{"error":"forbidden","message":"no","ray":"8f1"}', {}],
    ['an error that is no text', '{"error":403,"message":"Forbidden"}', {}],
    ['a page that names a limit', '<p>rate limit exceeded</p>', { 'content-type': 'text/html' }],
  ])('(%s) is no missing scope', async (_, body, headers) => {
    const bench = await setupUpstream(forbids(body, () => true, headers));
    const { code, stderr } = await bench.sync('--no-wait');
    expect([code, stderr]).toEqual([75, expect.stringMatching(between)]);
    expect(stderr).not.toMatch(/scope|key/);
  });

  test('passes, and is tried again in a minute', async () => {
    const bench = await setupUpstream(forbids(html, (nth) => nth === 2));
    const first = await bench.sync('--no-wait');
    expect([first.code, first.stderr]).toEqual([75, expect.stringMatching(between)]);
    expect(first.stderr).not.toMatch(/scope|key/);
    expect(bench.requests).toHaveLength(2);
    const again = await bench.sync('--no-wait');
    expect([again.code, again.stderr]).toEqual([75, expect.stringMatching(between)]);
    expect(bench.requests).toHaveLength(2);

    const { problems, exitCode } = await bench.status();
    expect(exitCode).toBe(75);
    expect(problems.map(({ code }) => code)).not.toContain('scope-missing');
    expect(problems.find(({ job }) => job === 'news')?.message).toMatch(between);

    bench.clock.advance(66_000);
    expect((await bench.sync('--no-wait')).code).toBe(0);
    expect(bench.rows()).toBe(250);
  });

  test('that stays is tried less and less often, but at least once in two hours', async () => {
    const bench = await setupUpstream(forbids(html));
    // A run before the moment that status shows asks nothing.
    for (let tries = 1; tries <= 9; tries += 1) {
      await bench.sync('--no-wait');
      expect(bench.requests).toHaveLength(tries);
      const [walk] = read<{ until: string }>(bench.file, 'SELECT waits_until AS until FROM walks');
      bench.clock.advance(Date.parse(`${walk?.until}`) - bench.clock.now());
    }
    const times = bench.requests.map(({ at }) => at);
    const waits = times.slice(1).map((at, index) => at - Number(times[index]));
    expect(waits[0]).toBeLessThanOrEqual(2 * MINUTE);
    for (const [index, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual(MINUTE);
      expect(wait).toBeLessThanOrEqual(2 * HOUR);
      if (index > 0) expect(wait).toBeGreaterThanOrEqual(Number(waits[index - 1]) - 10 * MINUTE);
    }
    expect(waits.at(-1)).toBeGreaterThan(30 * MINUTE);
    bench.answer = answersPages(250);
    bench.clock.advance(2 * HOUR);
    expect((await bench.sync()).code).toBe(0);
  });

  test('does not ask sooner than its Retry-After', async () => {
    const bench = await setupUpstream(forbids(html, (nth) => nth === 2, { 'retry-after': '600' }));
    expect((await bench.sync()).code).toBe(0);
    const [, refused, next] = bench.requests.map(({ at }) => at);
    expect(Number(next) - Number(refused)).toBeGreaterThanOrEqual(600_000);
  });
});

describe('a 403 with the Error body', () => {
  test.each(['insufficient_scope', 'ip_not_allowed', 'corporate_policy', 'unlimited_plan_required'])(
    '(%s) is a missing right: 77, with what the API said',
    async (code) => {
      const bench = await setupUpstream(forbids(error(code, 'This key may not')));
      const first = await bench.sync();
      expect([first.code, first.stderr]).toEqual([77, expect.stringMatching(/lacks the scope/)]);
      expect(first.stderr).toContain(`${code}: This key may not`);
      expect((await bench.status()).problems.map((problem) => problem.code)).toContain('scope-missing');
      expect((await bench.sync()).code).toBe(77);
      expect(bench.requests).toHaveLength(1);
    },
  );

  test('is tried again after minutes, and from the second in a row on once a day', async () => {
    const bench = await setupUpstream(forbids(error('forbidden')));
    for (const minutes of [5, 5, 5, 30, ...Array(9).fill(6 * 60)]) {
      expect((await bench.sync()).code).toBe(77);
      bench.clock.advance(minutes * MINUTE);
    }
    const times = bench.requests.map(({ at }) => at);
    const waits = times.slice(1).map((at, index) => at - Number(times[index]));
    expect(waits).toHaveLength(3);
    expect(waits[0]).toBeGreaterThanOrEqual(2 * MINUTE);
    expect(waits[0]).toBeLessThanOrEqual(15 * MINUTE);
    for (const wait of waits.slice(1)) expect(wait).toBeGreaterThanOrEqual(DAY);
  });

  test.each([
    'rateLimitExceeded',
    'APIRateLimit',
    'userRate403',
    'quota_exceeded',
    'throttled',
    'plan_limit_reached',
  ])('whose code is %s is a limit', async (code) => {
    const bench = await setupUpstream(forbids(error(code), () => true, { 'retry-after': '90' }));
    const { code: ended, stderr } = await bench.sync('--no-wait');
    expect([ended, stderr]).toEqual([75, expect.stringMatching(/the API asks to wait/)]);
  });

  test('that is a limit is like a 429', async () => {
    const bench = await setupUpstream(
      forbids(error('rateLimitExceeded'), (nth) => nth === 2, { 'retry-after': '90' }),
    );
    const first = await bench.sync('--no-wait');
    expect([first.code, first.stderr]).toEqual([75, expect.stringMatching(/the API asks to wait/)]);
    const { problems } = await bench.status();
    expect(problems.map((problem) => problem.code)).not.toContain('scope-missing');
    // A limit is the account's: another dataset waits, too.
    const { length } = bench.requests;
    expect((await bench.run('sync', 'smart-wallets', '--no-wait')).code).toBe(75);
    expect(bench.requests).toHaveLength(length);
    bench.clock.advance(100_000);
    expect((await bench.sync()).code).toBe(0);
  });

  test.each(['quotation_forbidden', 'invalid_delimiter', 'elaborate'])(
    'whose code is %s is none',
    async (code) => {
      const bench = await setupUpstream(forbids(error(code)));
      expect((await bench.sync('--no-wait')).code).toBe(77);
    },
  );
});

describe.each([408, 425])('a %i', (status) => {
  test('passes: it is tried again', async () => {
    const bench = await setupUpstream((response, nth, request) =>
      nth === 2 ? json(response, error('too_slow'), {}, status) : json(response, pageFor(request, 250)),
    );
    expect((await bench.sync()).code).toBe(0);
    expect(bench.rows()).toBe(250);
  });

  test('that stays ends with 75, says what was answered, and sends nobody to the settings', async () => {
    const bench = await setupUpstream((response) => json(response, html, {}, status));
    for (let run = 0; run < 3; run += 1) {
      const { code, stderr } = await bench.sync('--no-wait');
      expect(code).toBe(75);
      expect(stderr).not.toContain('MARKET_API_URL');
    }
    expect(bench.requests.length).toBeLessThanOrEqual(4);
    const { problems } = await bench.status();
    expect(problems.find(({ job }) => job === 'news')?.message).toContain(String(status));
  });

  test('is waited for as it asks', async () => {
    const bench = await setupUpstream((response, nth, request) =>
      nth === 2
        ? json(response, '', { 'retry-after': '300' }, status)
        : json(response, pageFor(request, 250)),
    );
    expect((await bench.sync()).code).toBe(0);
    const [, refused, next] = bench.requests.map(({ at }) => at);
    expect(Number(next) - Number(refused)).toBeGreaterThanOrEqual(300_000);
  });
});
