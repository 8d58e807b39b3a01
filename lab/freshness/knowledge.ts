/** What the records of looks tell the planner of a dataset, by the functions of the program. */

import { DAY_MS, HOUR_MS } from '../../src/clock.ts';
import { learn, MAX_GLANCES } from '../../src/plan/facts.ts';
import { plannedJob } from '../../src/plan.ts';
import { mean, sum } from '../figures.ts';
import type { Spec } from './dataset.ts';
import type { LookRecord, Mirror } from './mirror.ts';
import { CALL_MS } from './quota.ts';
import type { Found, KnownJob } from './rules.ts';

/** Undefined until a walk has ended. Made anew with each look that ends, and now and then. */
export function createKnowledge(spec: Spec, { records }: Mirror): (now: number) => KnownJob | undefined {
  let kept: { of: LookRecord | undefined; at: number; job: KnownJob | undefined } | undefined;
  return (now) => {
    const [latest] = records;
    if (!kept || kept.of !== latest || now - kept.at > HOUR_MS)
      kept = { of: latest, at: now, job: knownJob(spec, records, now) };
    return kept.job;
  };
}

function knownJob(spec: Spec, records: readonly LookRecord[], now: number): KnownJob | undefined {
  const walks = records.filter(({ kind }) => kind === 'walk');
  const glances = records.filter(({ kind }) => kind === 'glance');
  const lastWalk = walks.find(({ isWhole }) => isWhole)?.id ?? 0;
  const learnt = learn(
    walks,
    {
      calls: glances.length > 0 ? mean(glances.slice(0, MAX_GLANCES).map(({ calls }) => calls)) : null,
      brought: sum(glances.map(({ id, inserted }) => (id > lastWalk ? inserted : 0))),
      lastBefore: glances.find(({ id }) => id < lastWalk)?.id ?? 0,
    },
    now,
  );
  const { name, weight, targetMs } = spec;
  const asked = { name, weight, runs: DAY_MS / targetMs, longestMs: targetMs };
  const facts = { ...learnt, callMs: CALL_MS };
  const job = plannedJob({ ...asked, drawsOnQuota: true, state: 'planned', facts });
  return job && { ...job, found: foundIn(records, now) };
}

/** Changes a day; what a glance changed stood in the head, what a walk changed anywhere. */
function foundIn(records: readonly LookRecord[], now: number): Found {
  const earliest = records.at(-1);
  const days = earliest ? Math.max(1 / 24, (now - Date.parse(earliest.startedAt)) / DAY_MS) : 1;
  const found = { inHead: 0, elsewhere: 0, gone: 0 };
  for (const { kind, inserted, updated, deleted, newInHead } of records.slice(0, -1)) {
    const inHead = kind === 'glance' ? inserted + updated : Math.min(newInHead, inserted);
    found.inHead += inHead;
    found.elsewhere += inserted + updated - inHead;
    found.gone += deleted;
  }
  return { inHead: found.inHead / days, elsewhere: found.elsewhere / days, gone: found.gone / days };
}
