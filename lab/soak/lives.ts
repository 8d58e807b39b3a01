/** Random lives of datasets over real HTTP, with a real store, crashes and a virtual clock: the promises hold. */

import fc from 'fast-check';
import {
  checkConvergence,
  checkLife,
  checkTended,
  checkTendedConvergence,
  isProof,
} from '../../test/helpers/invariants.ts';
import { openBench } from '../../test/helpers/mirror-bench.ts';
import { live, scenarios, type Wildness } from '../../test/helpers/scenario.ts';

type LivesOptions = { count: number; seed: number; path?: string };

/** What happened in them, in numbers. */
export type Tally = Record<
  'lives' | 'walks' | 'glances' | 'proofs' | 'calls' | 'rows removed' | 'interruptions',
  number
>;

const LONGEST = 60;

/**
 * @param options.path of a life to try first; where it breaks a promise, it is shortened.
 * @throws Error of a life that breaks a promise, with what replays it.
 */
export async function tryLives(wildness: Wildness, { count, seed, path }: LivesOptions): Promise<Tally> {
  const tally: Tally = {
    lives: 0,
    walks: 0,
    glances: 0,
    proofs: 0,
    calls: 0,
    'rows removed': 0,
    interruptions: 0,
  };
  const bench = await openBench({ rows: 0 });
  const property = fc.asyncProperty(scenarios(wildness, LONGEST), async (scenario) => {
    bench.clear();
    const life = await live(bench, scenario);
    if (wildness === 'tended') {
      checkTended(bench, life, scenario);
      await checkTendedConvergence(bench, scenario);
    } else {
      checkLife(life, scenario, wildness);
      await checkConvergence(bench, scenario.job);
    }
    tally.lives += 1;
    for (const { walk, interruptions } of life.passages) {
      tally[walk.kind === 'walk' ? 'walks' : 'glances'] += 1;
      tally.proofs += Number(isProof({ walk }));
      tally.calls += walk.apiCalls;
      tally['rows removed'] += walk.deleted;
      tally.interruptions += interruptions;
    }
  });
  try {
    const details = await fc.check(property, {
      numRuns: count,
      seed,
      // To shorten a life takes minutes.
      ...(path === undefined ? { endOnFailure: true } : { path }),
    });
    if (!details.failed) return tally;
    throw new Error(
      `${(details.errorInstance as Error | null)?.message}\n${fc.defaultReportMessage(details)}\n\nreplay: npm run soak -- --wildness ${wildness} --seed ${details.seed} --path ${details.counterexamplePath}`,
    );
  } finally {
    await bench.close();
  }
}
