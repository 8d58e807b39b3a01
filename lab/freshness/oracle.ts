/**
 * Who knows what changed and where, and spends each call, evenly spaced, on the page that is worth the most. No mirror
 * can do as well: it shows how much of a delay is for want of calls.
 */

import { DAY_MS } from '../../src/clock.ts';
import { PAGE_ROWS } from '../../src/walk/checkpoint.ts';
import { createDataset, type Dataset, type Spec } from './dataset.ts';
import { createMeasures, type Measures } from './measures.ts';
import { CALL_MS } from './quota.ts';
import type { Row } from './row.ts';
import type { Outcome } from './run.ts';
import { chances, type Quota, type World } from './worlds.ts';

/** In the tables it counts a removal half as much as a new row. */
export const REMOVAL = 0.5;

/** @param removal what one is worth, where a new or changed row is worth 1 */
export function runOracle(world: World, quota: Quota, seed: number, removal: number): Outcome {
  const random = chances(seed, world.specs.length);
  const sets = world.specs.map((spec, index) => {
    const measures = createMeasures(world.from, world.to);
    const dataset = createDataset(spec, random[index] as () => number, world.begin, measures);
    return { spec, measures, dataset, waiting: watch(dataset, measures, removal) };
  });
  const perPeriod = quota.limit - quota.reserve;
  const gapMs = Math.max(CALL_MS, quota.periodMs / perPeriod);
  let saved = 0;
  for (let now = world.begin + gapMs; now < world.to; now += gapMs) {
    for (const { dataset } of sets) dataset.advance(now);
    for (saved = Math.min(saved + 1, perPeriod); saved >= 1; saved -= 1) {
      const pages = sets.map(({ waiting }) => waiting.bestPage());
      const best = pages.reduce((one, other) => (other.worth > one.worth ? other : one));
      if (best.worth === 0) break;
      best.read(now);
    }
  }
  for (const { dataset, measures, waiting } of sets) {
    dataset.advance(world.to);
    measures.close(dataset.rows, waiting.gone());
  }
  return { world, quota, mostCalls: Number.NaN, sets };
}

type Page = { worth: number; read(now: number): void };

/** What of the dataset is yet to be read; at the beginning nothing. */
function watch(dataset: Dataset, measures: Measures, removal: number) {
  const { rows, spec } = dataset;
  const rates = ratesOf(spec, removal);
  const worthOfChange = spec.weight / spec.targetMs / Math.max(1, rates.first + rates.last + rates.spread);
  const gone = new Map<number, Row[]>();
  /** Of each page; undefined where something has happened since. */
  let worths: number[] | undefined;
  for (const { copy } of rows) copy.isHeld = true;
  dataset.onChange = (kind, row, index) => {
    worths = undefined;
    if (kind !== 'gone' || !row.copy.isHeld) return;
    const page = Math.min(pageOf(index), pageOf(rows.length - 1));
    gone.set(page, [...(gone.get(page) ?? []), row]);
  };

  function bestPage(): Page {
    const all = worths ?? worthsOfPages();
    worths = all;
    const worth = Math.max(...all);
    return { worth, read: (now) => read(all.indexOf(worth), now) };
  }

  /** What a call saves, by Whittle's index: of `n` changes that wait, where others come at a rate, n (n + 1) ÷ 2 rates. */
  function worthsOfPages(): number[] {
    const pages = pageOf(rows.length - 1) + 1;
    const waiting = new Array<number>(pages).fill(0);
    rows.forEach((row, at) => {
      if (isUnread(row)) waiting[pageOf(at)] = (waiting[pageOf(at)] ?? 0) + 1;
    });
    for (const [page, { length }] of gone) waiting[page] = (waiting[page] ?? 0) + removal * length;
    return waiting.map((n, page) => {
      const perDay =
        rates.spread / pages + (page === 0 ? rates.first : 0) + (page === pages - 1 ? rates.last : 0);
      return (worthOfChange * n * (n + 1)) / (2 * Math.max(1e-3, perDay));
    });
  }

  function read(page: number, now: number): void {
    worths = undefined;
    measures.call('walk', now);
    for (const row of rows.slice(page * PAGE_ROWS, (page + 1) * PAGE_ROWS)) {
      if (isUnread(row)) measures.read(row, now);
      row.copy.isHeld = true;
      row.unread = [];
    }
    for (const row of gone.get(page) ?? []) measures.removed(row, now);
    gone.delete(page);
  }

  return { bestPage, gone: () => [...gone.values()].flat() };
}

const pageOf = (index: number) => Math.floor(index / PAGE_ROWS);
const isUnread = ({ copy, unread }: Row) => !copy.isHeld || unread.length > 0;

/** Changes a day that show on the first page, on the last, and anywhere. */
function ratesOf(spec: Spec, removal: number): { first: number; last: number; spread: number } {
  const { newPerDay, newAt, expires, editShare, gonePerDay, editsPerDay, published } = spec;
  const publications = published ? DAY_MS / published.everyMs : 0;
  const come = newPerDay + publications * (published?.newRows ?? 0);
  const edited = editsPerDay + publications * (published?.editedRows ?? 0);
  const shown = come * (1 + editShare);
  const expired = expires ? removal * Math.max(0, come - gonePerDay) : 0;
  return {
    first: newAt === 'head' ? shown : 0,
    last: (newAt === 'tail' ? shown : 0) + expired,
    spread: (newAt === 'anywhere' ? shown : 0) + edited + removal * gonePerDay,
  };
}
