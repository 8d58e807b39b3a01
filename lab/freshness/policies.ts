/** What a dataset runs next: a rule, followed as the daemon follows its plan (`src/daemon/turns.ts`). */

import { nextTurn, type Turn } from '../../src/plan/turn.ts';
import { createKnowledge } from './knowledge.ts';
import type { Mirrored } from './mirror.ts';
import type { Pool } from './quota.ts';
import type { Planned, Rule } from './rules.ts';

export type Policy = (job: Mirrored, now: number) => Turn;

/** A plan is made anew after so long, or sooner where more calls come soon. */
const PLANNED_FOR = { mostMs: 60_000, leastMs: 1_000, partOfWait: 0.1 };

export function follow(rule: Rule, jobs: readonly Mirrored[], pool: Pool): Policy {
  const knowledge = jobs.map(({ spec, mirror }) => createKnowledge(spec, mirror));
  let plan: { until: number; moreAt: number; paces: Map<string, Planned> } | undefined;

  function planAt(now: number) {
    if (plan && now < plan.until) return plan;
    const budget = pool.budget(now);
    const known = knowledge.flatMap((of) => of(now) ?? []);
    const planned = rule(known, { budget, perSecond: null, spending: 'full' });
    const { mostMs, leastMs, partOfWait } = PLANNED_FOR;
    plan = {
      until: now + Math.min(mostMs, Math.max(leastMs, budget.nextInMs * partOfWait)),
      moreAt: now + budget.nextInMs,
      paces: new Map(known.map(({ name }, at) => [name, planned[at] as Planned])),
    };
    return plan;
  }

  return ({ spec, mirror }, now) => {
    const { moreAt, paces } = planAt(now);
    const planned = paces.get(spec.name);
    const pace = planned && {
      everySeconds: planned.everyMs / 1_000,
      glanceEverySeconds: planned.glanceEveryMs && planned.glanceEveryMs / 1_000,
      waitsForMore: planned.waitsForMore,
    };
    const targetSeconds = spec.targetMs / 1_000;
    const schedule = { every: spec.targetMs };
    return nextTurn({ schedule, targetSeconds, pace: pace ?? null, moreAt, ...mirror.last() }, now);
  };
}
