import { describe, expect, it } from 'vitest';
import { parseDuration, parseTime } from '../../src/commands/query.ts';

const now = Date.parse('2026-11-21T12:00:00Z');

describe('a time', () => {
  it.each([
    ['2026-03-01', '2026-03-01T00:00:00.000Z'],
    ['2026-03-01T12:30', '2026-03-01T12:30:00.000Z'],
    ['2026-03-01 12:30:15.5', '2026-03-01T12:30:15.500Z'],
    ['2026-03-01T12:30+02:00', '2026-03-01T10:30:00.000Z'],
    ['2026-03-01T00:30:00-0300', '2026-03-01T03:30:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2h', '2026-11-21T10:00:00.000Z'],
    ['90 minutes ago', '2026-11-21T10:30:00.000Z'],
  ])('may be given as %s', (text, time) => {
    expect(parseTime(text, '--as-of', now)).toBe(time);
  });

  it.each(['yesterday', '', '2026-13-01', '2026-02-29', '2026-03-01T25:00', '12:00', '-2h', '2026'])(
    'is not given by %j, which is refused',
    (text) => {
      expect(() => parseTime(text, '--as-of', now)).toThrow(/^--as-of/);
    },
  );

  it('that nobody can read is refused with times that may be meant', () => {
    expect(() => parseTime('yesterday', '--as-of', now)).toThrow(
      /^--as-of: 'yesterday' is no time: give one such as 2026-11-20 or 2026-11-20T12:00Z \(UTC\), or how long ago, such as 2h or 1d$/,
    );
  });

  it('that is yet to come is refused', () => {
    expect(() => parseTime('2026-11-21T12:00:01Z', '--as-of', now)).toThrow(/yet to come/);
  });
});

it.each([
  ['90s', 90_000],
  ['10m', 600_000],
  ['1.5h', 5_400_000],
  ['250 ms', 250],
])('a duration may be given as %s', (text, ms) => {
  expect(parseDuration(text, '--timeout')).toBe(ms);
});

it.each(['', '10', 'm', '-1m', 'soon', '1 fortnight'])(
  'a duration is not given by %j, which is refused',
  (text) => {
    expect(() => parseDuration(text, '--timeout')).toThrow(/^--timeout: .* is no duration/);
  },
);
