/** One pass over one dataset, from its checkpoint to its end. */

import { type Call, silence } from './api/response.ts';
import type { Api } from './api.ts';
import { Failure, Snooze, toError, type WaitReason } from './base/errors.ts';
import type { Job } from './job.ts';
import { openWindow } from './mirror/window.ts';
import type { Counts, QuarantinedRow, Retried, Store, WalkRow, WalkSession } from './store.ts';
import { checkAgain, checkSnapshot, errorInBody, type Hints, MissingPlace } from './validate.ts';
import { requestOf } from './walk/checkpoint.ts';
import { findDetour } from './walk/obstacles.ts';
import type { WalkKind } from './walk.ts';

/** What mirroring needs, and what it reports as it proceeds. */
type MirrorParts = {
  api: Api;
  store: Store;
  /** What the user says of the list, where it has no contract. */
  hints?: Hints | undefined;
  /** Called after every transaction. */
  progress?: (at: Progress) => void;
  /** What the governor knows to be left of the quota. */
  callsLeft?: () => number | null;
};

/** `saved`: by this transaction. `callsLeft` of the quota, where that is known: it is counted when it is asked for. */
export type Progress = { job: string; walk: Readonly<WalkRow>; saved: Counts; callsLeft(): number | null };

/**
 * Mirrors one dataset from the checkpoint of its unfinished walk, or from the beginning, to its end. A glance reads the head
 * alone, unless all of that is new: then it goes on as a walk.
 * @returns the finished walk; with an `error` where nothing is proven.
 * @throws Failure by kind, Snooze where it has to wait, the signal's reason when aborted at a page boundary. Saved pages stay,
 * and the next call resumes behind them.
 */
export async function mirror(
  job: Job,
  parts: MirrorParts,
  signal: AbortSignal,
  kind: WalkKind = 'walk',
): Promise<WalkRow> {
  const { store } = parts;
  const unansweredBefore = store.silence()?.id;
  const session = store.openWalk(job, job.reading === 'response' ? 'walk' : kind, parts.hints);
  try {
    if (job.reading === 'response') await takeSnapshot(job, session, parts, signal);
    else await walkThrough(job, session, parts, signal);
    return session.row;
  } catch (thrown) {
    const reason = whyItStops(toError(thrown), store, unansweredBefore);
    throw session.pause(reason, signal.aborted);
  } finally {
    session.release();
  }
}

/** Asks for pages, and saves what has arrived, until the walk has ended. Where a page does not come, the walk says what to do. */
async function walkThrough(
  job: Job,
  session: WalkSession,
  { api, store, progress, callsLeft = () => null }: MirrorParts,
  signal: AbortSignal,
): Promise<void> {
  const record = (call: Call) => {
    try {
      store.recordCall(call);
    } catch {
      // An error of the database comes again when the next page is saved.
    }
  };
  const window = openWindow(job, session, api, record, signal);
  try {
    for (let isEnded = false; !isEnded; ) {
      const { arrived, failure } = await window.next();
      // What failed behind pages that were not the next ones is not the next page either.
      let isNext = true;
      if (arrived.length > 0) {
        const { counts, pages, ...saved } = session.save(arrived);
        isEnded = saved.isEnded;
        isNext = pages === arrived.length;
        progress?.({ job: job.name, walk: session.row, saved: counts, callsLeft });
        signal.throwIfAborted();
      }
      if (failure && isNext && !isEnded) isEnded = takeDetour(job, session, failure, signal);
    }
  } finally {
    await window.close();
  }
}

/**
 * Goes on where a page did not come.
 * @returns whether the walk has ended.
 * @throws the failure where the walk has to wait at its place.
 */
function takeDetour(job: Job, session: WalkSession, failure: Error, signal: AbortSignal): boolean {
  if (signal.aborted) throw failure;
  if (failure instanceof MissingPlace) session.missPlace();
  // The governor may make the walk wait before the request is repeated.
  if (!(failure instanceof Failure || failure instanceof Snooze)) throw failure;
  const { offset } = requestOf(session.checkpoint);
  const { checkpoint, next } = findDetour(session.checkpoint, session.trouble());
  if (checkpoint !== session.checkpoint) session.detour(checkpoint);
  if (next === 'ask') return false;
  if (next === 'wait') throw failure;
  const said = failure.message.replace(`${job.name}: `, '');
  const gap = `the rows from offset ${offset} on were not read: ${said}`;
  if (session.row.kind === 'glance') {
    // Its rows are not known to the mirror: the next glance reads on behind them.
    session.giveUp('incomplete', gap);
    throw failure;
  }
  session.endWithGap(gap);
  return true;
}

/** Makes one call, whose response is kept as one row, whatever it looks like. */
async function takeSnapshot(
  job: Job,
  session: WalkSession,
  { api, progress, callsLeft = () => null }: MirrorParts,
  signal: AbortSignal,
): Promise<void> {
  const findError = (json: unknown) => errorInBody(json, job);
  const request = { job: job.name, walkId: session.row.id, path: job.path, query: {}, findError };
  const { body, json, call } = await api.get(request, signal);
  const checked = checkSnapshot(body.text(), json, `${call.at} ${session.row.id}`, call.at);
  const page = { ...checked, received: 1, pagination: noPaging, generatedAt: undefined, shape: undefined };
  const { counts } = session.save([{ page, offset: 0, digest: undefined, call }]);
  progress?.({ job: job.name, walk: session.row, saved: counts, callsLeft });
}

const noPaging = {
  offset: undefined,
  limit: undefined,
  total: undefined,
  returned: undefined,
  hasMore: undefined,
};

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
function whyItStops(thrown: Error, store: Store, unansweredBefore: number | undefined): Error {
  if (!(thrown instanceof Snooze && inferredWaits.has(thrown.reason))) return thrown;
  try {
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
  return store.retryQuarantine(job, ({ body, lastSeenAt, walkId }: QuarantinedRow, shape) =>
    job.reading === 'response'
      ? checkSnapshot(body, JSON.parse(body), `${lastSeenAt} ${walkId}`, lastSeenAt)
      : checkAgain(job, body, shape),
  );
}
