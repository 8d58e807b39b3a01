import { describe, expect, it } from 'vitest';
import { describe as describeState } from '../../src/governor/describe.ts';
import { initialState } from '../../src/governor/state.ts';
import { drive, T0 } from './drive.ts';

const MINUTE = 60_000;

describe('what is shown of the governor', () => {
  it('claims to know nothing at first', () => {
    const shown = describeState(initialState(), T0);
    expect(shown.quota).toMatchObject({
      limit: null,
      remaining: null,
      refill: { kind: 'unknown', confidence: 'none' },
    });
    expect(shown.rate).toMatchObject({ perSecond: null, confidence: 'none' });
    expect(shown.waits).toEqual([]);
  });

  it('says what is left and that the refill is not known yet', () => {
    const machine = drive();
    machine.call({ limit: 100, remaining: 80 });
    const shown = machine.shown;
    expect(shown.quota).toMatchObject({
      limit: 100,
      remaining: 80,
      source: 'header',
      refill: { kind: 'unknown' },
    });
  });

  it('says when more comes, how sure that is, and on what evidence', () => {
    const machine = drive();
    for (let window = 0; window < 4; window += 1) {
      for (let left = 99; left > 90; left -= 1) {
        machine.call({ limit: 100, remaining: left });
        machine.pass(5 * MINUTE - 500 - 50);
      }
      machine.pass(60 * MINUTE - (machine.now % (60 * MINUTE)));
    }
    machine.call({ limit: 100, remaining: 99 });
    const { refill } = machine.shown.quota;
    expect(refill).toMatchObject({ kind: 'window', periodMs: 60 * MINUTE, confidence: 'sure' });
    expect(refill.evidence).toContain('seen to reset');
    expect(refill.kind === 'window' && refill.nextBy - machine.now).toBeLessThan(66 * MINUTE);
  });

  it('says why things wait, and until when', () => {
    const machine = drive();
    machine.call({ status: 403 }, 'meme-signals');
    machine.call({ status: 503 }, 'usage');
    machine.call({ status: 429, retryAfterMs: MINUTE }, 'news');
    const { waits } = machine.shown;
    expect(waits.map(({ job, reason }) => [job, reason])).toEqual([
      [null, 'retry_after'],
      ['meme-signals', 'forbidden'],
      ['usage', 'unavailable'],
    ]);
    expect(waits.every(({ until, why }) => until > machine.now && why.length > 10)).toBe(true);
  });

  it('gives the pace with what lasted and what did not', () => {
    const machine = drive();
    for (let call = 0; call < 20; call += 1) machine.call();
    machine.call({ status: 429 });
    machine.call();
    const { rate } = machine.shown;
    expect(rate.perSecond).toBeGreaterThan(0);
    expect(rate).toMatchObject({ confidence: 'guess' });
  });
});
