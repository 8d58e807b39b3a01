/** What `status` and `plan` say alike: the limits of the account, and what was learnt of the head of a dataset. */

import { duration, number, relative } from '../output/numbers.ts';
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

/** In one line. @param withEvidence on what the resets are known. */
export function renderQuota({ quota, at }: Pick<Limits, 'quota' | 'at'>, withEvidence: boolean): string {
  const { remaining, limit, reserve, asOf, othersPerHour, refill } = quota;
  const now = Date.parse(at);
  if (remaining === null) return 'Quota: the API has not reported any yet';
  const of = limit === null ? '' : ` of ${number(limit)}`;
  const reserved = reserve > 0 ? ` (${number(reserve)} reserved)` : '';
  const others = othersPerHour > 0 ? `; other users make about ${number(othersPerHour, 0)} an hour` : '';
  const evidence = withEvidence ? ` (${refill.evidence})` : '';
  return `Quota: ${number(remaining)}${of} calls left${reserved}, as of ${relative(asOf, now)}; ${renderRefill(refill, now)}${evidence}${others}`;
}

/** No figure before it is known. */
function renderRefill({ nextBy, periodSeconds, perHour }: QuotaJson['refill'], now: number): string {
  if (nextBy !== null)
    return `next reset ${relative(nextBy, now)}, one every ${duration((periodSeconds ?? 0) * 1_000)}`;
  return perHour === null ? 'reset time not known yet' : `${number(perHour, 0)} calls come back an hour`;
}

export function renderWaits({ waits, at }: Pick<Limits, 'waits' | 'at'>): string[] {
  return (waits ?? []).map(
    ({ job, until, reason, why }) =>
      `Waiting: ${job ?? 'all calls'}, ${relative(until, Date.parse(at))} (${reason}): ${printable(why)}`,
  );
}

type HeadState = Pick<DatasetPlan, 'head' | 'graded'>;

/** Whether glances at the dataset are worth their calls, and how many new rows they have found; follows its name. */
export function renderHead({ head, graded }: HeadState): string {
  const grade = graded
    ? `; ${number(graded.brought, 0)} of ${number(graded.of, 0)} rows new at the last walk were found by glances before`
    : '';
  return `${reasons[head.why](head)}${grade}`;
}

const counted = (head: HeadState['head']) =>
  `${number(head.inHead, 0)} of ${number(head.new, 0)} new rows were on the first pages`;

const reasons: Record<HeadState['head']['why'], (head: HeadState['head']) => string> = {
  'in-head': (head) => `worth glances, ${counted(head)}`,
  elsewhere: (head) => `not worth glances, ${counted(head)}`,
  'few-rows': () => 'no glances yet, too few rows were new',
  'few-walks': ({ walks }) => `no glances yet, ${number(walks)} full walks tell too little`,
  published: () => 'needs no glances, one call shows whether it changed',
};
