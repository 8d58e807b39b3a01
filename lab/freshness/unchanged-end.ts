/**
 * Of a published dataset that has changed: had the walk left out its end, once pages were as the walk before had shown
 * them, how many calls would that have saved, and how often would its proof have been wrong?
 */

import { DAY_MS } from '../../src/clock.ts';
import { PAGE_ROWS } from '../../src/walk/checkpoint.ts';
import { markdownTable } from '../figures.ts';
import { createDataset, type Spec } from './dataset.ts';
import { createMeasures } from './measures.ts';
import type { Row } from './row.ts';
import type { Section } from './targets.ts';
import { chances, signalsAtHead, usualWorld } from './worlds.ts';

/** What must be seen before the rest is taken for unchanged: so many unchanged pages in a row, and perhaps the last page. */
type Evidence = { pages: number; lastPage: boolean };

type Tally = { calls: number; saved: number; skipped: number; wrong: number };

const DAYS = 30;
/** As far apart as walks of ai-signals are with 1,000 calls a day. */
const EVERY_MS = 24 * 60_000;

const anywhere = { newAt: 'anywhere', expires: false } as const;

const kinds: { name: string; change: Partial<Spec> }[] = [
  { name: 'new rows at the head, the oldest expire', change: {} },
  { name: '… each changed once within the hour', change: { editShare: 1 } },
  { name: '… one row changed anywhere a day', change: { editsPerDay: 1 } },
  { name: '… one gone anywhere a day', change: { gonePerDay: 1 } },
  { name: '… one changed anywhere an hour', change: { editsPerDay: 24 } },
  { name: '… one gone anywhere an hour', change: { gonePerDay: 24 } },
  { name: '… five changed anywhere every ten minutes', change: { editsPerDay: 720 } },
  { name: '… fifty changed anywhere every ten minutes', change: { editsPerDay: 7_200 } },
  { name: 'one comes anywhere an hour', change: { ...anywhere, newPerDay: 24 } },
  { name: '… and one goes anywhere an hour', change: { ...anywhere, newPerDay: 24, gonePerDay: 24 } },
];

const evidences: Evidence[] = [
  { pages: 1, lastPage: false },
  { pages: 1, lastPage: true },
  { pages: 3, lastPage: true },
];

export async function unchangedEndSection(): Promise<Section> {
  const lines = kinds.map(({ name, change }) => {
    const spec = { ...signalsAtHead, ...change };
    return [name, ...evidences.flatMap((evidence) => cells(tallyOf(spec, evidence)))];
  });
  const heads = evidences.flatMap(({ pages, lastPage }) => {
    const seen = `${pages} unchanged page${pages > 1 ? 's' : ''}${lastPage ? ' and the last' : ''}`;
    return [`${seen}: calls saved`, 'proofs wrong'];
  });
  return { text: markdownTable(['what changes', ...heads], lines), targets: [] };
}

function cells({ calls, saved, skipped, wrong }: Tally): string[] {
  const part = (value: number, of: number) => (of === 0 ? '–' : `${((100 * value) / of).toFixed(1)} %`);
  return [part(saved, calls), part(wrong, skipped)];
}

function tallyOf(spec: Spec, evidence: Evidence): Tally {
  const { begin } = usualWorld;
  const end = begin + DAYS * DAY_MS;
  const [random = () => 0] = chances(1, 1);
  const dataset = createDataset(spec, random, begin, createMeasures(begin, end));
  const tally: Tally = { calls: 0, saved: 0, skipped: 0, wrong: 0 };
  let before: readonly Row[] = [];
  for (let now = begin; now < end; now += EVERY_MS) {
    dataset.advance(now);
    const { rows } = dataset;
    if (before.length > 0) count(tally, before, rows, evidence);
    before = rows.slice();
    for (const row of rows) {
      row.copy.isHeld = true;
      row.unread = [];
    }
  }
  return tally;
}

function count(tally: Tally, before: readonly Row[], rows: readonly Row[], evidence: Evidence): void {
  const whole = Math.ceil(rows.length / PAGE_ROWS);
  tally.calls += whole;
  const { calls, from, isAsBefore } = skip(before, rows, evidence);
  if (from >= rows.length) return;
  tally.saved += whole - calls;
  tally.skipped += 1;
  if (!isAsBefore(from)) tally.wrong += 1;
}

/** Reads until there is evidence enough; the rows from `from` on are left out, but for the last page where that is read. */
function skip(before: readonly Row[], rows: readonly Row[], { pages, lastPage }: Evidence) {
  const places = new Map(before.map((row, at) => [row, at]));
  const isUnread = ({ copy, unread }: Row) => !copy.isHeld || unread.length > 0;
  /** How far the rows have moved down since; the rest is taken to have moved with them. */
  let shift = Number.NaN;
  const isAsBefore = (from: number, to = rows.length) =>
    rows.slice(from, to).every((row, at) => !isUnread(row) && places.get(row) === from + at - shift);
  let calm = 0;
  let from = 0;
  let calls = 0;
  for (; from < rows.length && calm < pages; from += PAGE_ROWS) {
    calls += 1;
    const [first] = rows.slice(from, from + 1);
    shift = from - ((first && places.get(first)) ?? Number.NaN);
    calm = isAsBefore(from, from + PAGE_ROWS) ? calm + 1 : 0;
  }
  const last = (Math.ceil(rows.length / PAGE_ROWS) - 1) * PAGE_ROWS;
  // Nothing is left out, or the end has less or more than the walk before had shown.
  if (from >= last || rows.length - shift > before.length) return { calls, from: rows.length, isAsBefore };
  if (!lastPage) return { calls, from, isAsBefore };
  return { calls: calls + 1, from: isAsBefore(last) ? from : rows.length, isAsBefore };
}
