/**
 * Three ways to count calls against a limit, as pure state machines. Times are whole epoch milliseconds; a time before one
 * that was seen already counts as that one.
 */

import type { Quota } from '../limits.ts';

export type Counter<Terms, State> = {
  begin(now: number, terms: Terms): State;
  /** As of `now`. What follows asks the state of its own time. */
  at(state: State, now: number, terms: Terms): State;
  remaining(state: State, terms: Terms): number;
  take(state: State, terms: Terms): State;
  /** Undoes a `take` of the time `taken`, where it still counts. */
  giveBack(state: State, taken: number, terms: Terms): State;
  /** When a call will be left. */
  readyAt(state: State, terms: Terms): number;
  /** When there will next be more calls left than now; null where none was taken. */
  moreAt(state: State, terms: Terms): number | null;
};

/** So many calls in every window; windows begin at whole periods since the epoch. */
export type FixedState = { readonly at: number; readonly used: number };

export const fixedWindow: Counter<Quota, FixedState> = {
  begin: (now) => ({ at: now, used: 0 }),
  at(state, now, { periodMs }) {
    if (now <= state.at) return state;
    return { at: now, used: windowOf(now, periodMs) === windowOf(state.at, periodMs) ? state.used : 0 };
  },
  remaining: ({ used }, { calls }) => Math.max(0, calls - used),
  take: ({ at, used }) => ({ at, used: used + 1 }),
  giveBack(state, taken, { periodMs }) {
    const counts = windowOf(taken, periodMs) === windowOf(state.at, periodMs);
    return counts ? { ...state, used: Math.max(0, state.used - 1) } : state;
  },
  readyAt: (state, terms) => (state.used < terms.calls ? state.at : nextWindow(state, terms)),
  moreAt: (state, terms) => (state.used === 0 ? null : nextWindow(state, terms)),
};

const windowOf = (time: number, periodMs: number) => Math.floor(time / periodMs);

const nextWindow = ({ at }: FixedState, { periodMs }: Quota) => (windowOf(at, periodMs) + 1) * periodMs;

/** Of a period: a long one would otherwise be a list of every call in it. */
const SLOTS = 500;

/**
 * So many calls in any stretch of one period. Calls of one slot, a five hundredth of the period, are counted together, and
 * until the last of them would be a period old: never more than the limit, and a call comes back at most a slot late.
 */
export type SlidingState = {
  readonly at: number;
  readonly used: number;
  /** Oldest first: the slot's number since the epoch, and its calls. */
  readonly slots: readonly (readonly [slot: number, calls: number])[];
};

export const slidingWindow: Counter<Quota, SlidingState> = {
  begin: (now) => ({ at: now, used: 0, slots: [] }),
  at(state, now, { periodMs }) {
    if (now <= state.at) return state;
    const first = state.slots.findIndex(([slot]) => endOf(slot, periodMs) > now);
    if (first === 0 || state.slots.length === 0) return { ...state, at: now };
    const slots = first === -1 ? [] : state.slots.slice(first);
    return { at: now, used: slots.reduce((sum, [, calls]) => sum + calls, 0), slots };
  },
  remaining: ({ used }, { calls }) => Math.max(0, calls - used),
  take({ at, used, slots }, { periodMs }) {
    const now = slotOf(at, periodMs);
    const [slot, calls] = slots.at(-1) ?? [];
    const others = slot === now ? slots.slice(0, -1) : slots;
    return { at, used: used + 1, slots: [...others, [now, (slot === now ? (calls ?? 0) : 0) + 1]] };
  },
  giveBack(state, taken, { periodMs }) {
    const slot = slotOf(taken, periodMs);
    const counted = state.slots.find(([known]) => known === slot);
    if (!counted) return state;
    const slots = state.slots
      .map(([known, calls]) => [known, known === slot ? calls - 1 : calls] as const)
      .filter(([, calls]) => calls > 0);
    return { ...state, used: state.used - 1, slots };
  },
  readyAt({ at, used, slots }, { calls: limit, periodMs }) {
    let left = used;
    for (const [slot, calls] of left < limit ? [] : slots) {
      left -= calls;
      if (left < limit) return endOf(slot, periodMs);
    }
    return at;
  },
  moreAt({ slots: [oldest] }, { periodMs }) {
    return oldest ? endOf(oldest[0], periodMs) : null;
  },
};

const slotMs = (periodMs: number) => Math.ceil(periodMs / SLOTS);

const slotOf = (time: number, periodMs: number) => Math.floor(time / slotMs(periodMs));

/** When the last call that the slot may hold is a period old. */
const endOf = (slot: number, periodMs: number) => (slot + 1) * slotMs(periodMs) - 1 + periodMs;

/**
 * Calls come back evenly, `calls` of them in a period, up to `most`. The level is counted in parts of a call, `periodMs` of
 * them to one, so that all numbers are whole and nothing is rounded.
 */
export type RefillState = { readonly at: number; readonly level: number };

export type RefillTerms = { readonly calls: number; readonly periodMs: number; readonly most: number };

export const refill: Counter<RefillTerms, RefillState> = {
  begin: (now, { most, periodMs }) => ({ at: now, level: most * periodMs }),
  at(state, now, { calls, periodMs, most }) {
    const elapsed = Math.max(0, now - state.at);
    return { at: state.at + elapsed, level: Math.min(most * periodMs, state.level + elapsed * calls) };
  },
  remaining: ({ level }, { periodMs }) => Math.floor(level / periodMs),
  take: ({ at, level }, { periodMs }) => ({ at, level: level - periodMs }),
  giveBack: ({ at, level }, _, { periodMs, most }) => ({
    at,
    level: Math.min(most * periodMs, level + periodMs),
  }),
  readyAt: ({ at, level }, { calls, periodMs }) => at + Math.max(0, Math.ceil((periodMs - level) / calls)),
  moreAt({ at, level }, { calls, periodMs, most }) {
    if (level >= most * periodMs) return null;
    return at + Math.ceil((periodMs - (level % periodMs)) / calls);
  },
};
