/** What an account is granted, through changes, restarts and clocks that are set. */

import { describe, expect, test } from 'vitest';
import { type Permit, refusal } from '../../../src/serve/service/admission.ts';
import { draftHeaders, limitHeaders } from '../../../src/serve/service.ts';
import { limitsOf, outcome, setupAdmission } from '../support.ts';

const DAY = 86_400_000;

describe('limits of an account', () => {
  test('are shared by its keys, and by no other account', () => {
    const { create, call } = setupAdmission();
    const [one, other] = [create({}, limitsOf('3/1h')).key, create().key];
    const elsewhere = create({ name: 'elsewhere' }, limitsOf('3/1h')).key;
    expect([one, other, one, other].map((key) => outcome(call(key)))).toEqual([
      '2 left',
      '1 left',
      '0 left',
      429,
    ]);
    expect(outcome(call(elsewhere))).toBe('2 left');
  });

  test('say when it is worth trying again, in whole seconds', () => {
    const { create, call, clock } = setupAdmission();
    const { key } = create({}, limitsOf('1/1h'));
    call(key);
    clock.advance(59 * 60_000 + 500);
    expect(call(key)).toMatchObject({
      ...refusal('quota', 59_500, 'quota'),
      retryAfter: 60,
      report: { limit: 1, remaining: 0 },
    });
    clock.advance(59_500);
    expect(outcome(call(key))).toBe('0 left');
  });

  test('of calls at once count those that are being answered, once each', () => {
    const { create, call } = setupAdmission();
    const { key } = create({}, limitsOf(null, undefined, 2));
    const [first] = [call(key) as Permit, call(key)];
    expect(call(key)).toMatchObject({ ...refusal('concurrency', 1_000, 'concurrency'), report: {} });
    first.leave();
    first.leave();
    expect([outcome(call(key)), outcome(call(key))]).toEqual(['1000000000 left', 429]);
  });

  test('a call that cost nothing is given back once; one that is known to cost none needs no quota', () => {
    const { create, call } = setupAdmission();
    const { key } = create({}, limitsOf('2/1h'));
    const first = call(key) as Permit;
    expect(first.giveBack()).toMatchObject({ limit: 2, remaining: 2 });
    expect(first.giveBack()).toMatchObject({ remaining: 2 });
    const second = call(key) as Permit;
    expect([outcome(call(key)), second.giveBack().remaining, second.giveBack().remaining]).toEqual([
      '0 left',
      1,
      1,
    ]);
    expect([call(key), call(key)].map(outcome)).toEqual(['0 left', 429]);
    const free = call(key, false) as Permit;
    expect([outcome(free), free.giveBack().remaining]).toEqual(['0 left', 0]);
  });

  test('that are changed hold from the next call on; what a count of another kind never held is not given back', () => {
    const { create, call, keyring } = setupAdmission();
    const { key } = create({}, limitsOf('2/1h'));
    const before = call(key) as Permit;
    keyring.setLimits('desk', limitsOf('5/1h'));
    expect(outcome(call(key))).toBe('3 left');
    keyring.setLimits('desk', limitsOf('2/1d'));
    expect(outcome(call(key))).toBe('1 left');
    expect(before.giveBack().remaining).toBe(1);
    keyring.setLimits('desk', { quota: null });
    expect(outcome(call(key))).toBe('1000000000 left');
  });

  test('show in headers from the same count', () => {
    const { create, call, clock } = setupAdmission();
    const permit = call(create({}, limitsOf('7/1h')).key) as Permit;
    expect(limitHeaders(permit)).toEqual({ 'X-RateLimit-Limit': '7', 'X-RateLimit-Remaining': '6' });
    expect(draftHeaders(permit)).toEqual({
      'RateLimit-Policy': '"quota";q=7;w=3600',
      RateLimit: '"quota";r=6;t=3600',
    });
    const endless = call(create({ name: 'endless' }).key) as Permit;
    expect(limitHeaders(endless)).toEqual({
      'X-RateLimit-Limit': '1000000000',
      'X-RateLimit-Remaining': '1000000000',
    });
    expect([draftHeaders(endless), clock.slept]).toEqual([{}, []]);
  });

  test('are reported without costing a call', () => {
    const { create, call, admission } = setupAdmission();
    const { key } = create({}, limitsOf('7/1h,refill', '10/1s+20', 4));
    call(key);
    expect(admission().usage('desk')).toMatchObject({
      limit: 7,
      remaining: 6,
      running: 1,
      periodMs: 3_600_000,
    });
    expect(admission().usage('desk')).toMatchObject({
      remaining: 6,
      limits: limitsOf('7/1h,refill', '10/1s+20', 4),
    });
  });
});

describe('what was granted', () => {
  test.each(['5/1h', '5/1h,sliding', '5/1h,refill'])('survives a restart: %s', (quota) => {
    const { create, call, restart, clock } = setupAdmission();
    const { key } = create({}, limitsOf(quota));
    for (let n = 0; n < 3; n += 1) call(key);
    restart();
    expect([call(key), call(key), call(key)].map(outcome)).toEqual(['1 left', '0 left', 429]);
    restart();
    clock.advance(1);
    expect(outcome(call(key))).toBe(429);
  });

  test('is not forgotten where the clock is set back, nor where it was ahead and a restart comes between', () => {
    const { create, call, restart, clock } = setupAdmission();
    const { key } = create({}, limitsOf('2/1h'));
    call(key);
    clock.jump(-DAY);
    expect([call(key), call(key)].map(outcome)).toEqual(['0 left', 429]);
    restart();
    expect(outcome(call(key))).toBe(429);
    clock.jump(DAY);
    expect(outcome(call(key))).toBe(429);
    clock.advance(3_600_000);
    expect(outcome(call(key))).toBe('1 left');
  });

  test.each([false, true])(
    'comes back in time where the clock was set back for good; a restart after it: %s',
    (restarts) => {
      const { create, call, clock, restart } = setupAdmission();
      const { key } = create({}, limitsOf('1/1h'));
      call(key);
      clock.jump(-300 * DAY);
      if (restarts) restart();
      clock.advance(3_600_000 - 1);
      expect(outcome(call(key))).toBe(429);
      clock.advance(1);
      expect(outcome(call(key))).toBe('0 left');
    },
  );
});
