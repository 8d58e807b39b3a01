/** What is otherwise where the state lies elsewhere: it comes by a promise, by another clock, and maybe late. */

import type { Decision, Event } from './events.ts';

/** What the machine has yet to be told. */
export type News = { event: Event; heardAt: number };

/** Longer than an answer is kept back where the state is within reach. */
const NEWS_MS = 10_000;

/** What an answer said of the limits is worth nothing after a while; that the call was made is. */
export function inTime({ event, heardAt }: News, now: number): Event {
  const isNews = now - heardAt <= NEWS_MS;
  if (isNews || event.type !== 'answer' || event.status >= 300) return event;
  const { owner, job, roll } = event;
  return { type: 'lost', owner, job, roll, stopped: true };
}

/** Goes on at once with what is there: a turn of the loop for each call would be dear. */
export function whenThere<T, Next>(value: T | Promise<T>, next: (value: T) => Next): Next | Promise<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** The same decision with its time so many milliseconds earlier. */
export function sooner(decision: Decision, ms: number): Decision {
  if (ms === 0 || 'go' in decision || 'noted' in decision) return decision;
  if ('wait' in decision) return { wait: { ...decision.wait, until: decision.wait.until - ms } };
  return { ...decision, until: decision.until - ms };
}
