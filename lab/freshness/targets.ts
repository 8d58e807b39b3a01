/** What was aimed at, and whether it came out. */

import { markdownTable } from '../figures.ts';
import { duration } from './figures.ts';

export type Target = { what: string; aim: string; came: string; holds: boolean };

/** What a part of the simulation prints, and what it was aimed at. */
export type Section = { text: string; targets: Target[] };

export function within(what: string, ms: number, mostMs: number): Target {
  return { what, aim: `at most ${duration(mostMs)}`, came: duration(ms), holds: ms <= mostMs };
}

/** @param most what `value` may be, in times of walks alone or of the best */
export function times(what: string, value: number, most: number): Target {
  return { what, aim: `at most ${most} times`, came: value.toFixed(2), holds: value <= most };
}

export function none(what: string, count: number): Target {
  return { what, aim: 'none', came: String(count), holds: count === 0 };
}

export function targetTable(targets: readonly Target[]): string {
  return markdownTable(
    ['what', 'aim', 'came out', 'holds'],
    targets.map(({ what, aim, came, holds }) => [what, aim, came, holds ? 'yes' : '**no**']),
  );
}
