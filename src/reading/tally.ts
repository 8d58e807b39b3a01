/** What was called, and which walks and glances ended, from one look to the next: each is told once, whatever is pruned. */

import type { Connection } from '../store/read.ts';

export type Tally = {
  calls: CallsTold[];
  runs: RunsTold[];
};

/** `status` is null where no answer came. */
export type CallsTold = { job: string; status: number | null; count: number };

/** Walks that ended with this verdict, or without one, given up; and glances, which have none. */
export type RunsTold = {
  job: string;
  kind: 'walk' | 'glance';
  status: 'complete' | 'failed';
  verdict: 'snapshot' | 'verified' | 'union' | null;
  count: number;
};

/** Whoever has not looked for long gets the rest at the next looks. */
const MOST_AT_ONCE = 20_000;

/** Begins now: the first look tells what came since. */
export function openTally(connection: Connection, jobs: readonly string[]): () => Tally {
  const calls = callsSince(connection);
  const runs = runsSince(connection, jobs);
  return () => ({ calls: calls(), runs: runs() });
}

function callsSince(connection: Connection): () => CallsTold[] {
  const greatest = connection.prepare<[], number | null>('SELECT max(id) FROM requests').pluck();
  const read = connection.prepare<[number, number], CallsTold>(
    'SELECT job, status, count(*) AS count FROM requests WHERE id > ? AND id <= ? GROUP BY job, status',
  );
  let told = greatest.get() ?? 0;
  return () => {
    const last = greatest.get() ?? 0;
    // Where all calls were pruned, their numbers begin again.
    const from = last < told ? 0 : told;
    told = Math.min(last, from + MOST_AT_ONCE);
    return read.all(from, told);
  };
}

type Run = Omit<RunsTold, 'count'> & { id: number; hasEnded: 0 | 1 };

function runsSince(connection: Connection, jobs: readonly string[]): () => RunsTold[] {
  const runs = 'SELECT id, job, kind, status, verdict, finished_at IS NOT NULL AS hasEnded FROM walks WHERE';
  const latest = connection.prepare<[string, string], Run>(
    `${runs} job = ? AND kind = ? ORDER BY id DESC LIMIT 1`,
  );
  const since = connection.prepare<[number, number], Run>(`${runs} id > ? ORDER BY id LIMIT ?`);
  const named = connection.prepare<[string], Run>(`${runs} id IN (SELECT value FROM json_each(?))`);
  const known = jobs.flatMap((job) =>
    ['walk', 'glance'].flatMap((kind) => latest.get(job, kind) ?? ([] as Run[])),
  );
  // Only the latest of a kind can still go on.
  let open = known.filter(({ hasEnded }) => !hasEnded).map(({ id }) => id);
  let told = connection.prepare<[], number | null>('SELECT max(id) FROM walks').pluck().get() ?? 0;
  return () => {
    const come = since.all(told, MOST_AT_ONCE);
    const looked = [...named.all(JSON.stringify(open)), ...come];
    told = come.at(-1)?.id ?? told;
    open = looked.filter(({ hasEnded }) => !hasEnded).map(({ id }) => id);
    return counted(looked.filter(({ hasEnded }) => hasEnded));
  };
}

function counted(runs: readonly Run[]): RunsTold[] {
  const counts = new Map<string, RunsTold>();
  for (const { job, kind, status, verdict } of runs) {
    const name = [job, kind, status, verdict].join();
    const before = counts.get(name)?.count ?? 0;
    counts.set(name, { job, kind, status, verdict, count: before + 1 });
  }
  return [...counts.values()];
}
