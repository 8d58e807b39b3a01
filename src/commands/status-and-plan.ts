/** What `status` and `plan` say alike: the limits of the account, and what was learnt of the head of a dataset. */

import { duration, number, relative } from '../output/text.ts';
import type { LimitsJson, QuotaJson } from '../plan/limits.ts';
import type { DatasetPlan } from '../plan.ts';
import { printable } from '../printable.ts';

/** Limits with the time when they were read. */
type Limits = LimitsJson & { at: string };

export function renderAccount({ account, at }: Pick<Limits, 'account' | 'at'>): string[] {
  if (!account) return [];
  const { name, processes, asOf } = account;
  const by = `${number(processes)} ${processes === 1 ? 'process' : 'processes'}`;
  return [
    `Account: the limits are those of ${printable(name)}, shared by ${by}, as of ${relative(asOf, Date.parse(at))}`,
  ];
}

export function renderQuota({ quota, at }: Pick<Limits, 'quota' | 'at'>): string {
  const now = Date.parse(at);
  if (quota.remaining === null) return 'Quota: the API has not reported any yet';
  const of = quota.limit === null ? '' : ` of ${number(quota.limit)}`;
  const others = quota.othersPerHour > 0 ? `; others take about ${number(quota.othersPerHour)} an hour` : '';
  const kept = quota.reserve > 0 ? `, ${number(quota.reserve)} of them kept back` : '';
  return `Quota: ${number(quota.remaining)}${of} calls left${kept}, as of ${relative(quota.asOf, now)}; ${renderRefill(quota, now)}${others}`;
}

function renderRefill({ refill }: QuotaJson, now: number): string {
  const sureness = ` (${refill.confidence}: ${refill.evidence})`;
  if (refill.nextBy !== null)
    return `resets ${relative(refill.nextBy, now)} at the latest, every ${duration((refill.periodSeconds ?? 0) * 1_000)}${sureness}`;
  if (refill.perHour !== null) return `${number(refill.perHour)} an hour come back${sureness}`;
  return `reset time not known yet (${refill.evidence})`;
}

export function renderWaits({ waits, at }: Pick<Limits, 'waits' | 'at'>): string[] {
  return (waits ?? []).map(
    ({ job, until, reason, why }) =>
      `Waiting: ${job ?? 'all calls'}, ${relative(until, Date.parse(at))} (${reason}): ${printable(why)}`,
  );
}

type HeadState = Pick<DatasetPlan, 'head' | 'graded'>;

/** Why glances at it are worth their calls or not, and how well they did; goes on from the name of the dataset. */
export function renderHead({ head, graded }: HeadState): string {
  const grade = graded
    ? `; ${number(graded.brought)} of ${number(graded.of)} rows new at the last walk had come by glances`
    : '';
  return `${reasons[head.why](head)}${grade}`;
}

const counted = (head: HeadState['head']) =>
  `${number(head.inHead)} of ${number(head.new)} new rows stood in the head`;

const reasons: Record<HeadState['head']['why'], (head: HeadState['head']) => string> = {
  'in-head': (head) => `worth glances, ${counted(head)}`,
  elsewhere: (head) => `not worth glances, ${counted(head)}`,
  'few-rows': () => 'no glances yet, too few rows were new',
  'few-walks': ({ walks }) => `no glances yet, ${number(walks)} full walks tell too little`,
  published: () => 'needs no glances, one call shows whether it changed',
};
