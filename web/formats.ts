/** Numbers, durations and times as people read them: pure, the same in every browser. */

import { parseTime } from '../src/base/time.ts';
import { exactDuration } from '../src/output/numbers.ts';

export { bytes, count, decimalsOf, number, plural, shownNumber, valueText } from '../src/output/numbers.ts';

export type Zone = 'utc' | 'local';

const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A long text with its middle left out: both ends tell things apart that begin alike. @param most letters that are kept. */
export function cutMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  const tail = Math.floor((most - 1) / 3);
  return `${cutAt(text, most - 1 - tail)}…${text.slice(-tail).replace(/^[\uDC00-\uDFFF]/, '')}`;
}

/** Never between the two halves of a letter. */
export const cutAt = (text: string, length: number): string =>
  text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '');

/** `42s`, `3m 5s`, `2h`, `3d 4h`. */
export const duration = (seconds: number) => exactDuration(seconds * SECOND_MS);

/** A time against `now`: `3m ago`, `in 20s`, `now`. */
export function relative(time: number, now: number): string {
  const away = Math.round((time - now) / 1_000);
  if (away === 0) return 'now';
  return away > 0 ? `in ${duration(away)}` : `${duration(-away)} ago`;
}

/** Times as they are stored: with a zone, so that they name a moment. */
const moment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** Epoch milliseconds of a text that is a moment, else null: a time without a zone names none. */
export function timeOf(text: string): number | null {
  const time = moment.test(text) ? parseTime(text, Number.NaN) : null;
  return time === null || 'problem' in time ? null : time.ms;
}

export type Exactness = 'day' | 'minute' | 'second' | 'millisecond';
const lengths: Record<Exactness, number> = { day: 10, minute: 16, second: 19, millisecond: 23 };

const ISO_LENGTH = '2026-11-22T15:20:01.123Z'.length;

/** `2026-11-22 15:20:01`, in UTC or as clocks here show it. */
export function clockTime(at: number, zone: Zone, exactness: Exactness = 'second'): string {
  const shifted = new Date(at + offsetMinutes(at, zone) * 60_000).toISOString();
  // The year behind the last one of four digits is written `+010000`.
  return shifted
    .slice(0, shifted.length - ISO_LENGTH + lengths[exactness])
    .replace(/^\+0/, '')
    .replace('T', ' ');
}

/** What tells the zones apart: `UTC`, or the offset of this place, `+02:00`. */
export function zoneName(at: number, zone: Zone): string {
  if (zone === 'utc') return 'UTC';
  const offset = offsetMinutes(at, zone);
  const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60];
  return `${offset < 0 ? '−' : '+'}${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`;
}

/** The zone that a column of times names once, in its head; null where they have none in common. */
export function sharedZone(times: Iterable<unknown>, zone: Zone): string | null {
  const names = new Set<string>();
  for (const time of times) {
    const at = Date.parse(String(time));
    if (!Number.isNaN(at)) names.add(zoneName(at, zone));
  }
  const [name = null] = names;
  return names.size === 1 ? name : null;
}

/** A day, or a time with minutes or seconds, as clocks show it: `2026-11-22 15:20`. In epoch milliseconds; null for no time. */
export function fromClock(text: string, zone: Zone): number | null {
  const time = parseTime(text, Number.NaN);
  if ('problem' in time) return null;
  return time.hasZone || zone === 'utc'
    ? time.ms
    : Date.parse(new Date(time.ms).toISOString().replace('Z', ''));
}

/** A line of the service as a sentence of the page. */
export const sentence = (line: string): string => `${line.charAt(0).toUpperCase()}${line.slice(1)}.`;

/** Whole ones: before there were zones, each place had its own time, to the second. */
const offsetMinutes = (at: number, zone: Zone) =>
  zone === 'utc' ? 0 : -Math.round(new Date(at).getTimezoneOffset());
