/**
 * Stands in for `src/base/worker.ts` in tests: a process that has answered a query answers the next one, too, whichever command asks.
 * To start one takes longer than most tests.
 */

import {
  type ProcessLimits,
  startProcess as start,
  type TaskName,
  type Worker,
} from '../../src/base/worker.ts';

export * from '../../src/base/worker.ts';

/** Those that nobody needs now, with the folder that each was started in. */
const idle: { cwd: string; worker: Worker<never, unknown, unknown> }[] = [];

export function startProcess<Args, Result, Piece = never>(
  task: TaskName,
  name: string,
  limits?: ProcessLimits,
): Worker<Args, Result, Piece> {
  if (task !== 'query' || limits) return start(task, name, limits);
  const cwd = process.cwd();
  const at = idle.findIndex((one) => one.cwd === cwd && one.worker.isFree());
  const [found] = at < 0 ? [] : idle.splice(at, 1);
  const worker = (found?.worker as Worker<Args, Result, Piece> | undefined) ?? start(task, name);
  let hasEnded = false;
  return {
    ...worker,
    isFree: () => !hasEnded && worker.isFree(),
    end(why) {
      if (hasEnded) return;
      hasEnded = true;
      // One that is asked for more than it has answered would go on for ever.
      if (worker.isFree()) idle.push({ cwd, worker: worker as unknown as Worker<never, unknown, unknown> });
      else worker.end(why);
    },
  };
}
