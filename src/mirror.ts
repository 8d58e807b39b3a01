/** One pass over one dataset: the whole story on one screen. */

import { Failure, Snooze, toError } from './errors.ts';
import type { Job } from './job.ts';
import { giveUp } from './mirror/give-up.ts';
import type { MirrorParts } from './mirror/parts.ts';
import { placeOf, recordOf } from './mirror/place-record.ts';
import { previousOf, renewalOf } from './mirror/previous.ts';
import { pageReader } from './mirror/read-page.ts';
import { takeSnapshot } from './mirror/take-snapshot.ts';
import type { WalkRow, WalkSession } from './store/index.ts';
import { describeBreach } from './validate.ts';
import { type WalkEnd, walk } from './walk.ts';

export type { MirrorParts, Progress } from './mirror/parts.ts';
export { retryRefused } from './mirror/retry.ts';

/**
 * Mirrors one dataset from where its last unfinished walk stands, or from the beginning, to its end.
 * @returns the finished walk; one with an `error` saw the dataset change too much to prove anything.
 * @throws Failure by kind, Snooze where it has to wait, the signal's reason when aborted at a page boundary.
 * Whatever was saved stays, and the next call goes on from there.
 */
export async function mirror(job: Job, parts: MirrorParts, signal: AbortSignal): Promise<WalkRow> {
  const session = parts.store.openWalk(job);
  try {
    return job.reading === 'snapshot'
      ? await takeSnapshot(job, session, parts, signal)
      : await walkThrough(job, session, parts, signal);
  } catch (thrown) {
    leaveAtPlace(session, thrown, signal);
    throw thrown;
  } finally {
    session.release();
  }
}

async function walkThrough(
  job: Job,
  session: WalkSession,
  parts: MirrorParts,
  signal: AbortSignal,
): Promise<WalkRow> {
  const read = pageReader(job, session, parts, signal);
  const previous = previousOf(session.before);
  for await (const { page, place, met, end } of walk(read, placeOf(session), previous)) {
    const saved = session.savePage({ page, place: recordOf(place), met });
    parts.progress?.({ job: job.name, walk: session.row, saved, callsLeft: page.call.rateRemaining });
    const breach = describeBreach(page);
    if (breach) throw giveUp(session, 'contract', `${job.name}: ${breach}`);
    if (end) return await conclude(job, session, end);
    signal.throwIfAborted();
  }
  throw new Failure('bug', `${job.name}: the walk ended without an end`);
}

async function conclude(job: Job, session: WalkSession, end: WalkEnd): Promise<WalkRow> {
  if (end.renewed) return await session.finish(renewalOf(session));
  const { verdict, unproven, stuck } = end;
  if (!stuck)
    return await session.finish(
      unproven ? { verdict, error: `the dataset changed: ${unproven}` } : { verdict },
    );
  const message = `${job.name}: the API's pages lead nowhere (${stuck}); what came is kept, the next run begins anew`;
  throw giveUp(session, 'incomplete', message);
}

/** A walk that cannot go on keeps its place; where even that cannot be noted, its last page's commit stands. */
function leaveAtPlace(session: WalkSession, thrown: unknown, signal: AbortSignal): void {
  const waits = thrown instanceof Snooze || signal.aborted;
  try {
    session.pause(waits ? 'snoozed' : 'failed', toError(thrown).message);
  } catch {
    // The first error tells more than this one, which mostly has the same cause.
  }
}
