/** RFC 3339 times as numbers. */

const rfc3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?:Z|([+-])(\d\d):(\d\d))$/i;

/**
 * Microseconds since 1970 in UTC, or undefined for a text that is no RFC 3339 time, for one finer than a
 * microsecond and for a leap second, which no count of seconds can tell from its neighbour.
 */
export function microsOf(text: string): bigint | undefined {
  const [, clock, fraction = '', sign, hours = '0', minutes = '0'] = rfc3339.exec(text) ?? [];
  if (clock === undefined) return undefined;
  const second = `${clock.toUpperCase()}Z`;
  const local = Date.parse(second);
  // Date.parse carries 30 February and 24:00 over into what follows.
  if (Number.isNaN(local) || !new Date(local).toISOString().startsWith(second.slice(0, -1))) return undefined;
  const offset = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
  return BigInt(local - offset * 60_000) * 1_000n + BigInt(fraction.padEnd(6, '0'));
}
