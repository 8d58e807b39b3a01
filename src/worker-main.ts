/** The entry of our threads and processes, each with one of these tasks; `worker.ts` calls it. */

import { constants, setPriority } from 'node:os';
import { answerCalls, type Task, type TaskName } from './base/worker.ts';

const tasks: Record<TaskName, () => Promise<Task<never, unknown, never>>> = {
  lake: async () => (await import('./sinks/lake.ts')).followInLake,
  query: async () => (await import('./reading/query/process.ts')).answerQuestion,
  quick: async () => (await import('./serve/process.ts')).answerServed,
  served: async () => {
    // Questions of users take what others leave of the processor: pages, and the service itself, go first.
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
    return (await import('./serve/process.ts')).answerServed;
  },
  ship: async () => (await import('./sinks/postgres.ts')).followInPostgres,
};

answerCalls(tasks);
