import { describe, expect, it } from 'vitest';
import { type Fault, faults, when } from '../../model-api/index.ts';
import { both, type Edit, editBefore, insert, move, publish, remove } from '../helpers/edits.ts';
import { openList } from '../helpers/list.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { mirroredRows } from '../helpers/truth.ts';

const ROWS = 360;
const always = (...fault: Fault[]) => [when({}, ...fault)];

describe('a dataset that gives no total', () => {
  it('is verified by its anchors and its hasMore alone', async () => {
    const list = openList('meme-signals', { rows: ROWS });
    const moved = await list.walk({ 3: remove(120), 5: insert(0), 6: move(300, 0) });
    expect(moved).toMatchObject({ verdict: 'verified', checkpoint: { total: null, stepsBack: 1 } });
    expect(await list.walk()).toMatchObject({ verdict: 'verified', calls: 5, missing: [] });
  });

  it('is verified so too where it says when its snapshot was made: nothing would add up', async () => {
    const list = openList('meme-signals', { rows: ROWS });
    publish('2025-11-03T12:00:00Z')(list.dataset);
    expect(await list.walk()).toMatchObject({ verdict: 'verified', checkpoint: { total: null } });
    both(remove(120), publish('2025-11-03T13:00:00Z'))(list.dataset);
    await list.converge();
  });

  it('is not proven where more came in above what was read than was found there', async () => {
    const list = openList('meme-signals', { rows: 1_000 });
    const { missing, ...walked } = await list.walk({ 7: move(900, 450) });
    expect(walked).toMatchObject({ verdict: 'union', doubts: 'unfound ×1' });
    expect(missing).toHaveLength(1);
    await list.converge();
  });
});

/** All rows at once, whatever is asked for. */
const whole: Fault = faults.editPage((_, { bodyAt }) => bodyAt({ offset: 0, limit: ROWS }));

describe('a dataset that does not say where it ends', () => {
  it.each([
    ['without any pagination', [faults.withoutPagination()], 5],
    ['as a bare array of rows', [faults.bareArray()], 5],
    ['in short pages', [faults.shortPage(50), faults.withoutPagination()], 9],
    ['as a whole, whatever is asked for', [whole, faults.withoutPagination()], 2],
  ])('and comes %s is read until nothing new comes: no fault and no proof', async (_, script, calls) => {
    const list = openList('news', { rows: ROWS, faults: always(...script) });
    expect(await list.walk()).toMatchObject({ verdict: 'union', doubts: undefined, calls, missing: [] });
  });

  it('is proven where as many rows came as its total says, until nothing new came', async () => {
    const list = openList('news', { rows: ROWS, faults: always(faults.withoutPagination('hasMore')) });
    expect(await list.walk()).toMatchObject({ verdict: 'verified', calls: 6, missing: [] });
  });

  it('loses no row of the mirror, since nothing proves its absence', async () => {
    const bench = await setup({ rows: ROWS, faults: always(faults.withoutPagination()) });
    await bench.mirror('news');
    remove(100, 10)(bench.upstream('news'));
    for (let walk = 0; walk < 2; walk += 1)
      expect(await bench.mirror('news')).toMatchObject({ verdict: 'union', deleted: 0, error: null });
    expect(mirroredRows(bench, 'news').size).toBe(ROWS);
  });

  it.each<[string, Record<number, Edit>]>([
    ['a row goes', { 3: remove(120) }],
    ['many rows go', { 5: remove(0, 250) }],
    ['the last row goes', { 6: remove(499) }],
    ['all rows behind go', { 4: remove(200, 300) }],
    ['more rows come in at the head than a page holds', { 4: insert(0, 350) }],
  ])('is read to its end although %s meanwhile', async (_, edits) => {
    const list = openList('news', { rows: 500, faults: always(faults.withoutPagination()) });
    expect(await list.walk(edits)).toMatchObject({ verdict: 'union', doubts: undefined, missed: [] });
  });
});

describe('rows without any key', () => {
  const bodies = (bench: Bench) =>
    [...mirroredRows(bench, 'news').values()].map((row) => row['_body']).sort();
  const upstream = (bench: Bench) =>
    bench
      .upstream('news')
      .rows.map((row) => JSON.stringify(row))
      .sort();

  it('are verified and removed as others are, and have no history where they did not change', async () => {
    const bench = await setup({ rows: ROWS, newsWithoutIds: true });
    editBefore(bench, 'news', { 3: remove(120), 4: insert(0) });
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', stepsBack: 1 });
    await bench.mirror('news');
    expect(await bench.mirror('news')).toMatchObject({ inserted: 0, updated: 0, verdict: 'verified' });
    expect(bodies(bench)).toEqual(upstream(bench));
    expect(bench.sql('SELECT DISTINCT _ended_by FROM news_history')).toEqual([{ _ended_by: 'delete' }]);
  });
});
