/** Times and durations as people give them. */

import { isoTime } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import { millisecondsOf } from '../../schedule.ts';

const iso = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)\s?(Z|[+-]\d{2}:?\d{2})?)?$/i;

/**
 * Milliseconds from a duration such as `10m` or `2h`.
 * @param what names the option, for the error.
 */
export function parseDuration(text: string, what: string): number {
  const duration = millisecondsOf(text);
  if (duration === undefined)
    throw new Failure('usage', `${what}: '${text}' is no duration such as 90s, 10m, 2h or 3d`);
  return duration;
}

/**
 * A moment that is past, as ISO 8601 UTC with milliseconds: `2026-03-01`, `2026-03-01T12:00`, with an offset or in UTC,
 * or how long ago, such as `2h`.
 * @param what names the option, for the error.
 */
export function parseTime(text: string, what: string, now: number): string {
  const [, day, time = '00:00', zone = 'Z'] = iso.exec(text.trim()) ?? [];
  const at = day
    ? Date.parse(`${day}T${time}${zone}`)
    : now -
      parseDuration(text.replace(/\s*ago$/, ''), `${what} takes a time such as 2026-03-01T12:00Z or 2h ago`);
  if (Number.isNaN(at) || (day && !isDay(day)))
    throw new Failure('usage', `${what}: there is no time '${text}'`);
  if (at > now) throw new Failure('usage', `${what}: ${isoTime(at)} is yet to come`);
  return isoTime(at);
}

/** `Date.parse` takes 30 February for 2 March. */
function isDay(text: string): boolean {
  const at = Date.parse(text);
  return !Number.isNaN(at) && isoTime(at).startsWith(text);
}
