import { describe, expect, it } from 'vitest';
import type { Decision } from '../../src/governor/events.ts';
import { newJob } from '../../src/governor/jobs.ts';
import { isNext, keptForOthers } from '../../src/governor/share.ts';
import { drive } from './drive.ts';

const MINUTE = 60_000;

describe('scarce calls', () => {
  it('are not all given to the first that asks: the others keep their due', () => {
    const { ask, wait } = scarce({ news: 40, usage: 40 });
    wait('usage', { age: MINUTE });
    // 12 above the reserve, and both jobs as far behind: half of it each.
    expect(granted(ask('news', { age: MINUTE, want: 10 }))).toBeLessThanOrEqual(6);
  });

  it('go first to the job that is furthest behind its target, by its weight', () => {
    const { ask, wait, machine } = scarce({ news: 46, usage: 45 });
    wait('usage', { age: 10 * MINUTE });
    expect(ask('news', { age: MINUTE })).toMatchObject({ wait: { reason: 'quota' } });
    machine.pass(1_000);
    expect(ask('news', { age: 2 * MINUTE, weight: 10 })).toMatchObject({ go: 1 });
  });

  it('that are kept for a job which does not come for them go to one that does', () => {
    const { ask, wait, machine } = scarce({ news: 46, usage: 45 });
    wait('usage', { age: 10 * MINUTE });
    machine.pass(11_000);
    expect(ask('news', { age: MINUTE })).toMatchObject({ go: 1 });
  });

  it('are one at least for each job in each period, however little it is worth', () => {
    const now = 10 * MINUTE;
    const worthy = newJob({ age: 1_000 * MINUTE, target: MINUTE, weight: 1 }, now);
    const news = { ...worthy, usage: { calls: 90, asOfAt: now } };
    const usage = newJob({ age: 0, target: MINUTE, weight: 0.01 }, now);
    const supply = { left: 5, begunAt: now - MINUTE, untilMore: null };
    const jobs = { news, usage };
    expect(keptForOthers(jobs, 'news', supply, now)).toBe(1);
    expect([isNext(jobs, 'news', supply, now), isNext(jobs, 'usage', supply, now)]).toEqual([false, true]);
    const served = { news, usage: { ...usage, usage: { calls: 1, asOfAt: now } } };
    expect(keptForOthers(served, 'news', supply, now)).toBeLessThan(0.1);
    expect([isNext(served, 'news', supply, now), isNext(served, 'usage', supply, now)]).toEqual([
      true,
      false,
    ]);
  });

  it('are looked for by a job whose answers tell, rather than by one whose answers do not', () => {
    const { ask, machine } = scarce({ 'ai-signals': 92 });
    ask('ai-signals', { age: MINUTE });
    const asked = ask('news', { age: MINUTE });
    const sighted = ask('ai-signals', { age: MINUTE });
    expect(waits(asked)).toBeGreaterThan(waits(sighted) + 1_000);
    machine.pass(waits(sighted) - machine.now);
    expect(ask('news', { age: MINUTE })).toMatchObject({ wait: { reason: 'reserve' } });
    expect(ask('ai-signals', { age: MINUTE })).toMatchObject({ go: 1 });
  });
});

/** A pool of 100 of which each job has made so many calls. */
function scarce(calls: Record<string, number>) {
  const machine = drive();
  let remaining = 100;
  for (const [job, times] of Object.entries(calls))
    for (let call = 0; call < times; call += 1) {
      remaining -= 1;
      machine.call({ limit: 100, remaining }, job);
    }
  machine.pass(500);
  const ask = (job: string, { age = 0, weight = 1, want = 1 } = {}) =>
    machine.on({ type: 'ask', owner: 'me', job, want, age, target: MINUTE, weight });
  return {
    machine,
    ask,
    /** The job waits for a call, and goes on waiting. */
    wait(job: string, standing: { age: number }) {
      const decision = ask(job, standing);
      machine.on({ type: 'release', owner: 'me', unused: granted(decision) });
    },
  };
}

const granted = (decision: Decision) => ('go' in decision ? decision.go : 0);
const waits = (decision: Decision) => ('wait' in decision ? decision.wait.until : 0);
