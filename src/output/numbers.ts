/** Numbers, sizes and durations as people read them. Pure: a terminal and the page show them alike. */

/** `1,234.5`; an integer keeps all its digits, a fraction at most `digits` behind the point. */
export function number(value: number, digits = 20): string {
  // Not by `toLocaleString`, whose first call takes as long as reading the whole status.
  const text = (Number.isInteger(value) ? value : Number(value.toFixed(digits))).toString();
  if (!Number.isFinite(value) || text.includes('e')) return String(value);
  return text.replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ','));
}

/** `row`, or `rows` unless it is one. */
export const plural = (value: number, unit: string) => (value === 1 ? unit : `${unit}s`);

/** `3 rows`. */
export const count = (value: number, unit: string) => `${number(value)} ${plural(value, unit)}`;

const SIZE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** `812 B`, `1.2 kB`, `34 MB`. */
export function bytes(value: number): string {
  let power = 0;
  let scaled = value;
  // What would be rounded to a thousand is one of the next unit.
  for (; scaled >= 999.5 && power < SIZE_UNITS.length - 1; power += 1) scaled /= 1_000;
  return `${number(scaled, scaled < 10 && power > 0 ? 1 : 0)} ${SIZE_UNITS[power]}`;
}

const TIME_UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** `0s`, `3m`, `2h`: the largest unit that fits, rounded. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1_000));
  const [name, size] = TIME_UNITS.find(([, size]) => seconds >= size) ?? ['s', 1];
  return `${Math.round(seconds / size)}${name}`;
}

/** `42s`, `3m 5s`, `2h`, `3d 4h`: two units at most, and the second only while the first is small. */
export function exactDuration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1_000));
  const first = TIME_UNITS.findIndex(([, size]) => seconds >= size);
  const [name, size] = TIME_UNITS[first] ?? ['s', 1];
  const larger = Math.floor(seconds / size);
  const [smaller, smallerSize] = TIME_UNITS[first + 1] ?? ['s', 1];
  const rest = larger < 10 ? Math.floor((seconds % size) / smallerSize) : 0;
  return rest > 0 ? `${larger}${name} ${rest}${smaller}` : `${larger}${name}`;
}

/** An ISO time against `now`: `3m ago`, `in 20s`; a dash where there is none. */
export function relative(time: string | null, now: number): string {
  if (time === null) return '–';
  const away = Date.parse(time) - now;
  return away > 0 ? `in ${duration(away)}` : `${duration(-away)} ago`;
}
