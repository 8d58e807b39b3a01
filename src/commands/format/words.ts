/** Numbers and times as people read them. */

import ms from 'ms';

export const number = (value: number) => Math.round(value).toLocaleString('en-US');

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
