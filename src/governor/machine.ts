/**
 * The governor: may this call be made now, and if not, when and why. A pure function of what is known, what
 * happens and the time; chance comes in with the events. docs/governor.md draws it.
 */

import { answer, lost } from './answers.ts';
import type { Decision, Event } from './events.ts';
import * as leases from './leases.ts';
import { ask, release } from './permits.ts';
import * as quotas from './quota.ts';
import { HOUR_MS, onTime, probeNow, type State, withoutMoments } from './state.ts';

/** `now` in epoch milliseconds; a clock that goes back is told by the state. */
export function govern(before: State, event: Event, now: number): [State, Decision] {
  const state = leases.silentOwners(before.leases, now).reduce(writeOff, onTime(before, now));
  switch (event.type) {
    case 'start':
      return [begin(writeOff(state, event.owner), event.again, now), noted];
    case 'clock':
      return [withoutMoments(state, now), noted];
    case 'gone':
      return [writeOff(state, event.owner), noted];
    case 'key':
      return [tryRefusedAgain(state), noted];
    case 'ask':
      return ask(state, event, now);
    case 'answer':
      return [answer(state, event, now), noted];
    case 'lost':
      return [lost(state, event, now), noted];
    case 'release':
      return [release(state, event, now), noted];
  }
}

const noted: Decision = { noted: true };

/**
 * Whoever starts a command may know that more calls were bought, or others have stopped; but a command may be
 * started every minute.
 */
function begin(before: State, again: boolean, now: number): State {
  const state = again ? tryRefusedAgain(before) : before;
  if (now - state.quota.probedAt < HOUR_MS) return state;
  const looking = probeNow(state, now);
  return { ...looking, quota: { ...looking.quota, probedAt: now } };
}

/** A person who asks for it, or changes the key, gets one try. */
function tryRefusedAgain(state: State): State {
  const allowed = Object.entries(state.jobs).map(([name, job]) => [name, { ...job, forbidden: null }]);
  return { ...state, keyRefused: null, refusedKey: null, jobs: Object.fromEntries(allowed) };
}

/** Calls whose end nobody will tell count as made. */
function writeOff(state: State, owner: string): State {
  const calls = state.leases[owner]?.calls ?? 0;
  if (calls === 0) return state;
  return {
    ...state,
    leases: leases.without(state.leases, owner),
    quota: quotas.writeOff(state.quota, calls),
  };
}
