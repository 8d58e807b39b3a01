/** Gates and clients of several machines on one account, against the model of the API, in time that passes as fast as they allow. */

import { virtualClock } from '../../lab/simulate/clock.ts';
import type { ModelOptions } from '../../model-api/index.ts';
import { type Clock, systemClock } from '../../src/clock.ts';
import type { State } from '../../src/governor/state.ts';
import { openCaller } from '../governor/caller.ts';
import { openModel } from '../model-api/support.ts';
import { redisServer } from '../queue/setup.ts';
import { openMachine } from './bench.ts';

type Time = { clock?: Clock; timeOf?: (ms: number) => number };

/** Real time, ten times as fast. Redis's is not the same by far. */
export function tenfold(): Time {
  const began = Date.now();
  const now = () => performance.now() * 10;
  return {
    clock: {
      now,
      monotonic: now,
      sleep: (ms, signal) => systemClock.sleep(ms / 10, signal),
      after: (ms, work) => systemClock.after(ms / 10, work),
    },
    timeOf: (ms) => began + (ms - began) * 10,
  };
}

export async function setupWorld(options: ModelOptions, time: Time = {}) {
  let underWay = 0;
  const clock = time.clock ?? virtualClock(undefined, () => underWay > 0);
  const timeOf = time.timeOf ?? clock.now;
  const [server, model] = await Promise.all([
    redisServer(),
    openModel({ rows: 3, now: clock.now, ...options }),
  ]);
  const begunAt = clock.now();
  /** Time stands still meanwhile. */
  const during = async <T>(work: Promise<T>): Promise<T> => {
    underWay += 1;
    return await work.finally(() => {
      underWay -= 1;
    });
  };

  /** @param known what its mirror knows of the account. */
  async function open(known?: State) {
    const { account, govern } = await during(
      openMachine(server, { clock: { ...clock, sleep: systemClock.sleep }, timeOf, known }),
    );
    const governor = govern({
      transact: (change) => during(Promise.resolve(account.transact(change))),
      clock,
    });
    return {
      governor,
      ...openCaller(model, governor, clock, (calls) => {
        underWay += calls;
      }),
    };
  }

  return {
    clock,
    model,
    server,
    open,
    elapsed: () => clock.now() - begunAt,
    refusals: () => model.calls.filter(({ status }) => status === 429).length,
  };
}
