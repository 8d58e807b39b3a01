/** How people write a time and a duration: one rule for the command line, `/mirror/v1` and the page. Runs in a browser, too. */

import ms from 'ms';

/** Milliseconds of a duration such as `10m` or `2h`; undefined for a text that is none. */
export function millisecondsOf(text: string): number | undefined {
  const length = /^[\d.]{1,20}\s*[a-z]{1,20}$/i.test(text) ? ms(text as ms.StringValue) : undefined;
  return length !== undefined && length >= 0 ? length : undefined;
}

/** A time, or why the text is none: one line, to stand behind the name of what was to be a time. */
export type TimeOrProblem =
  | {
      /** Epoch milliseconds. */
      readonly ms: number;
      /** Whether the text says which moment it means; else it shows a clock, which is taken to be in UTC. */
      readonly hasZone: boolean;
    }
  | { readonly problem: string };

const WRITTEN_TIME =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?: ?(?:(Z)|([+-])(\d\d):?(\d\d)))?)?$/i;

/**
 * `2026-03-01`, `2026-03-01T12:00`, `2026-03-01 12:00:15.5`, with `Z` or an offset such as `+02:00` behind it; or how long ago,
 * such as `2h` or `3 days ago`. In UTC where there is no zone; cut at the millisecond.
 * @param now epoch milliseconds.
 */
export function parseTime(text: string, now: number): TimeOrProblem {
  const written = text.trim();
  const ago = millisecondsOf(written.replace(/\s*ago$/i, ''));
  const at = ago === undefined ? clockTimeOf(written) : { ms: now - ago, hasZone: true };
  if (at === undefined) return { problem: unreadable(written) };
  // A time that is too long ago for JavaScript is none, either.
  return Number.isNaN(new Date(at.ms).getTime()) ? { problem: noSuchTime(written) } : at;
}

/** The same for a time that must have come. */
export function parsePastTime(text: string, now: number): TimeOrProblem {
  const at = parseTime(text, now);
  if ('problem' in at || at.ms <= now) return at;
  return { problem: `${new Date(at.ms).toISOString()} is yet to come` };
}

/** `ms` is NaN for a time that there is not: `Date.parse` takes 30 February for 2 March. */
function clockTimeOf(text: string): { ms: number; hasZone: boolean } | undefined {
  const parts = WRITTEN_TIME.exec(text);
  if (!parts) return undefined;
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = ''] = parts;
  const [utc, sign, offsetHours = '00', offsetMinutes = '00'] = parts.slice(8);
  const hasZone = utc !== undefined || sign !== undefined;
  const isTime =
    Number(day) >= 1 &&
    Number(day) <= daysOfMonth(Number(year), Number(month)) &&
    [hour, offsetHours].every((each) => Number(each) < 24) &&
    [minute, second, offsetMinutes].every((each) => Number(each) < 60);
  if (!isTime) return { ms: Number.NaN, hasZone };
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000 * (sign === '-' ? -1 : 1);
  const milliseconds = fraction.slice(0, 3).padEnd(3, '0');
  const clock = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${milliseconds}Z`);
  return { ms: clock - offset, hasZone };
}

/** 0 for what is no month. */
export function daysOfMonth(year: number, month: number): number {
  if (month < 1 || month > 12) return 0;
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/**
 * Says to someone who asked for an earlier time from when on there is something to show.
 * @param what such as `The copy of news`.
 * @param beginning ISO 8601 UTC; shown as the next whole second, which can be asked for.
 */
export function describeBeginning(what: string, beginning: string): string {
  const second = new Date(Math.ceil(Date.parse(beginning) / 1_000) * 1_000).toISOString();
  return `${what} begins at ${second.slice(0, 19).replace('T', ' ')} UTC. Choose that time or later.`;
}

const MAX_SHOWN_LETTERS = 60;

const noSuchTime = (text: string) =>
  `there is no time '${text.slice(0, MAX_SHOWN_LETTERS)}': a month ends with its last day, hours end at 23, minutes and seconds at 59`;

function unreadable(text: string): string {
  const hasLostPlus = /\d [01]\d:?\d\d$/.test(text);
  const hint = hasLostPlus ? '; a + in an address is written %2B' : '';
  return `cannot read '${text.slice(0, MAX_SHOWN_LETTERS)}' as a time; write 2026-03-01, 2026-03-01T12:00 (UTC), 2026-03-01T12:00+02:00, or how long ago, such as 2h${hint}`;
}
