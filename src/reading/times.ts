/** Which texts are times. */

const TIME =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d+))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

/**
 * An RFC 3339 time as `2026-11-22T01:02:03.004000Z`: what is finer than a microsecond is cut. Null for any other text, and for
 * what Postgres has no time for: a second of 60, the year 0.
 */
export function utcOf(text: string): string | null {
  const [found, year = '', month = '', day = '', time = '', part = '', sign, hours, minutes] =
    TIME.exec(text) ?? [];
  if (found === undefined || Number(day) > daysOf(Number(year), Number(month))) return null;
  const micros = part.length === 6 ? part : part.slice(0, 6).padEnd(6, '0');
  const there = `${year}-${month}-${day}T${time}`;
  if (sign === undefined) return year === NO_YEAR ? null : `${there}.${micros}Z`;
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
  const at = new Date(Date.parse(`${there}Z`) - offset).toISOString();
  return /^\d{4}/.test(at) && !at.startsWith(NO_YEAR) ? `${at.slice(0, 19)}.${micros}Z` : null;
}

const NO_YEAR = '0000';

function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
