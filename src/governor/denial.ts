/** What a call is told that gets no permit in time. */

import { isoTime } from '../clock.ts';
import { Failure, Snooze } from '../errors.ts';
import type { Decision } from './events.ts';

/** A state that is out of reach is tried again so soon. */
const OUT_OF_REACH_MS = 2_000;

export function denial(job: string, decision: Exclude<Decision, { go: number }>): Error {
  if ('wait' in decision) return new Snooze(decision.wait.until, decision.wait.reason);
  if ('noted' in decision) return new Error(`${job} asked, and was not answered`);
  const what =
    decision.refused === 'forbidden'
      ? `${job}: the key lacks the scope for this endpoint, or may not be used from this address`
      : 'the API refused the key';
  const when = `it is tried again at ${isoTime(decision.until)}`;
  return new Failure('key', `${what}; ${when}; to try now, set another key or run market-mirror doctor`);
}

/** The state that is shared with other machines is out of reach: nobody can tell whether the call may be made. */
export function outOfReach(now: number): Snooze {
  return new Snooze(now + OUT_OF_REACH_MS, 'account');
}
