/** One pass over one dataset, from its checkpoint to its end. */

import { silence } from './api/response.ts';
import type { Api } from './api.ts';
import { type Clock, HOUR_MS } from './clock.ts';
import { Failure, type FailureKind, Snooze, toError, type WaitReason } from './errors.ts';
import type { Job } from './job.ts';
import { createPageReader } from './mirror/pages.ts';
import type { Counts, Ending, QuarantinedRow, Retried, Store, WalkRow, WalkSession } from './store.ts';
import { checkAgain, checkSnapshot, describeBreach } from './validate.ts';
import { beginning, type Checkpoint, PAGE_ROWS } from './walk/checkpoint.ts';
import { type Previous, type WalkEnd, type WalkKind, walk } from './walk.ts';

/** What mirroring needs, and what it reports as it proceeds. */
type MirrorParts = {
  api: Api;
  store: Store;
  clock: Pick<Clock, 'after'>;
  /** Called after every commit, of one page or several. */
  progress?: (at: Progress) => void;
};

/** `saved`: by this commit. `callsLeft` as the API last said, where it said so. */
export type Progress = { job: string; walk: Readonly<WalkRow>; saved: Counts; callsLeft: number | null };

/** A full walk runs once a day; an hour less, so that a late run still falls within the day. */
export const FULL_WALK_EVERY_MS = 23 * HOUR_MS;

/** The longest time that a page waits for others to share its commit. */
const COMMIT_DELAY_MS = 250;

/**
 * Mirrors one dataset from the checkpoint of its unfinished walk, or from the beginning, to its end. A glance reads the head
 * alone, unless all of that is new: then it goes on as a walk.
 * @returns the finished walk; with an `error` where the dataset changed too much to prove anything.
 * @throws Failure by kind, Snooze where it has to wait, the signal's reason when aborted at a page boundary. Saved pages stay,
 * and the next call resumes behind them.
 */
export async function mirror(
  job: Job,
  parts: MirrorParts,
  signal: AbortSignal,
  kind: WalkKind = 'walk',
): Promise<WalkRow> {
  const unansweredBefore = parts.store.silence()?.id;
  const commitTimer = createCommitTimer(parts.clock, () => session.commit());
  const session = parts.store.openWalk(job, job.reading === 'snapshot' ? 'walk' : kind, (saved, last) => {
    commitTimer.stop();
    parts.progress?.({ job: job.name, walk: session.row, saved, callsLeft: last.rateRemaining });
  });
  try {
    // The walk broke off while it removed rows: nothing is left to read.
    if (session.retiring) return await session.finish(session.retiring, signal);
    return job.reading === 'snapshot'
      ? await takeSnapshot(job, session, parts, signal)
      : await walkThrough(job, session, parts, signal, commitTimer);
  } catch (thrown) {
    const reason = whyItStops(toError(thrown), session, parts.store, unansweredBefore);
    const left = session.pause(reason, signal.aborted);
    // A stopped walk does not wait for this: it is resumed, and its end shows the staged values.
    if (!signal.aborted) await session.showStaged().catch(() => undefined);
    throw left;
  } finally {
    commitTimer.stop();
    session.release();
  }
}

type CommitTimer = ReturnType<typeof createCommitTimer>;

/** Commits the waiting pages when the next response is slow. */
function createCommitTimer({ after }: MirrorParts['clock'], commit: () => void) {
  let cancel: (() => void) | undefined;
  const stop = () => {
    cancel?.();
    cancel = undefined;
  };
  const start = () => {
    cancel ??= after(COMMIT_DELAY_MS, () => {
      cancel = undefined;
      try {
        commit();
      } catch {
        // The session keeps the error, and throws it to its next caller.
      }
    });
  };
  return { start, stop };
}

async function walkThrough(
  job: Job,
  session: WalkSession,
  parts: MirrorParts,
  signal: AbortSignal,
  commitTimer: CommitTimer,
): Promise<WalkRow> {
  const reader = createPageReader(job, session, parts, signal);
  try {
    for await (const walked of walk(reader.read, session.checkpoint, previousOf(session), session.row.kind)) {
      const { page, checkpoint, end } = walked;
      commitTimer.start();
      session.savePage(walked);
      // Looks at the head do not count: before those, the list was read whole.
      const breach = checkpoint.pagesOfPass === 1 && describeBreach(page);
      if (breach) throw giveUp(session, 'contract', `${job.name}: ${breach}`);
      if (end) return await session.finish(endingOf(job, session, checkpoint, end), signal);
      signal.throwIfAborted();
    }
  } finally {
    await reader.close();
  }
  throw new Failure('bug', `${job.name}: the walk ended without an end`);
}

/** Makes one call, whose response is kept as one row, whatever it looks like. */
async function takeSnapshot(
  job: Job,
  session: WalkSession,
  { api }: MirrorParts,
  signal: AbortSignal,
): Promise<WalkRow> {
  const request = { job: job.name, walkId: session.row.id, path: job.path, query: {} };
  const { body, json, call } = await api.get(request, signal);
  const page = { ...checkSnapshot(body.text(), json, `${call.at} ${session.row.id}`, call.at), call };
  session.savePage({ page, checkpoint: { ...beginning, pages: 1, rows: 1 }, metRows: 'add' });
  const breach = describeBreach({ ...page, received: 1 });
  if (breach) throw giveUp(session, 'contract', `${job.name}: ${breach}`);
  return await session.finish({ verdict: 'snapshot' }, signal);
}

/** What the walk may use of the one before it. While rows are held, only a full walk can prove that they are gone. */
function previousOf({ before }: WalkSession): Previous | undefined {
  if (!before) return undefined;
  const { row, checkpoint, ageMs, holdsRows } = before;
  const isComplete = row.status === 'complete';
  const isProven = isComplete && row.verdict === 'snapshot';
  const isRecent = ageMs !== null && ageMs < FULL_WALK_EVERY_MS;
  // A full walk of a single page costs no more.
  const allowsRenewal = isProven && isRecent && !holdsRows && row.pages > 1;
  return { checkpoint, allowsRenewal, isComplete };
}

/** @throws Failure `incomplete` for a walk that no response ended. */
function endingOf(
  job: Job,
  session: WalkSession,
  { total }: Checkpoint,
  { isRenewal, verdict, unproven, stuck }: WalkEnd,
): Ending {
  if (isRenewal) return { verdict: 'snapshot', callsSaved: Math.ceil((total ?? 0) / PAGE_ROWS) - 1 };
  if (!stuck) return { verdict, error: unproven && `the dataset changed: ${unproven}` };
  const message = `${job.name}: the API's pages lead nowhere (${stuck}); what came is kept, the next run begins anew`;
  throw giveUp(session, 'incomplete', message);
}

/** Ends a walk whose checkpoint is worth nothing; its rows stay. Returns the failure to throw. */
function giveUp(session: WalkSession, kind: FailureKind, message: string): Failure {
  session.giveUp(kind, message);
  return new Failure(kind, message);
}

/** Waits whose end the governor infers from earlier responses: they mean nothing while the API is gone. */
const inferredWaits: ReadonlySet<WaitReason> = new Set([
  'quota',
  'reserve',
  'rate',
  'concurrency',
  'unavailable',
]);

/**
 * The error that a walk stops with. Where the latest call got no response, the walk waits for the API, whatever limit the
 * governor infers from the lost calls.
 */
function whyItStops(
  thrown: Error,
  session: WalkSession,
  store: Store,
  unansweredBefore: number | undefined,
): Error {
  if (!(thrown instanceof Snooze && inferredWaits.has(thrown.reason))) return thrown;
  try {
    // Earlier responses are recorded with their pages.
    session.commit();
    const unanswered = store.silence();
    if (unanswered === null) return thrown;
    const isTried = unanswered.id !== unansweredBefore;
    const reason = thrown.reason === 'unavailable' && !isTried ? 'unavailable' : 'unreachable';
    return new Snooze(thrown.until, reason, silence(unanswered.code)[1]);
  } catch {
    // `pause` meets the same error, and throws it.
    return thrown;
  }
}

/**
 * Checks refused rows against the contract as it is now; makes no call.
 * @throws Failure `incomplete` where a process is mirroring the job.
 */
export function retryRefused(job: Job, store: Store): Retried {
  const shape = store.shape(job.name);
  return store.retryQuarantine(job, ({ body, lastSeenAt, walkId }: QuarantinedRow) =>
    job.reading === 'snapshot'
      ? checkSnapshot(body, JSON.parse(body), `${lastSeenAt} ${walkId}`, lastSeenAt)
      : checkAgain(job, body, shape),
  );
}
