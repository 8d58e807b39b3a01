import { describe, expect, test } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { endpoints, setupDoctor as setup } from '../helpers/doctor-bench.ts';
import { runMain } from '../helpers/main.ts';

describe('an API', () => {
  test('that refuses the key is asked once, and again when the key is mended: 77', async () => {
    const { doctor, model, key } = await setup();
    key.active = false;
    const { code, check, troubles } = await doctor();
    expect([code, troubles, model.calls.length]).toEqual([77, ['problem usage'], 1]);
    expect(check('usage')?.message).toMatch(/refused the key.*X-Request-ID/);
    expect(check('news')).toMatchObject({ level: 'skipped', message: 'not asked, since the key is refused' });
    key.active = true;
    expect((await doctor()).code).toBe(0);
  });

  test('that wants a scope is named with the scope and the ways out: 77', async () => {
    const { doctor, model, key } = await setup();
    key.scopes = ['news:read', 'ai-signals:read', 'smart-wallets:read'];
    const { code, check, troubles } = await doctor();
    expect([code, troubles, model.calls.length]).toEqual([77, ['problem meme-signals'], 5]);
    expect(check('meme-signals')?.advice).toMatch(/scope meme:read.*MIRROR_SCHEDULE_MEME_SIGNALS=off/);
  });

  test('that is at a limit is asked no further, which is no failure: 0', async () => {
    const { doctor, model } = await setup({ faults: [when({}, faults.refuse(429, { retryAfter: '60' }))] });
    const { code, troubles, check } = await doctor();
    expect([code, troubles, model.calls.length]).toEqual([0, ['warning usage'], 1]);
    expect(check('news')?.message).toMatch(/^not asked: waiting until .*Z: the API asks to wait$/);
  });

  test('that is not there is tried once: 69', async () => {
    const { doctor } = await setup();
    const { code, check, troubles } = await doctor([], { MARKET_API_URL: 'http://127.0.0.1:1' });
    expect([code, troubles]).toEqual([69, ['problem usage']]);
    expect(check('clock')?.level).toBe('skipped');
  });

  test('that answers with something else has each endpoint told: 65', async () => {
    const { doctor, model } = await setup({ faults: [when({}, faults.html())] });
    const { code, troubles } = await doctor();
    expect([code, troubles, model.calls.length]).toEqual([65, endpoints.map((job) => `problem ${job}`), 5]);
  });

  test.each([
    ['a little', 60_000, 'warning', 0, /^is \d\d s ahead of the API's$/],
    ['much', -3_600_000, 'problem', 78, /^is 3[56]\d\d s behind the API's$/],
  ] as const)('whose clock differs %s from ours', async (_, aheadMs, level, exitCode, message) => {
    const { doctor } = await setup({}, aheadMs);
    const { code, check } = await doctor();
    expect(code).toBe(exitCode);
    expect(check('clock')).toMatchObject({ level, message: expect.stringMatching(message) });
  });
});

test('Ctrl-C ends it without a word of failure: 75', async () => {
  const { environment, clock, model } = await setup();
  const stop = new AbortController();
  model.beforeAnswer = () => stop.abort(new Error('stopped'));
  const { code, stderr } = await runMain(['doctor'], environment, clock, stop.signal);
  expect([code, stderr.includes('market-mirror:'), model.calls.length]).toEqual([75, false, 1]);
});
