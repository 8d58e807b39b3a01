/** Outcomes as figures: delays of several seeds together, shares, ages, losses. */

import { DAY_MS, HOUR_MS } from '../../src/clock.ts';
import { markdownTable, mean, sum } from '../figures.ts';
import type { Kind } from './dataset.ts';
import type { Outcome } from './run.ts';

export type Spread = { median: number; p95: number };

/** Delays of a dataset, of all outcomes together; NaN where nothing happened. */
export function delays(outcomes: readonly Outcome[], name: string, kind: Kind): Spread {
  const all = ofDataset(outcomes, name).flatMap(({ measures }) => measures.delays[kind]);
  const sorted = all.sort((one, other) => one - other);
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
  return { median: at(0.5) ?? Number.NaN, p95: at(0.95) ?? Number.NaN };
}

/** Row-hours that are stale, missing or too many, of all, in per cent. */
export function wrong(outcomes: readonly Outcome[], name: string): number {
  return mean(
    ofDataset(outcomes, name).map(({ measures: { wrong } }) => {
      return (100 * (wrong.missing + wrong.stale + wrong.extra)) / wrong.rows;
    }),
  );
}

export function proofAge(outcomes: readonly Outcome[], name: string): number {
  return mean(ofDataset(outcomes, name).map(({ measures }) => measures.proofAge()));
}

/** Calls a day, of walks and of glances; of one dataset or of all. */
export function callsPerDay(
  outcomes: readonly Outcome[],
  name?: string,
): { walk: number; glance: number; all: number } {
  const perDay = (kind: 'walk' | 'glance') =>
    mean(
      outcomes.map(({ world: { from, to }, sets }) => {
        const calls = sets.filter(({ spec }) => (name ?? spec.name) === spec.name);
        return (sum(calls.map(({ measures }) => measures.calls[kind])) * DAY_MS) / (to - from);
      }),
    );
  const [walk, glance] = [perDay('walk'), perDay('glance')];
  return { walk, glance, all: walk + glance };
}

/** Calls made, of those that there are, in [0, 1]. */
export function shareUsed(outcomes: readonly Outcome[]): number {
  const shares = outcomes.map((outcome) => {
    const { limit, reserve, periodMs } = outcome.quota;
    return callsPerDay([outcome]).all / ((limit - reserve) * (DAY_MS / periodMs));
  });
  return mean(shares);
}

/** Calls of any period of the quota beyond those that it allows. */
export function callsBeyond(outcomes: readonly Outcome[]): number {
  return sum(outcomes.map(({ quota, mostCalls }) => Math.max(0, mostCalls - (quota.limit - quota.reserve))));
}

export function count(outcomes: readonly Outcome[], what: 'falselyRemoved' | 'missedInProofs'): number {
  return sum(outcomes.flatMap(({ sets }) => sets.map(({ measures }) => measures[what])));
}

/**
 * How late changes are on average, in schedules: the mean delay of a dataset's changes ÷ what its schedule asks for, the
 * mean of the datasets by their weights.
 */
export function loss({ sets }: Outcome): number {
  let [late, weights] = [0, 0];
  for (const { spec, measures } of sets) {
    const { new: come, edited, gone } = measures.delays;
    const changes = come.length + edited.length + gone.length;
    if (changes === 0) continue;
    const delay = (sum(come) + sum(edited) + sum(gone)) / changes;
    late += (spec.weight * delay) / spec.targetMs;
    weights += spec.weight;
  }
  return late / weights;
}

function ofDataset(outcomes: readonly Outcome[], name: string) {
  return outcomes.flatMap(({ sets }) => sets.filter(({ spec }) => spec.name === name));
}

/** `4.7 min`, `3.1 h`: two digits, as far as they say something. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  const [value, unit] =
    ms < 90_000 ? [ms / 1_000, 's'] : ms < 1.5 * HOUR_MS ? [ms / 60_000, 'min'] : [ms / HOUR_MS, 'h'];
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

export function spread({ median, p95 }: Spread): string {
  return Number.isNaN(median) ? '–' : `${duration(median)} / ${duration(p95)}`;
}

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
