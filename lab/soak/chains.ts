/** Mirrors of mirrors, some deep, while upstream is edited: each ends as the one above it. */

import { liveChain } from '../../test/helpers/chain-life.ts';

export type ChainsOptions = { depth: number; lives: number; seed: number; print: (line: string) => void };

const LIFE = { rows: 230, rounds: 6, quota: '60/10m' };

/** @throws Error of the first life that breaks a promise, with what replays it. */
export async function liveChains({ depth, lives, seed, print }: ChainsOptions): Promise<void> {
  let all = 0;
  for (let life = 0; life < lives; life += 1)
    try {
      const { edits } = await liveChain({ ...LIFE, depth, seed: seed + life });
      all += edits;
    } catch (thrown) {
      const replay = `npm run soak -- --levels ${depth} --lives 1 --seed ${seed + life}`;
      throw new Error(`a chain of ${depth} mirrors broke a promise; try again: ${replay}`, { cause: thrown });
    }
  print(
    `${lives} chains of ${depth} mirrors, ${all} edits upstream: every level holds what the one above holds`,
  );
}
