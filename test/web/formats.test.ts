/** Numbers, durations and times as the page shows them. */

import { expect, onTestFinished, test, vi } from 'vitest';
import {
  bytes,
  clockTime,
  cutMiddle,
  duration,
  fromClock,
  number,
  relative,
  sharedZone,
  timeOf,
  zoneName,
} from '../../web/formats.ts';
import { inZone } from './in-zone.ts';

test.each<[name: string, of: (value: number) => string, shown: Record<number, string>]>([
  [
    'a number',
    number,
    {
      0: '0',
      1234567: '1,234,567',
      [-1234.5]: '-1,234.5',
      0.000012: '0.000012',
      1e-9: '1e-9',
      1e21: '1e+21',
    },
  ],
  ['seconds', duration, { 0.4: '0s', 42: '42s', 185: '3m 5s', 600: '10m', 3660: '1h 1m', 90000: '1d 1h' }],
  ['bytes', bytes, { 812: '812 B', 1200: '1.2 kB', 999499: '999 kB', 999999: '1 MB', 34000000: '34 MB' }],
])('%s is shown for people', (_, of, shown) => {
  for (const [value, text] of Object.entries(shown)) expect(of(Number(value))).toBe(text);
});

test('a long text keeps its beginning and its end', () => {
  expect(cutMiddle('0x3f5c2a9e21', 9)).toBe('0x3f5c…21');
  expect(cutMiddle('🙂🙂🙂🙂🙂', 5)).toBe('🙂…');
  expect(cutMiddle('0x3f', 4)).toBe('0x3f');
});

test('a time is told against now', () => {
  expect([relative(60_000, 0), relative(0, 60_000), relative(0, 0)]).toEqual(['in 1m', '1m ago', 'now']);
});

test('only a text with a zone is a moment', () => {
  expect(timeOf('2026-11-22T15:20:01.123Z')).toBe(Date.UTC(2026, 10, 22, 15, 20, 1, 123));
  expect(timeOf('2026-11-22T15:20:01+02:00')).toBe(Date.UTC(2026, 10, 22, 13, 20, 1));
  for (const text of ['2026-11-22T15:20:01', '2026-11-22', '2026-13-40T00:00:00Z', 'soon', '12'])
    expect(timeOf(text), text).toBeNull();
  for (const text of ['2026-02-30T00:00:00Z', '2026-11-22T24:00:00Z', '2026-11-22T12:00:00+24:00'])
    expect(timeOf(text), 'there is no such time').toBeNull();
});

test('what was typed as a clock shows it is a moment', () => {
  expect(fromClock('2026-11-22 15:20', 'utc')).toBe(Date.UTC(2026, 10, 22, 15, 20));
  expect(fromClock(' 2026-11-22T15:20:01 ', 'utc')).toBe(Date.UTC(2026, 10, 22, 15, 20, 1));
  expect(fromClock('2026-11-22', 'local')).toBe(new Date(2026, 10, 22).getTime());
  for (const text of ['', 'now', '15:20', '2026-13-01', '2026-11-22 15'])
    expect(fromClock(text, 'utc'), text).toBeNull();
});

test('what is typed where a local clock is shown is by that clock, unless it says a zone', () => {
  inZone('America/New_York', () => {
    const typed = (text: string, zone: 'utc' | 'local') => {
      const ms = fromClock(text, zone);
      return ms === null ? null : new Date(ms).toISOString();
    };
    expect(typed('2026-11-21T12:30', 'local')).toBe('2026-11-21T17:30:00.000Z');
    expect(typed('2026-11-21T12:30', 'utc')).toBe('2026-11-21T12:30:00.000Z');
    expect(typed('2026-11-21 12:30Z', 'local')).toBe('2026-11-21T12:30:00.000Z');
    expect(typed('2026-02-30', 'local')).toBeNull();
  });
});

test('the first and the last times that can be written are shown as times, with an offset in whole minutes', () => {
  const [first, last] = ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z'].map(Date.parse) as [number, number];
  inZone('Africa/Lagos', () => {
    expect(clockTime(last, 'local')).toBe('10000-01-01 00:59:59');
    expect(clockTime(last, 'local', 'minute')).toBe('10000-01-01 00:59');
  });
  expect(clockTime(last, 'utc')).toBe('9999-12-31 23:59:59');
  // Of the time of a place before there were zones, some browsers tell the seconds, too.
  const offset = vi.spyOn(Date.prototype, 'getTimezoneOffset').mockReturnValue(-(13 + 35 / 60));
  onTestFinished(() => offset.mockRestore());
  expect(`${clockTime(first, 'local')} ${zoneName(first, 'local')}`).toBe('0001-01-01 00:14:00 +00:14');
});

test('times have one zone in their head unless the clock was changed between them', () => {
  const [summer, winter] = ['2026-10-24T12:00:00Z', '2026-10-26T12:00:00Z'];
  inZone('Europe/Berlin', () => {
    expect(sharedZone([null, summer, summer], 'local')).toBe('+02:00');
    expect(sharedZone([winter], 'local')).toBe('+01:00');
    expect(sharedZone([summer, null, winter], 'local')).toBeNull();
    expect(sharedZone([summer, winter], 'utc')).toBe('UTC');
  });
});
