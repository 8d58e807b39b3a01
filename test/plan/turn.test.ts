import { expect, it } from 'vitest';
import { type DatasetState, nextTurn } from '../../src/plan/turn.ts';
import type { Intervals } from '../../src/plan.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Midnight. */
const NOW = 1_000 * DAY;

const kept: Intervals = { everySeconds: 300, glanceEverySeconds: null, waitsForMore: false };
const slow: Intervals = { ...kept, everySeconds: 3_600 };
const glancing: Intervals = { ...kept, everySeconds: 5 * 3_600, glanceEverySeconds: 1_800 };
/** Glances keep the schedule. */
const thrifty: Intervals = { ...slow, glanceEverySeconds: 300 };
/** A walk would be cut in two. */
const dear: Intervals = { ...kept, waitsForMore: true };

/** Every five minutes; walked just now, unless told otherwise. Times count from now. */
function stateOf({ walkedAt = 0, moreAt = Number.POSITIVE_INFINITY, ...given }: Given): DatasetState {
  const { lookedAt = walkedAt, ...rest } = given;
  const at = (time: number | null) => (time === null ? null : NOW + time);
  return {
    ...{ schedule: { every: 5 * MINUTE }, targetSeconds: 300, intervals: kept, ...rest },
    ...{ walkedAt: at(walkedAt), lookedAt: at(lookedAt), moreAt: NOW + moreAt },
  };
}
type Given = Partial<DatasetState>;

const offices: Given = { schedule: { cron: '0 9-17 * * *' }, targetSeconds: 16 * 3_600 };

it.each<[string, Given, 'walk' | 'glance', number]>([
  ['left to the schedule where that is kept', {}, 'walk', 0],
  ['a walk when the plan has it', { intervals: slow }, 'walk', HOUR],
  ['a walk at once where none has finished', { intervals: slow, walkedAt: null }, 'walk', 0],
  ['a walk at once where only a glance has', { intervals: glancing, walkedAt: null, lookedAt: 0 }, 'walk', 0],
  ['a walk at once where nothing is planned', { intervals: null }, 'walk', 0],
  ['a walk at once of what is off', { intervals: slow, schedule: 'off' }, 'walk', 0],
  // The next times of the pattern are nine and ten, an hour apart.
  [
    'spaced like a pattern by as much as the plan makes it rarer',
    { ...offices, intervals: { ...kept, everySeconds: 24 * 3_600 } },
    ...(['walk', 1.5 * HOUR] as const),
  ],
  ['a day away at most', { intervals: { ...kept, everySeconds: 1e9 } }, 'walk', DAY],
  ['a glance until a walk is due', { intervals: glancing }, 'glance', 30 * MINUTE],
  ['a glance after the last look', { intervals: glancing, lookedAt: -20 * MINUTE }, 'glance', 10 * MINUTE],
  ['a glance that is late', { intervals: glancing, walkedAt: -4.5 * HOUR, lookedAt: -HOUR }, 'glance', 0],
  ['a walk that is due', { intervals: glancing, walkedAt: -5 * HOUR, lookedAt: -HOUR }, 'walk', 0],
  ['a glance that is unfinished', { intervals: glancing, lookedAt: null }, 'glance', 0],
  [
    'a glance long before a walk',
    { intervals: glancing, walkedAt: -4 * HOUR, lookedAt: 0 },
    'glance',
    30 * MINUTE,
  ],
  [
    'no glance shortly before a walk',
    { intervals: glancing, walkedAt: -4.45 * HOUR, lookedAt: 0 },
    'walk',
    33 * MINUTE,
  ],
  ['a walk a moment ahead', { intervals: thrifty, walkedAt: 3 - HOUR, lookedAt: -5 * MINUTE }, 'walk', 3],
  ['a glance by schedule', { intervals: thrifty, walkedAt: -HOUR / 2, lookedAt: -1 }, 'glance', 0],
  ['asked for again when more calls come', { intervals: slow, moreAt: MINUTE }, 'walk', MINUTE],
  ['a walk then, though a glance would come later', { intervals: glancing, moreAt: MINUTE }, 'walk', MINUTE],
  ['due where more have come', { intervals: slow, moreAt: -MINUTE }, 'walk', 0],
  ['not put off by a clock that was ahead', { intervals: slow, walkedAt: 365 * DAY }, 'walk', HOUR],
  ['nor is a glance', { intervals: glancing, lookedAt: 365 * DAY }, 'glance', 30 * MINUTE],
  ['no walk that would be cut in two', { intervals: dear, moreAt: 2 * HOUR }, 'walk', 2 * HOUR],
  ['one that goes on, though', { intervals: dear, moreAt: 2 * HOUR, walkedAt: null }, 'walk', 0],
  ['put off so for a day at most', { intervals: dear, moreAt: 20 * DAY, walkedAt: -HOUR }, 'walk', 23 * HOUR],
  [
    'a glance meanwhile',
    { intervals: { ...dear, glanceEverySeconds: 1_800 }, moreAt: 2 * HOUR, lookedAt: 0 },
    ...(['glance', 30 * MINUTE] as const),
  ],
])('the next turn is %s', (_, given, kind, inMs) => {
  const turn = nextTurn(stateOf(given), NOW);
  expect([turn.kind, turn.at - NOW]).toEqual([kind, inMs]);
});

it.each([
  [3_600, 10 * HOUR, HOUR],
  [24 * 3_600, 10 * HOUR, 5 * HOUR],
  [3_600, 90_000, 60_000],
  [3_600, 20_000, 20_000],
  [3_600, Number.POSITIVE_INFINITY, HOUR],
])(
  'who waits %i s while more calls come in %i ms asks again at half of the time: %i ms',
  (every, moreAt, inMs) => {
    const given = { intervals: { ...kept, everySeconds: every }, moreAt };
    expect(nextTurn(stateOf(given), NOW).askAt - NOW).toBe(inMs);
  },
);
