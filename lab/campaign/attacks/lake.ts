/** Two that lay one lake at once, killed again and again while the mirror goes on. */

import type { Random } from '../../../model-api/index.ts';
import type { World } from '../world.ts';
import { type Attack, type End, expectThat } from './attack.ts';

export const lakeAttacks: readonly Attack[] = [
  {
    name: 'lake',
    about: 'two that lay one lake at once are killed at any moment',
    lasts: [3_000, 8_000],
    kills: true,
    begin,
  },
];

/** So many of them may end by themselves, to show how long one takes. */
const SPARED = 0.2;
/** Done, and broken off: what else one may end with is a bug. */
const honest: readonly (number | null)[] = [0, 75];

async function begin({ lake, run }: World, random: Random): Promise<End> {
  let isOver = false;
  let longest = 1_000;
  const strange: string[] = [];
  const lay = async () => {
    while (!isOver) {
      const began = performance.now();
      const { child, ended, output } = run(['lake'], { MIRROR_LAKE: lake.folder });
      lake.counts.started += 1;
      // Before the middle nothing is written: the program begins.
      const fate = random() < SPARED ? undefined : longest * (0.4 + 0.6 * random());
      const timer = fate === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), fate);
      const { code } = await ended;
      clearTimeout(timer);
      if (child.signalCode === 'SIGKILL') lake.counts.killed += 1;
      else longest = performance.now() - began;
      if (code !== null && !honest.includes(code)) strange.push(`${code}: ${output()}`);
    }
  };
  const laying = [lay(), lay()];
  return async () => {
    isOver = true;
    await Promise.all(laying);
    expectThat(strange.length === 0, `lake ends with 0 or 75, not with ${strange[0]}`);
  };
}
