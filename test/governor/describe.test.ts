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

  it.each([undefined, null, 'a text', {}, { version: 1 }])('knows nothing of a state kept as %j', (kept) => {
    expect(describeKept(kept, T0)).toEqual(describeState(initialState(), T0));
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
    const nextBy = refill.kind === 'window' ? refill.nextBy : 0;
    expect(nextBy - machine.now).toBeLessThan(66 * MINUTE);
    for (const [lateMs, periods] of [
      [0, 0],
      [1, 1],
      [10 * 60 * MINUTE, 10],
    ] as const)
      expect(describeState(machine.state, nextBy + lateMs).quota.refill, 'or the one after').toMatchObject({
        nextBy: nextBy + periods * 60 * MINUTE,
      });
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
    const { remaining, reserve } = machine.shown.quota;
    for (const [left, waits] of [
      [1, []],
      [0, [{ reason: 'reserve' }]],
    ] as const) {
      const permits = (remaining ?? 0) - reserve - left;
      const lease = { permits, maxInFlight: 1, inFlight: 1, heardAt: machine.now };
      const held = { ...kept, leases: { 'desk:7': lease } };
      expect(describeKept(held, machine.now + 20_000).waits).toMatchObject(waits);
      const empty = { ...held, quota: { ...held.quota, level: reserve } };
      expect(describeKept(empty, machine.now + 20_000).waits, 'nobody would go anyway').toEqual([]);
    }
  });

  it('says of a shared account which gate the permits of a silent process keep closed', () => {
    const kept = ({ state, now }: ReturnType<typeof drive>) => ({
      ...state,
      account: { name: 'desk', processes: 2, heardAt: now },
    });
    const waits = (machine: ReturnType<typeof drive>) => describeKept(kept(machine), machine.now).waits;
    const crowded = drive();
    crowded.on({ type: 'holds', owner: 'desk:7', permits: 3, maxInFlight: 2, inFlight: 1 });
    crowded.pass(1);
    crowded.on({ type: 'holds', owner: 'desk:8', permits: 1, maxInFlight: 1, inFlight: 1 });
    const heardAt = crowded.now;
    crowded.pass(9_999);
    expect(waits(crowded), 'hardly any response takes longer').toEqual([]);
    crowded.pass(2);
    const why = 'took permits for 4 calls and fell silent; by then they count as used';
    expect(waits(crowded)).toEqual([
      { job: null, until: heardAt + 2 * MINUTE, reason: 'concurrency', why: `desk:7 and desk:8 ${why}` },
    ]);
    crowded.on({ type: 'gone', owner: 'desk:7' });
    expect(waits(crowded), 'one more may go').toEqual([]);

    const refused = drive();
    refused.call();
    refused.pass(1_000);
    refused.ask('news', 'desk:7');
    const askedAt = refused.now;
    refused.call({ status: 429, retryAfterMs: 20_000 }, 'usage');
    refused.pass(15_000);
    expect(waits(refused), 'until the pause is over').toMatchObject([{ reason: 'retry_after' }]);
    refused.pass((refused.state.pause?.resumeAt ?? 0) - refused.now);
    expect(waits(refused)).toEqual([
      {
        job: null,
        until: askedAt + 2 * MINUTE,
        reason: 'retry_after',
        why: 'desk:7 took a permit and fell silent; by then they count as used',
      },
    ]);
    refused.pass(2 * MINUTE);
    expect(waits(refused)).toEqual([]);
  });

  it('says why things wait, and until when', () => {
    const machine = drive();
    machine.call({ status: 403 }, 'meme-signals');
    for (let failed = 0; failed < 2; failed += 1) machine.call({ status: 503 }, 'usage');
    machine.call({ status: 503 }, 'news');
    machine.call({ status: 429, retryAfterMs: 10_000 }, 'ai-signals');
    const { pause, jobs } = machine.state;
    const [forbidden, usage, news] = ['meme-signals', 'usage', 'news'].map((job) => jobs[job]);
    const others = [
      {
        job: 'meme-signals',
        until: forbidden?.forbidden?.retryAt,
        reason: 'forbidden',
        why: 'the key lacks the scope, or may not be used from this address; one call tries again then, and doctor at once',
      },
      {
        job: 'usage',
        until: usage?.outage?.resumeAt,
        reason: 'unavailable',
        why: 'the endpoint was unavailable 2 times in a row',
      },
      {
        job: 'news',
        until: news?.outage?.resumeAt,
        reason: 'unavailable',
        why: 'the endpoint was unavailable',
      },
    ];
    expect(machine.shown.waits).toEqual([
      {
        job: null,
        until: pause?.resumeAt,
        reason: 'retry_after',
        why: 'the API answered 429: the API said for how long',
      },
      ...others,
    ]);
    machine.pass((pause?.resumeAt ?? 0) - machine.now);
    expect(machine.shown.waits, 'what is over keeps nobody').toEqual(others.slice(0, 1));
    machine.call({ status: 429 }, 'ai-signals');
    const again = machine.state.pause;
    expect(machine.shown.waits[0]).toEqual({
      job: null,
      until: again?.resumeAt,
      reason: 'rate',
      why: 'the API answered 429 2 times in a row: most likely for its rate',
    });
    machine.call({ status: 401 }, 'ai-signals');
    expect(machine.shown.waits[0]).toEqual({
      job: null,
      until: machine.now + 60 * MINUTE,
      reason: 'key_refused',
      why: 'the API refused the key; one call an hour tries it again, and doctor at once',
    });
  });

  it('says of an endpoint that has used up the tries of all when one of them goes again', () => {
    const machine = drive();
    machine.call({ status: 503 }, 'news');
    for (let failed = 0; failed < 10; failed += 1) {
      machine.pass(20 * MINUTE);
      machine.call({ status: 503 }, `job ${failed % 3}`);
    }
    const { unpaidRetryAt, jobs } = machine.state;
    const [wait] = machine.shown.waits.filter(({ job }) => job === 'news');
    expect(unpaidRetryAt).toBeGreaterThan(jobs['news']?.outage?.resumeAt ?? 0);
    expect(wait?.until).toBe(unpaidRetryAt);
    const paid = describeState({ ...machine.state, retryCredit: 1 }, machine.now);
    expect(
      paid.waits.map(({ job }) => job),
      'one that succeeded has paid for it',
    ).not.toContain('news');
    const asked = machine.now;
    expect(asked + machine.call({}, 'news')).toBe(unpaidRetryAt);
  });

  it('gives the pace with what lasted and what did not', () => {
    const machine = drive();
    for (let call = 0; call < 20; call += 1) machine.call();
    machine.call({ status: 429 });
    machine.call();
    expect(machine.shown.rate).toEqual({
      perSecond: machine.state.rate.perSecond,
      confidence: 'guess',
      evidence: 'the API throttled once, and the pace is being measured',
    });
    for (let call = 0; call < 40; call += 1) machine.call();
    machine.call({ status: 429 });
    machine.call();
    expect(machine.shown.rate.evidence).toMatch(/^[\d.]+ a second lasted, [\d.]+ did not$/);
  });

  it('gives the number at once with what was accepted, or refused', () => {
    const machine = drive();
    expect(machine.shown.concurrency).toEqual({
      allowed: 2,
      confidence: 'none',
      evidence: '1 at once were accepted; more were never refused',
    });
    machine.call({ status: 429, inFlight: 2 });
    machine.call();
    expect(machine.shown.concurrency).toEqual({
      allowed: 1,
      confidence: 'likely',
      evidence: '2 at once were refused; 1 are proven',
    });
  });

  it('says on what evidence more calls come', () => {
    const machine = drive();
    const evidence = () => machine.shown.quota.refill.evidence;
    const at = (second: number, remaining: number) => {
      machine.pass(T0 + second * 1_000 - 50 - machine.now);
      machine.call({ limit: 100, remaining });
    };
    expect(evidence()).toBe('nothing was seen of it yet');
    at(1, 50);
    expect(evidence()).toBe('nothing was seen of it yet');
    at(59, 49);
    expect(evidence()).toBe('it did not reset in 58s');
    at(60, 99);
    at(119, 60);
    at(120, 99);
    expect(evidence()).toBe('it was seen to reset twice, 59s to 1m apart');
    at(179, 60);
    at(180, 99);
    expect(evidence()).toBe('it was seen to reset 3 times, 60s to 1m apart');
  });
});
