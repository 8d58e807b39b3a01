/** Bringing datasets to a target, one after the other: what fails with one leaves the others to go on. */

import { Failure, type FailureSent } from '../errors.ts';
import type { ListedJob } from '../job-list.ts';
import { type Connection, type Identity, identityOf, openMirror, readMirror } from '../store/read.ts';

/** What became of one dataset. */
export type Outcome<Done> = { job: string } & (
  | { done: Done; failure: null }
  | { done: null; failure: FailureSent['failed'] }
);

export type DatasetsParts = {
  dir: string;
  /** All that there are. */
  jobs: readonly ListedJob[];
  /** Those of them that are meant; all unless given. */
  only?: readonly string[] | undefined;
  signal: AbortSignal;
};

/**
 * @param work what is done with one of them; the connection to the mirror is its own.
 * @throws Failure `incomplete` once `signal` is aborted, and what is no Failure.
 */
export async function eachDataset<Done>(
  { dir, jobs, only, signal }: DatasetsParts,
  work: (job: ListedJob, connection: Connection) => Promise<Done>,
): Promise<Outcome<Done>[]> {
  const outcomes: Outcome<Done>[] = [];
  for (const job of jobs.filter(({ name }) => !only || only.includes(name))) {
    if (signal.aborted) throw new Failure('incomplete', 'stopped');
    const connection = openMirror(dir);
    try {
      outcomes.push({ job: job.name, done: await work(job, connection), failure: null });
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown;
      const { kind, message } = thrown;
      outcomes.push({ job: job.name, done: null, failure: { kind, message } });
    } finally {
      connection.close();
    }
  }
  return outcomes;
}

/** Whose copy it is. @throws Failure `incomplete` where the mirror cannot say it yet, and as `readMirror` does. */
export function readIdentity(dir: string): Identity {
  return readMirror(dir, (connection) => {
    const identity = identityOf(connection);
    if (identity) return identity;
    throw new Failure(
      'incomplete',
      `${connection.name} has no name yet: the next sync or start gives it one`,
    );
  });
}
