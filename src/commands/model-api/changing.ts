/** A model whose lists change as time goes by. */

import { type BeforeAnswer, liveEdit, seededRandom } from '../../../model-api/index.ts';
import { isoTime } from '../../clock.ts';

/** So many in a period. */
export type Pace = { count: number; periodMs: number };

/** Edits every list so many times in a period from `started` on; those that are due are made when somebody looks, as of when they were due. */
export function changing({ count, periodMs }: Pace, seed: number, started: number): BeforeAnswer {
  const random = seededRandom(seed);
  let made = 0;
  return ({ at }, { data }) => {
    const due = Math.floor(((at - started) * count) / periodMs);
    if (due > made)
      for (const dataset of Object.values(data)) if (dataset.generatedAt) dataset.generatedAt = isoTime(at);
    for (; made < due; made++) {
      const madeAt = Math.round(started + ((made + 1) * periodMs) / count);
      for (const dataset of Object.values(data)) liveEdit(dataset, random, madeAt);
    }
  };
}
