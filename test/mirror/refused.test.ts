import { describe, expect, it } from 'vitest';
import type { WalkRow } from '../../src/store.ts';
import { both, change, type Edit, editBefore, insert, publish, remove } from '../helpers/edits.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';

const ROWS = 360;
const job = 'ai-signals';
let minute = 0;

/** Changes the dataset and publishes it anew. */
function update(bench: Bench, ...edits: Edit[]): void {
  minute += 1;
  for (const edit of edits) edit(bench.upstream(job));
  publish(new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString())(bench.upstream(job));
}

const keyAt = (bench: Bench, at: number) => String(bench.upstream(job).rows[at]?.['id']);
const has = (bench: Bench, key: string) => bench.table('ai_signals').has(key);

const LATER = '2026-01-02T03:04:05Z';
const spoil = (at: number): Edit => change(at, { confidence: 'high' });
const all = { rows: ROWS, distinctKeys: ROWS };

describe('a row that breaks the contract', () => {
  /** What is so from the beginning, what changes before which call, and what comes of the walk. */
  it.each<[string, Edit, Record<number, Edit>, Partial<WalkRow>]>([
    [
      'keeps no snapshot from being proven',
      both(spoil(7), spoil(250)),
      {},
      { verdict: 'snapshot', quarantined: 2 },
    ],
    [
      'keeps no other list from being proven, not even as its anchor',
      both(spoil(99), spoil(250), publish(null)),
      {},
      { verdict: 'verified', apiCalls: 5 },
    ],
    [
      'is no repetition where the walk begins anew',
      spoil(7),
      { 3: publish(LATER) },
      { verdict: 'snapshot', restarts: 1 },
    ],
  ])('%s', async (_, before, edits, walk) => {
    const bench = await setup({ rows: ROWS });
    before(bench.upstream(job));
    editBefore(bench, job, edits);
    expect(await bench.mirror(job)).toMatchObject({ ...all, ...walk });
  });

  it.each([
    ['is still known when a crashed walk goes on', 150, true],
    ['does not count as met on a page from which the walk steps back', 250, false],
  ])('%s', async (_, at, isCrashed) => {
    const bench = await setup({ rows: ROWS });
    both(spoil(at), publish(null))(bench.upstream(job));
    editBefore(bench, job, { 3: remove(0), ...(isCrashed && { 4: () => bench.reopen() }) });
    if (isCrashed) await expect(bench.mirror(job)).rejects.toThrow('not open');
    expect(await bench.mirror(job)).toMatchObject({ verdict: 'verified', stepsBack: 1, anomalies: '{}' });
  });

  it('does not make the row that the mirror holds look gone', async () => {
    const bench = await setup({ rows: ROWS });
    await bench.mirror(job);
    const key = keyAt(bench, 7);
    update(bench, spoil(7));
    for (let walk = 0; walk < 4; walk += 1)
      expect(await bench.mirror(job)).toMatchObject({ verdict: 'snapshot', deleted: 0 });
    expect(has(bench, key)).toBe(true);
  });
});

describe('a row without a readable key', () => {
  it.each([
    ['a snapshot', (): Edit => () => undefined, 'snapshot'],
    ['a walk without generatedAt', () => publish(null), 'verified'],
  ])('does not keep %s from being proven', async (_, edit, verdict) => {
    const bench = await setup({ rows: ROWS });
    // One of them is the last row of a page, which would be its anchor.
    update(bench, change(99, { id: '' }), change(250, { id: null }));
    edit()(bench.upstream(job));
    expect(await bench.mirror(job)).toMatchObject({ verdict, rows: ROWS - 2, unkeyed: 2, anomalies: '{}' });
  });

  it('holds the rows that it may be, until three proofs in a row did not show them', async () => {
    const bench = await setup({ rows: ROWS });
    await bench.mirror(job);
    const [broken, goneAtOnce, goneLater] = [keyAt(bench, 7), keyAt(bench, 20), keyAt(bench, 30)];
    update(bench, change(7, { id: null }), remove(20));
    expect(await bench.mirror(job)).toMatchObject({ verdict: 'snapshot', deleted: 0, held: 2 });
    expect(bench.sql('SELECT DISTINCT _held_reason AS reason FROM ai_signals')).toEqual([
      { reason: null },
      { reason: 'unkeyed' },
    ]);
    update(bench, remove(29));
    expect(await bench.mirror(job)).toMatchObject({ verdict: 'snapshot', deleted: 0, held: 3 });
    expect(await bench.mirror(job)).toMatchObject({ verdict: 'snapshot', deleted: 2, held: 1 });
    expect([broken, goneAtOnce, goneLater].map((key) => has(bench, key))).toEqual([false, false, true]);

    update(bench, change(7, { id: broken }));
    expect(await bench.mirror(job)).toMatchObject({ verdict: 'snapshot', inserted: 1, deleted: 1, held: 0 });
    expect([broken, goneLater].map((key) => has(bench, key))).toEqual([true, false]);
  });

  it('blocks the proof where a page shows no other', async () => {
    const bench = await setup({ rows: 250 });
    publish(null)(bench.upstream(job));
    for (const row of bench.upstream(job).rows.slice(50, 150)) row['id'] = '';
    insert(0)(bench.upstream(job));
    expect(await bench.mirror(job)).toMatchObject({ verdict: 'union', rows: 151 });
  });
});

describe('a page on which no row fits', () => {
  const spoilHead: Edit = (dataset) => {
    for (let at = 0; at < 100; at += 1) change(at, { confidence: 'high' })(dataset);
  };

  it('halts a dataset whose walk begins with it', async () => {
    const bench = await setup({ rows: ROWS });
    update(bench, spoilHead);
    await expect(bench.mirror(job)).rejects.toMatchObject({ kind: 'contract' });
  });

  it('ends no walk that has read the list, and reads its head again', async () => {
    const bench = await setup({ rows: ROWS });
    publish(null)(bench.upstream(job));
    editBefore(bench, job, { 5: spoilHead });
    expect(await bench.mirror(job)).toMatchObject({ status: 'complete', apiCalls: 5, quarantined: 100 });
  });
});
