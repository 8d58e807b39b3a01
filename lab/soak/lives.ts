/** Tries random lives until their time or their number is over; one that breaks a promise is replayed and shortened by its path. */

import fc from 'fast-check';
import {
  checkConvergence,
  checkLife,
  checkTended,
  checkTendedConvergence,
} from '../../test/helpers/invariants.ts';
import { openBench } from '../../test/helpers/mirror-bench.ts';
import { live, type Scenario, scenarios, type Wildness } from '../../test/helpers/scenario.ts';
import { type WholeLife, wholeLives } from './events.ts';
import { openUpstream } from './upstream.ts';
import { liveWhole, type Tally } from './whole-life.ts';

/** `whole`: all that users and an API can cause. The others: a list while it is walked, page by page. */
export const wildnesses = ['whole', 'orderly', 'feed', 'any', 'tended'] as const;
export type LifeWildness = (typeof wildnesses)[number];

type LivesOptions = {
  /** How many, and until when by `performance.now()`. */
  lives: number;
  until: number;
  seed: number;
  path?: string;
};

const LONGEST_WHOLE = 30;
const LONGEST_WALKED = 60;

/**
 * @param options.path of a life to try first; where it breaks a promise, it is shortened.
 * @returns what happened in them, in numbers.
 * @throws Error of a life that breaks a promise, with what replays it.
 */
export async function tryLives(wildness: LifeWildness, options: LivesOptions): Promise<Tally> {
  const tally: Tally = { lives: 0 };
  if (wildness === 'whole') {
    let now = () => 0;
    const upstream = await openUpstream(() => now());
    try {
      const setClock = (clock: () => number) => {
        now = clock;
      };
      const tryOne = (life: WholeLife) => liveWhole(upstream, life, tally, setClock);
      await tryAll(wildness, wholeLives(LONGEST_WHOLE), tryOne, options);
    } finally {
      await upstream.close();
    }
    return tally;
  }
  const bench = await openBench({ rows: 0 });
  try {
    const tryOne = async (scenario: Scenario) => {
      bench.clear();
      const life = await live(bench, scenario);
      if (wildness === 'tended') {
        checkTended(bench, life, scenario);
        await checkTendedConvergence(bench, scenario);
      } else {
        checkLife(life, scenario, wildness as Wildness);
        await checkConvergence(bench, scenario.job);
      }
      tally['lives'] = (tally['lives'] ?? 0) + 1;
    };
    await tryAll(wildness, scenarios(wildness, LONGEST_WALKED), tryOne, options);
  } finally {
    await bench.close();
  }
  return tally;
}

async function tryAll<Life>(
  wildness: LifeWildness,
  drawn: fc.Arbitrary<Life>,
  tryOne: (life: Life) => Promise<void>,
  { lives, until, seed, path }: LivesOptions,
): Promise<void> {
  let underWay = Promise.resolve();
  const property = fc.asyncProperty(drawn, (life) => {
    underWay = tryOne(life);
    return underWay;
  });
  const details = await fc.check(property, {
    ...{ numRuns: lives, seed, interruptAfterTimeLimit: Math.max(1, until - performance.now()) },
    // To shorten a life takes minutes.
    ...(path === undefined ? { endOnFailure: true } : { path }),
  });
  // One whose time is over ends before its world does.
  await underWay.catch(() => undefined);
  if (!details.failed || details.counterexamplePath === null) return;
  throw new Error(
    `${(details.errorInstance as Error | null)?.message}\n${fc.defaultReportMessage(details)}\n\nreplay: npm run soak -- --lives-of ${wildness} --seed ${details.seed} --path ${details.counterexamplePath}`,
  );
}
