/** What permit and response cost a call in time of the processor, apart from all waiting: `npm run bench -- governor-cost`. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../src/base/clock.ts';
import { initialState, type State } from '../../src/governor/state.ts';
import {
  createGovernor,
  type Governor,
  type GovernorParts,
  type RequestOutcome,
} from '../../src/governor.ts';
import { loadJobs } from '../../src/job/load.ts';
import { openStore } from '../../src/store.ts';
import { median } from '../figures.ts';
import { virtualClock } from '../simulate/clock.ts';

const CALLS = 5_000;
const fine: RequestOutcome = {
  status: 200,
  limit: 1_000_000,
  remaining: 1_000_000,
  retryAfterMs: null,
};
const never = new AbortController().signal;

const folder = mkdtempSync(join(tmpdir(), 'mirror-bench-governor-'));
const store = openStore(folder, await loadJobs(), Date.now);
const kept = store.governor.transact;
const inMemory = (): GovernorParts['transact'] => {
  let state: State | undefined;
  return (change) => {
    const changed = change(state);
    state = changed.state ?? state;
    return changed.result;
  };
};
const lines = [
  `no limit felt: ${await cost(kept, false)} µs a call`,
  `a rate to be kept: ${await cost(kept, true)} µs a call`,
  `the same without the database, which commits twice a call: ${await cost(inMemory(), true)} µs a call`,
];
store.close();
rmSync(folder, { recursive: true });
process.stdout.write(
  `governor, processor time of a call, apart from waiting:\n${lines.map((line) => `  ${line}\n`).join('')}`,
);

/** Median of five, in microseconds of the processor. What is to be learnt is learnt before; then time passes so that nothing waits. */
async function cost(transact: GovernorParts['transact'], isPaced: boolean): Promise<string> {
  transact(() => ({ state: initialState(0), result: null }));
  const learning = virtualClock();
  const first = open(transact, learning);
  for (let made = 0; made < 200; made += 1)
    await call(first, isPaced && made === 20 ? { ...fine, status: 429 } : fine);
  first.close();

  let now = learning.now() + 10_000;
  const governor = open(transact, {
    now: () => now,
    monotonic: () => now,
    sleep: () => new Promise<void>(() => undefined),
    after: () => () => undefined,
  });
  const runs: number[] = [];
  for (let run = 0; run < 5; run += 1) {
    const begun = process.cpuUsage();
    for (let made = 0; made < CALLS; made += 1) {
      now += isPaced ? 1_000 : 5;
      await call(governor, fine);
    }
    const { user, system } = process.cpuUsage(begun);
    runs.push((user + system) / CALLS);
  }
  governor.close();
  return median(runs).toFixed(0);
}

function open(transact: GovernorParts['transact'], clock: Clock): Governor {
  return createGovernor({ transact, clock, random: () => 0.5, owner: 'bench', longestWaitMs: 10_000 });
}

async function call(governor: Governor, answer: RequestOutcome): Promise<void> {
  const complete = await governor.acquire('ai-signals', never);
  complete(answer);
}
