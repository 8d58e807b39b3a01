import { expect, it } from 'vitest';
import { isoTime } from '../../src/clock.ts';
import { type FullWalk, learnHead } from '../../src/plan/facts.ts';

type Found = Omit<FullWalk, 'startedAt'>;

const HOUR = 3_600_000;

const nothing: Found = { newInHead: 0, newAtTail: 0, newElsewhere: 0, glanced: 0 };
const inHead = (rows: number): Found => ({ ...nothing, newInHead: rows });
const atTail = (rows: number): Found => ({ ...nothing, newAtTail: rows });
const elsewhere = (rows: number): Found => ({ ...nothing, newElsewhere: rows });

const apart = (ms: number, walks: readonly Found[]): FullWalk[] =>
  walks.map((walk, at) => ({ ...walk, startedAt: isoTime(2e12 + at * ms) }));
const learn = (walks: readonly Found[], glanced = 0, ms = HOUR) =>
  learnHead(apart(ms, walks), glanced, false);
const times = (count: number, walk: Found) => Array.from({ length: count }, () => walk);

it('is worth glances once three walks found five new rows there', () => {
  expect(learn([nothing, inHead(9)])).toMatchObject({ useful: false, why: 'few-walks', walks: 2 });
  expect(learn([nothing, nothing, inHead(4)])).toMatchObject({ useful: false, why: 'few-rows' });
  expect(learn([nothing, nothing, inHead(5)])).toMatchObject({ useful: true, why: 'in-head', walks: 3 });
});

it('is not, where most new rows stand at the tail or anywhere else', () => {
  expect(learn(times(3, atTail(9)))).toMatchObject({ useful: false, why: 'elsewhere', inHead: 0 });
  expect(learn(times(3, { ...elsewhere(9), newInHead: 1 }))).toMatchObject({ useful: false });
  expect(learn(times(3, { ...elsewhere(6), newInHead: 6 }))).toMatchObject({ useful: true });
  expect(learn(times(3, { ...elsewhere(7), newInHead: 6 }))).toMatchObject({ useful: false });
});

it('lets walks of long ago count for less, both ways', () => {
  const { new: all, inHead: front } = learn([inHead(10), inHead(10), atTail(10)]);
  expect(all).toBeCloseTo(10 + 7 + 4.9);
  expect(front).toBeCloseTo(7 + 4.9);
  // An order that turns round: as many rows a walk as before, now at the tail.
  const turned = (walks: number) => learn([...times(20, inHead(10)), ...times(walks, atTail(10))]).useful;
  expect([0, 1, 2].map(turned)).toEqual([true, true, false]);
  const back = (walks: number) => learn([...times(20, atTail(10)), ...times(walks, inHead(10))]).useful;
  expect([0, 1, 2].map(back)).toEqual([false, false, true]);
  // New rows of a busy day, and none since.
  expect(learn([...times(3, inHead(10)), ...times(5, nothing)]).why).toBe('few-rows');
});

it('learns from walks that find little each, since they come often', () => {
  const often = learn([...times(60, inHead(1)), ...times(60, nothing)], 0, HOUR / 60);
  expect(often.new / learn([inHead(60), nothing]).new).toBeGreaterThan(0.8);
  expect(learn(times(20, inHead(1)), 0, 5 * 60_000)).toMatchObject({ useful: true });
  expect(learn(times(20, inHead(1)), 0, HOUR)).toMatchObject({ useful: false, why: 'few-rows' });
  // Nor does a longer time between them, or a clock that was set back, make them count for less.
  expect(learn(times(5, inHead(3)), 0, 20 * HOUR).new).toBeCloseTo(learn(times(5, inHead(3))).new);
  expect(learn(times(5, inHead(3)), 0, -HOUR).new).toBe(15);
});

it('counts rows that glances brought as rows in the head, before a walk and since', () => {
  const glanced = { ...elsewhere(2), glanced: 10 };
  expect(learn(times(3, glanced))).toMatchObject({ useful: true, why: 'in-head' });
  expect(learn(times(3, elsewhere(2)))).toMatchObject({ useful: false });
  expect(learn(times(3, nothing), 5)).toMatchObject({ useful: true, new: 5, inHead: 5 });
  expect(learn(times(3, elsewhere(3)), 7)).toMatchObject({ useful: true });
});

it('is never worth glances where one call shows whether anything was published', () => {
  expect(learnHead(apart(HOUR, times(3, inHead(9))), 0, true)).toMatchObject({
    useful: false,
    why: 'published',
  });
});
