/** What `status` and `plan` say alike: the limits of the account, and what was learnt of the head of a dataset. */

import { printable } from '../base/printable.ts';
import { number, relative } from '../output/numbers.ts';
import type { DatasetPlan, LimitsJson } from '../plan.ts';

/** Limits with the time when they were read. */
type Limits = Omit<LimitsJson, 'rate' | 'concurrency' | 'notes'> & { at: string };

/** In one sentence. */
export function renderQuota({ quota, at }: Pick<Limits, 'quota' | 'at'>): string {
  const { remaining, limit, reserve, asOf, source, resets, other } = quota;
  if (remaining === null || limit === null) return 'Quota: not known yet; the API has not reported any';
  const reserved = reserve > 0 ? ` (${number(reserve)} reserved)` : '';
  const when = source === 'set' ? '' : `, as of ${relative(asOf, Date.parse(at))}`;
  const beside =
    other?.remaining == null
      ? ''
      : `; beside it ${number(other.remaining)} of ${number(other.limit ?? 0)}, by the header, ${other.resets.says}`;
  return `Quota: ${number(remaining)} of ${number(limit)} calls left${reserved}${when}; ${resets.says}${beside}`;
}

export function renderWaits({ waits, at }: Pick<Limits, 'waits' | 'at'>): string[] {
  return (waits ?? []).map(
    ({ job, until, reason, why }) =>
      `Waiting: ${job ?? 'all calls'}, ${relative(until, Date.parse(at))} (${reason}): ${printable(why)}`,
  );
}

type HeadState = Pick<DatasetPlan, 'head'>;

/** Whether glances at the dataset are worth their calls; follows its name. */
export const renderHead = ({ head }: HeadState): string => reasons[head.why](head);

const counted = (head: HeadState['head']) =>
  `${number(head.inHead, 0)} of ${number(head.new, 0)} new rows were on the first pages`;

const reasons: Record<HeadState['head']['why'], (head: HeadState['head']) => string> = {
  'in-head': (head) => `glances used, ${counted(head)}`,
  elsewhere: (head) => `glances not used, only ${counted(head)}`,
  'few-rows': () => 'no glances yet, too few rows were new',
  'few-walks': ({ walks }) => `no glances yet, ${number(walks)} full walks tell too little`,
  published: () => 'glances not needed, one call shows whether it changed',
};
