import { describe, expect, it } from 'vitest';
import { type Fault, faults, when } from '../../model-api/index.ts';
import { type Edit, editBefore, insert, move, publish, remove } from '../helpers/edits.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { mirroredRows, upstreamRows } from '../helpers/truth.ts';

const ROWS = 360;
const always = (...fault: Fault[]) => [when({}, ...fault)];

describe('a dataset that gives no total', () => {
  it('is verified by its anchors and its hasMore alone', async () => {
    const bench = await setup({ rows: ROWS });
    editBefore(bench, 'meme-signals', { 3: remove(120), 5: insert(0), 6: move(300, 0) });
    expect(await bench.mirror('meme-signals')).toMatchObject({
      verdict: 'verified',
      total: null,
      stepsBack: 1,
    });
    for (let walk = 0; walk < 2; walk += 1)
      expect(await bench.mirror('meme-signals')).toMatchObject({ verdict: 'verified', apiCalls: 5 });
    expect(mirroredRows(bench, 'meme-signals')).toEqual(upstreamRows(bench, 'meme-signals'));
  });

  it('is verified so too where it says when its snapshot was made: nothing would add up', async () => {
    const bench = await setup({ rows: ROWS });
    const upstream = bench.upstream('meme-signals');
    publish('2025-11-03T12:00:00Z')(upstream);
    expect(await bench.mirror('meme-signals')).toMatchObject({ verdict: 'verified', total: null });
    remove(120)(upstream);
    publish('2025-11-03T13:00:00Z')(upstream);
    for (let walk = 0; walk < 2; walk += 1)
      expect(await bench.mirror('meme-signals')).toMatchObject({ verdict: 'verified' });
    expect(mirroredRows(bench, 'meme-signals')).toEqual(upstreamRows(bench, 'meme-signals'));
  });
});

describe('a walk without a total', () => {
  it('is no proof where more came in above what was read than was found there', async () => {
    const bench = await setup({ rows: 1_000 });
    editBefore(bench, 'meme-signals', { 7: move(900, 450) });
    expect(await bench.mirror('meme-signals')).toMatchObject({
      verdict: 'union',
      error: 'the dataset changed: unfound ×1',
    });
    expect(await bench.mirror('meme-signals')).toMatchObject({ verdict: 'verified', inserted: 1 });
  });
});

/** All rows at once, whatever is asked for. */
const whole: Fault = faults.editPage((_, { bodyAt }) => bodyAt({ offset: 0, limit: ROWS }));

describe('a dataset that does not say where it ends', () => {
  it.each([
    ['without hasMore', [faults.withoutPagination('hasMore')], 5],
    ['without any pagination', [faults.withoutPagination()], 5],
    ['as a bare array of rows', [faults.bareArray()], 5],
    ['in short pages', [faults.shortPage(50), faults.withoutPagination()], 9],
    ['as a whole, whatever is asked for', [whole, faults.withoutPagination()], 2],
  ])('and comes %s is read until nothing new comes: no fault and no proof', async (_, script, calls) => {
    const bench = await setup({ rows: ROWS, faults: always(...script) });
    const walk = await bench.mirror('news');
    expect(walk).toMatchObject({ status: 'complete', verdict: 'union', error: null, apiCalls: calls });
    expect(mirroredRows(bench, 'news')).toEqual(upstreamRows(bench, 'news'));
  });

  it('is read so too where it says when its snapshot was made', async () => {
    const bench = await setup({ rows: ROWS, faults: always(faults.withoutPagination('hasMore')) });
    publish('2025-11-03T12:00:00Z')(bench.upstream('news'));
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'union', error: null, apiCalls: 5 });
    expect(mirroredRows(bench, 'news')).toEqual(upstreamRows(bench, 'news'));
  });

  it('loses no row of the mirror, since nothing proves its absence', async () => {
    const bench = await setup({ rows: ROWS, faults: always(faults.withoutPagination()) });
    await bench.mirror('news');
    remove(100, 10)(bench.upstream('news'));
    for (let walk = 0; walk < 4; walk += 1)
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
    const bench = await setup({ rows: 500, faults: always(faults.withoutPagination()) });
    const before = bench.upstream('news').rows.slice();
    editBefore(bench, 'news', edits);
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'union', error: null });
    const mirrored = mirroredRows(bench, 'news');
    const left = new Set(bench.upstream('news').rows);
    expect(before.filter((row) => left.has(row) && !mirrored.has(String(row['id'])))).toEqual([]);
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

  it('are verified, removed and brought back as others are', async () => {
    const bench = await setup({ rows: ROWS, newsWithoutIds: true });
    editBefore(bench, 'news', { 3: remove(120), 4: insert(0) });
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', stepsBack: 1 });
    for (let walk = 0; walk < 2; walk += 1) await bench.mirror('news');
    expect(bodies(bench)).toEqual(upstream(bench));
  });

  it('have no history where they did not change', async () => {
    const bench = await setup({ rows: ROWS, newsWithoutIds: true });
    await bench.mirror('news');
    expect(await bench.mirror('news')).toMatchObject({ inserted: 0, updated: 0, verdict: 'verified' });
    expect(bench.sql('SELECT * FROM news_history')).toEqual([]);
  });
});
