/** Numbers and times as people read them. */

import ms from 'ms';

/** `1,234`. Not by `toLocaleString`, whose first call takes as long as reading the whole status. */
export const number = (value: number) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');

/** `0s`, `3m`, `2h`: the largest unit that fits. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1_000));
  return seconds === 0 ? '0s' : ms(seconds * 1_000);
}

/** An ISO time against `now`: `3m ago`, `in 20s`; a dash where there is none. */
export function relative(time: string | null, now: number): string {
  if (time === null) return '–';
  const away = Date.parse(time) - now;
  return away > 0 ? `in ${duration(away)}` : `${duration(-away)} ago`;
}
