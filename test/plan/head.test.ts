import { expect, it } from 'vitest';
import { type FullWalk, learnHead } from '../../src/plan/head.ts';

const nothing: FullWalk = { newInHead: 0, newAtTail: 0, newElsewhere: 0, glanced: 0 };
const inHead = (rows: number): FullWalk => ({ ...nothing, newInHead: rows });
const atTail = (rows: number): FullWalk => ({ ...nothing, newAtTail: rows });
const elsewhere = (rows: number): FullWalk => ({ ...nothing, newElsewhere: rows });

const learn = (walks: readonly FullWalk[], glanced = 0) => learnHead(walks, glanced, false);
const times = (count: number, walk: FullWalk) => Array.from({ length: count }, () => walk);

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

it('counts rows that glances brought as rows in the head, before a walk and since', () => {
  const glanced = { ...elsewhere(2), glanced: 10 };
  expect(learn(times(3, glanced))).toMatchObject({ useful: true, why: 'in-head' });
  expect(learn(times(3, elsewhere(2)))).toMatchObject({ useful: false });
  expect(learn(times(3, nothing), 5)).toMatchObject({ useful: true, new: 5, inHead: 5 });
  expect(learn(times(3, elsewhere(3)), 7)).toMatchObject({ useful: true });
});

it('is never worth glances where one call shows whether anything was published', () => {
  expect(learnHead(times(3, inHead(9)), 0, true)).toMatchObject({ useful: false, why: 'published' });
});
