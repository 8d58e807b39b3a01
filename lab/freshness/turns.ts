/** What a dataset runs next: a rule, followed as the daemon follows its plan (`src/daemon/turns.ts`). */

import { nextTurn, plannedForMs, type Turn } from '../../src/plan/turn.ts';
import { createKnowledge } from './knowledge.ts';
import type { Mirrored } from './mirror.ts';
import type { Pool } from './quota.ts';
import { type Planned, type Rule, rules } from './rules.ts';

/** What the dataset runs next. */
export type TurnOf = (job: Mirrored, now: number) => Turn;

type Plan = {
  until: number;
  /** When more calls come. */
  moreAt: number;
  paces: Map<string, Planned>;
  /** The last walks that it knows of. */
  walkedAt: Map<Mirrored, number | null>;
};

export function follow(rule: Rule, jobs: readonly Mirrored[], pool: Pool): TurnOf {
  const knowledge = jobs.map(({ spec, mirror }) => createKnowledge(spec, mirror));
  // The release before did not ask again.
  const asksAgain = rule !== rules['walks alone'];
  let plan: Plan | undefined;

  /** Made anew with each walk, too, since it may learn from it. */
  function planAt(now: number, job: Mirrored) {
    if (plan && now < plan.until && plan.walkedAt.get(job) === job.mirror.last().walkedAt) return plan;
    const budget = pool.budget(now);
    const known = knowledge.flatMap((of) => of(now) ?? []);
    const planned = rule(known, { budget, perSecond: null, spending: 'full' });
    plan = {
      until: now + plannedForMs(budget.nextInMs),
      moreAt: now + budget.nextInMs,
      paces: new Map(known.map(({ name }, at) => [name, planned[at] as Planned])),
      walkedAt: new Map(jobs.map((job) => [job, job.mirror.last().walkedAt])),
    };
    return plan;
  }

  return (job, now) => {
    const { spec, mirror } = job;
    const { moreAt, paces } = planAt(now, job);
    const planned = paces.get(spec.name);
    const intervals = planned && {
      everySeconds: planned.everyMs / 1_000,
      glanceEverySeconds: planned.glanceEveryMs && planned.glanceEveryMs / 1_000,
      waitsForMore: planned.waitsForMore,
    };
    const targetSeconds = spec.targetMs / 1_000;
    const schedule = { every: spec.targetMs };
    const turn = nextTurn(
      { schedule, targetSeconds, intervals: intervals ?? null, moreAt, ...mirror.last() },
      now,
    );
    return asksAgain ? turn : { ...turn, askAt: turn.at };
  };
}
