/** The thread that lays a lake for the daemon: mirroring never waits for it, and it may end at any moment. */

import type { AskedOfTarget, SaidByTarget } from '../../targets.ts';
import { startThread, type Thread, threadOnDemand } from '../../thread.ts';

export type LayerParts = {
  dir: string;
  /** The settings of the lake, and where its keys are found: read anew each time. */
  environment: Record<string, string | undefined>;
  /** Between 0 and 1, by which its pauses differ from those of others. */
  chance: number;
};

export function lakeThread({ dir, environment, chance }: LayerParts): Thread<AskedOfTarget, SaidByTarget> {
  const own = Object.entries(environment).filter(([name]) => /^(MIRROR_|AWS_|HOME$)/.test(name));
  const parts: LayerParts = { dir, environment: Object.fromEntries(own), chance };
  return threadOnDemand(() => startThread('worker', import.meta.url, parts), 'the thread of the lake');
}
