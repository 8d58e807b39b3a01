/** What was learnt of a dataset's head in words, for the status and the plan. */

import { number } from '../output/text.ts';
import type { DatasetPlan } from '../plan.ts';

type Learnt = Pick<DatasetPlan, 'head' | 'graded'>;

/** Why glances at it are worth their calls or not, and how well they did; goes on from the name of the dataset. */
export function renderHead({ head, graded }: Learnt): string {
  const grade = graded
    ? `; ${number(graded.brought)} of ${number(graded.of)} rows new at the last walk had come by glances`
    : '';
  return `${reasons[head.why](head)}${grade}`;
}

const counted = (head: Learnt['head']) =>
  `${number(head.inHead)} of ${number(head.new)} new rows stood in the head`;

const reasons: Record<Learnt['head']['why'], (head: Learnt['head']) => string> = {
  'in-head': (head) => `worth glances, ${counted(head)}`,
  elsewhere: (head) => `not worth glances, ${counted(head)}`,
  'few-rows': () => 'no glances yet, too few rows were new',
  'few-walks': ({ walks }) => `no glances yet, ${number(walks)} full walks tell too little`,
  published: () => 'needs no glances, one call shows whether it changed',
};
