import { describe, expect, it } from 'vitest';
import { describeKept, describe as describeState } from '../../src/governor/describe.ts';
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

  it('says no period, nor a time, before two resets agree, and of how many it knows', () => {
    const machine = drive();
    const at = (minute: number, remaining: number) => {
      machine.pass(T0 + minute * MINUTE - machine.now);
      machine.call({ limit: 100, remaining });
      return machine.shown.quota.refill;
    };
    at(1, 50);
    const once = at(10, 99);
    expect(once).toEqual({
      kind: 'unknown',
      confidence: 'none',
      evidence: 'it was seen to reset, and not yet how long that takes',
    });
    at(11, 60);
    // How many periods lie between these two nobody knows.
    expect(at(20, 99)).toEqual({
      kind: 'unknown',
      confidence: 'none',
      evidence: expect.stringMatching(/^it was seen to reset twice, /),
    });
  });

  it('says no rate before a limit was met', () => {
    const machine = drive();
    for (let call = 0; call < 200; call += 1) machine.call();
    expect(machine.shown.rate).toEqual({
      perSecond: null,
      confidence: 'none',
      evidence: 'the API never throttled',
    });
  });

  it('says of a shared account for whose permits all wait, once that process is silent', () => {
    const machine = drive();
    for (let left = 49; left >= 30; left -= 1) machine.call({ limit: 100, remaining: left });
    machine.pass(1_000);
    machine.on({ type: 'holds', owner: 'desk:7', permits: 29, maxInFlight: 1, inFlight: 1 });
    const kept = { ...machine.state, account: { name: 'desk', processes: 2, heardAt: machine.now } };
    expect(machine.ask()).toMatchObject({ wait: { reason: 'reserve' } });
    expect(describeKept(kept, machine.now).waits).toEqual([]);
    const heardAt = machine.now;
    machine.pass(20_000);
    expect(describeKept(kept, machine.now).waits).toEqual([
      {
        job: null,
        until: heardAt + 2 * MINUTE,
        reason: 'reserve',
        why: 'desk:7 took permits for 29 calls and fell silent; by then they count as used',
      },
    ]);
    expect(describeKept(machine.state, machine.now).waits).toEqual([]);
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
