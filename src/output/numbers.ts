/** Numbers, sizes and durations as people read them. Pure: a terminal and the page show them alike. */

/** `1,234.5`; an integer keeps all its digits, a fraction at most `digits` behind the point. */
export function number(value: number, digits = 20): string {
  // Not by `toLocaleString`, whose first call takes as long as reading the whole status.
  const text = (Number.isInteger(value) ? value : Number(value.toFixed(digits))).toString();
  if (!Number.isFinite(value) || text.includes('e')) return String(value);
  return text.replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ','));
}

/** A value of a row is shown as it is up to so many digits, of which so many are behind the point. */
const WHOLE = { digits: 12, decimals: 4 };
/** A longer one is rounded to so many, and to a whole number where that has more. */
const ROUNDED_DIGITS = 6;
/** Digits that every double has. What differs only behind them was made by binary arithmetic, such as 0.1 + 0.2. */
const DOUBLE_DIGITS = 15;

/** The number that is shown for a value of a row: the value itself, or a shorter one. Whole numbers keep all their digits. */
export function shownNumber(value: number): number {
  if (Number.isInteger(value) || !Number.isFinite(value)) return value;
  const exact = Number(value.toPrecision(DOUBLE_DIGITS));
  const [, whole = '', fraction = ''] = /^-?0*(\d*)\.?(\d*)$/.exec(String(exact)) ?? [];
  const isShort = fraction.length <= WHOLE.decimals && whole.length + fraction.length <= WHOLE.digits;
  if (isShort && whole + fraction !== '') return exact;
  return Math.abs(value) >= 10 ** ROUNDED_DIGITS
    ? Math.round(value)
    : Number(value.toPrecision(ROUNDED_DIGITS));
}

/** Columns of short fractions are easier to compare where all have as many digits behind the point. */
const MAX_ALIGNED = WHOLE.decimals;

/** How many digits behind the point the values of a column get; 0 where some have too many. */
export function decimalsOf(values: Iterable<unknown>): number {
  let most = 0;
  for (const value of values)
    if (typeof value === 'number') most = Math.max(most, decimalsIn(String(shownNumber(value))));
  return most <= MAX_ALIGNED ? most : 0;
}

/**
 * A value of a row: `800,126.23`.
 * @param decimals digits behind the point. What was rounded gets none that it does not have: they would be invented.
 */
export function valueText(value: number, decimals = 0): string {
  const shown = shownNumber(value);
  const text = number(shown);
  const lacking = decimals - decimalsIn(text);
  if (shown !== value || lacking <= 0) return text;
  return `${text}${text.includes('.') ? '' : '.'}${'0'.repeat(lacking)}`;
}

/** More than any column gets for a number that is written otherwise, such as `1e-9`. */
const decimalsIn = (text: string) =>
  /^-?[\d,]+(\.\d+)?$/.test(text) ? (text.split('.')[1] ?? '').length : Number.POSITIVE_INFINITY;

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

/** `18:43:11 UTC`; with its day where that is not the day of `now`. */
export function clockTime(at: number, now: number): string {
  const text = (ms: number) => new Date(ms).toISOString().replace('T', ' ').replace(/\..*/, '');
  const [written, today] = [text(at), text(now)];
  const day = '2026-11-27 '.length;
  return `${written.slice(0, day) === today.slice(0, day) ? written.slice(day) : written} UTC`;
}

/** The text with its times as `clockTime` writes them. */
export const withClockTimes = (text: string, now: number): string =>
  text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z(?!\w)/g, (time) => {
    const at = Date.parse(time);
    return Number.isNaN(at) ? time : clockTime(at, now);
  });
