import { describe, expect, it } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { both, change, type Edit, editBefore, insert, publish, remove } from '../helpers/edits.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { provenIn } from '../helpers/proven.ts';
import { setup } from '../helpers/setup.ts';
import { mirroredRows, missingKeys } from '../helpers/truth.ts';

const job = 'news';
const ROWS = 450;
const WHOLE = 5;

/** A mirror whose first walk is complete. */
async function setupKnown(): Promise<Bench> {
  const bench = await setup({ rows: ROWS, walked: [job] });
  bench.clock.advance(60_000);
  return bench;
}

const edit = (bench: Bench, ...edits: Edit[]) => both(...edits)(bench.upstream(job));
const walksOf = (bench: Bench) => bench.sql('SELECT * FROM walks WHERE job = ? ORDER BY id', job);
const freshness = (bench: Bench) =>
  bench.sql('SELECT complete_as_of, verdict, status, last_error FROM freshness WHERE job = ?', job);

/** Stops behind so many pages. */
async function broken(bench: Bench, kind: 'mirror' | 'glance', pages: number): Promise<void> {
  const stop = new AbortController();
  let saved = 0;
  const stopAfter = () => void (++saved === pages && stop.abort(new Error('stopped')));
  await expect(bench[kind](job, stopAfter, stop.signal)).rejects.toThrow('stopped');
}

describe('a glance', () => {
  it('brings new rows and new versions of the head by one call, and proves nothing', async () => {
    const bench = await setupKnown();
    const before = freshness(bench);
    edit(
      bench,
      insert(0, 7),
      change(20, { headline: 'changed' }),
      remove(30, 2),
      change(300, { headline: 'far' }),
    );
    const glance = await bench.glance(job);
    expect(glance).toMatchObject({ kind: 'glance', status: 'complete', verdict: null, apiCalls: 1 });
    expect(glance).toMatchObject({ inserted: 7, updated: 1, deleted: 0, held: 0, error: null });
    expect(missingKeys(bench, job)).toEqual([]);
    expect(mirroredRows(bench, job).size).toBe(ROWS + 7);
    expect(freshness(bench)).toEqual(before);
    expect(bench.store.completeAsOf(job)).toBe(Date.parse(String(before[0]?.['complete_as_of'])));
    expect(provenIn(bench.store).of(bench.job(job), glance)).toBeNull();
  });

  it.each([
    ['through pages of new rows until one ends in known rows', insert(0, 240), 3, 240, []],
    ['past rows that are pinned to the top', insert(10, 120), 2, 120, []],
    [
      'where a page is empty and promises more',
      insert(0),
      2,
      1,
      [when({ nth: 1 }, faults.emptyPageWithMore())],
    ],
  ])('reads on %s', async (_, came, apiCalls, inserted, fault) => {
    const bench = await setupKnown();
    edit(bench, came);
    bench.model.faults = fault;
    expect(await bench.glance(job)).toMatchObject({ kind: 'glance', verdict: null, apiCalls, inserted });
  });

  it('ends with the third page, and makes a walk due, where nothing is known', async () => {
    const bench = await setup({ rows: ROWS });
    expect(await bench.glance(job)).toMatchObject({ kind: 'glance', verdict: null, apiCalls: 3 });
    expect(bench.store.lacksWalk(job)).toBe(true);
    expect(await bench.mirror(job)).toMatchObject({ kind: 'walk', verdict: 'verified' });
    expect(bench.store.lacksWalk(job)).toBe(false);
  });

  it.each([
    ['one page, which costs no more', job, 'verified'],
    ['what is kept as snapshots', 'usage', 'snapshot'],
  ])('is a walk of %s', async (_, name, verdict) => {
    const bench = await setup({ rows: 60 });
    await bench.mirror(name);
    expect(await bench.glance(name)).toMatchObject({ kind: 'walk', verdict, apiCalls: 1 });
  });

  it('takes back that a row seemed gone, and lets no other seem so', async () => {
    const bench = await setupKnown();
    const [hidden] = bench.upstream(job).rows.splice(200, 1);
    edit(bench, remove(100));
    await bench.mirror(job);
    expect(bench.sql('SELECT 1 FROM news WHERE _held_since IS NOT NULL')).toHaveLength(2);
    bench.upstream(job).rows.unshift(hidden as (typeof bench.model.data.news.rows)[number]);
    expect(await bench.glance(job)).toMatchObject({ inserted: 0 });
    expect(bench.sql('SELECT _held_reason FROM news WHERE _held_since IS NOT NULL')).toEqual([
      { _held_reason: 'unproven' },
    ]);
  });

  it('does not say that a field has vanished which the head never had', async () => {
    const bench = await setup({ rows: ROWS });
    edit(bench, change(300, { rare: 'a field of one row' }));
    await bench.mirror(job);
    await bench.glance(job);
    expect(bench.sql("SELECT * FROM drift WHERE kind = 'vanished-field'")).toEqual([]);
  });
});

describe('a glance that is interrupted', () => {
  it('is gone on with: it never stops in front of rows that it has yet to read', async () => {
    const bench = await setupKnown();
    edit(bench, insert(0, 290));
    await broken(bench, 'glance', 1);
    expect(bench.store.lastLook(job)).toBeNull();
    edit(bench, insert(0, 2));
    expect(await bench.glance(job)).toMatchObject({ id: 2, kind: 'glance', verdict: null });
    await bench.glance(job);
    expect(missingKeys(bench, job)).toEqual([]);
  });

  it('is given up by a walk, which reads what it had yet to read', async () => {
    const bench = await setupKnown();
    edit(bench, insert(0, 290));
    await broken(bench, 'glance', 1);
    await broken(bench, 'mirror', 1);
    expect(walksOf(bench)).toMatchObject([{}, { kind: 'glance', status: 'failed' }, { status: 'waiting' }]);
    // Neither has come to the rows that were known before, so this one goes on to them.
    expect(await bench.glance(job)).toMatchObject({ kind: 'glance', inserted: 290 - 100 });
    expect(await bench.mirror(job)).toMatchObject({ id: 3, verdict: 'verified', inserted: 100 - 100 });
    expect(missingKeys(bench, job)).toEqual([]);
  });

  it('by an offset that the API refuses is given up, and the next one reads what it had yet to read', async () => {
    const bench = await setupKnown();
    edit(bench, insert(0, 240));
    bench.model.faults = [when({ offset: 99 }, faults.status(400))];
    await expect(bench.glance(job)).rejects.toMatchObject({ kind: 'unreachable' });
    expect(walksOf(bench)).toMatchObject([{}, { kind: 'glance', status: 'failed', verdict: null }]);
    expect(freshness(bench)).toMatchObject([{ verdict: 'verified', status: 'complete', last_error: null }]);
    bench.model.faults = [];
    expect(await bench.glance(job)).toMatchObject({ id: 3, inserted: 240 - 100 });
    expect(missingKeys(bench, job)).toEqual([]);
  });

  it.each([
    ['an error', faults.status(500), { kind: 'unreachable' }],
    ['a page that breaks the contract', faults.members({ rows: 'none' }), { kind: 'contract' }],
  ])('by %s says so, no look is told of, and each of its calls is on record', async (_, fault, thrown) => {
    const bench = await setupKnown();
    const looked = bench.sql('SELECT max(started_at) FROM walks');
    bench.model.faults = [when({}, fault)];
    await expect(bench.glance(job)).rejects.toMatchObject(thrown);
    const recorded = bench.sql('SELECT request_id FROM requests WHERE walk_id = (SELECT max(id) FROM walks)');
    expect(recorded).toEqual(bench.model.calls.map(({ requestId }) => ({ request_id: requestId })));
    expect(bench.sql("SELECT max(started_at) FROM walks WHERE status = 'complete'")).toEqual(looked);
    expect(freshness(bench)).toMatchObject([{ verdict: 'verified', status: 'complete', last_error: null }]);
  });
});

it('what came while a walk was under way, and it missed, is brought by the next walk, not by a glance', async () => {
  const bench = await setupKnown();
  // New rows come in at the head until the walk gives up following them.
  editBefore(bench, job, { 6: insert(0, 120), 7: insert(0, 240), 8: insert(0, 360) });
  expect(await bench.mirror(job)).toMatchObject({ verdict: 'union' });
  bench.model.beforeAnswer = undefined;
  edit(bench, insert(0, 5));
  expect(await bench.glance(job)).toMatchObject({ kind: 'glance' });
  expect(await bench.mirror(job)).toMatchObject({ verdict: 'verified' });
  expect(missingKeys(bench, job)).toEqual([]);
});

describe('beside an unfinished walk', () => {
  it('a glance leaves it where it is, and ends in the rows that it has read', async () => {
    const bench = await setup({ rows: ROWS });
    await broken(bench, 'mirror', 2);
    const [unfinished] = walksOf(bench);
    expect(await bench.glance(job)).toMatchObject({
      kind: 'glance',
      verdict: null,
      apiCalls: 1,
      inserted: 0,
    });
    expect(walksOf(bench)[0]).toEqual(unfinished);
    expect(await bench.mirror(job)).toMatchObject({ id: 1, verdict: 'verified', apiCalls: WHOLE + 1 });
    // Those of the proof, in whose order the rows are shown.
    expect(bench.sql('SELECT DISTINCT id >> 20 AS walk FROM _walk_pages')).toEqual([{ walk: 1 }]);
  });

  it('what a glance met is not absent for it', async () => {
    const bench = await setupKnown();
    const [flapping] = bench.upstream(job).rows.splice(300, 1);
    await broken(bench, 'mirror', 3);
    bench.upstream(job).rows.unshift(flapping as (typeof bench.model.data.news.rows)[number]);
    await bench.glance(job);
    edit(bench, remove(0));
    expect(await bench.mirror(job)).toMatchObject({ verdict: 'verified' });
    expect(bench.sql('SELECT * FROM news WHERE _held_since IS NOT NULL')).toEqual([]);
  });

  it('what a glance met before it began anew may be gone with the snapshot that is published since', async () => {
    const signals = 'ai-signals';
    const bench = await setup({ rows: ROWS, walked: [signals] });
    const publishNext = (hour: number, ...edits: Edit[]) =>
      both(...edits, publish(`2026-11-30T${hour}:00:00Z`))(bench.upstream(signals));
    publishNext(12);
    const stop = new AbortController();
    const stopped = bench.mirror(signals, () => stop.abort(new Error('stopped')), stop.signal);
    await expect(stopped).rejects.toThrow('stopped');
    await bench.glance(signals);
    publishNext(13, remove(0, 50));
    expect(await bench.mirror(signals)).toMatchObject({ verdict: 'snapshot', deleted: 50 });
    expect(mirroredRows(bench, signals).size).toBe(ROWS - 50);
  });
});

describe('a walk counts the rows that were new to the mirror', () => {
  const counted = (newInHead: number, newAtTail: number, newElsewhere: number) => ({
    newInHead,
    newAtTail,
    newElsewhere,
  });

  it('but not in the first walk, to which all are new', async () => {
    const bench = await setup({ rows: ROWS });
    expect(await bench.mirror(job)).toMatchObject({ inserted: ROWS, ...counted(0, 0, 0) });
  });

  it('once each, also where it is interrupted, steps back, or finds them at the head behind its beginning', async () => {
    const bench = await setupKnown();
    edit(bench, insert(0, 5), insert(300, 6), insert(-1, 7));
    editBefore(bench, job, { 2: remove(50, 3), 4: insert(0, 4) });
    await broken(bench, 'mirror', 3);
    expect(await bench.mirror(job)).toMatchObject({ inserted: 22, ...counted(9, 7, 6) });
  });
});
