import { describe, expect, it } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { isoTime } from '../../src/base/clock.ts';
import { Snooze } from '../../src/base/errors.ts';
import { mirror } from '../../src/mirror.ts';
import { type Edit, editBefore, publish, remove } from '../helpers/edits.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { expectConvergence, mirroredRows, upstreamRows } from '../helpers/truth.ts';

const ROWS = 360;
const DAY = 24 * 3_600_000;
const LATER = '2026-01-02T03:04:05Z';

/** Crashes the mirror while it waits for the answer to this call. */
const crashAt =
  (bench: Bench): Edit =>
  () =>
    bench.reopen();

const checkpointOfWalk = (bench: Bench) =>
  bench.sql<{ reads: string; pages: number; calls: number }>(
    `SELECT coalesce(memory ->> '$.checkpoint.phase', memory ->> '$.checkpoint.mode') AS reads, pages, api_calls AS calls
     FROM walks ORDER BY id DESC LIMIT 1`,
  )[0];

describe('a walk that crashes', () => {
  /** Before which call it crashes, what has changed by then, where it stands, all its calls, and those that were of no use. */
  it.each<
    [
      string,
      job: string,
      before: number,
      edits: Record<number, Edit>,
      at: object,
      calls: number,
      lost: number,
    ]
  >([
    ['while it reads forward', 'news', 3, {}, { reads: 'rows', pages: 2 }, 5, 1],
    ['while it steps back', 'news', 4, { 3: remove(0) }, { reads: 'back', pages: 3 }, 6, 1],
    ['while it reads a snapshot', 'ai-signals', 4, {}, { reads: 'snapshot', pages: 1 }, 4, 3],
    [
      'just after it began anew',
      'ai-signals',
      5,
      { 3: publish(LATER) },
      { reads: 'snapshot', pages: 3 },
      7,
      2,
    ],
  ])('%s goes on there and ends like any other', async (_, job, before, edits, at, calls, lost) => {
    const bench = await setup({ rows: ROWS });
    editBefore(bench, job, { ...edits, [before]: crashAt(bench) });
    await expect(bench.mirror(job)).rejects.toThrow('not open');
    expect(checkpointOfWalk(bench)).toMatchObject(at);

    const walk = await bench.mirror(job);
    expect(walk).toMatchObject({ id: 1, anomalies: '{}', apiCalls: calls });
    expect(walk.verdict).toBe(job === 'news' ? 'verified' : 'snapshot');
    // Answers that came too late are asked for again.
    expect(bench.model.calls).toHaveLength(calls + lost);
    await expectConvergence(bench, job);
  });

  it.each(['news', 'ai-signals'])(
    'keeps its proof for %s: it still knows which rows it has met',
    async (job) => {
      const bench = await setup({ rows: ROWS, walked: [job] });
      remove(300)(bench.upstream(job));
      if (job === 'ai-signals') publish(LATER)(bench.upstream(job));
      editBefore(bench, job, { 2: crashAt(bench), 5: crashAt(bench) });
      await expect(bench.mirror(job)).rejects.toThrow('not open');
      await expect(bench.mirror(job)).rejects.toThrow('not open');
      const isWhole = job === 'ai-signals';
      expect(await bench.mirror(job)).toMatchObject(isWhole ? { deleted: 1, held: 0 } : { held: 1 });
      expect(await bench.mirror(job)).toMatchObject({ deleted: isWhole ? 0 : 1, held: 0 });
      expect(mirroredRows(bench, job)).toEqual(upstreamRows(bench, job));
    },
  );

  it.each([
    ['news', 1, 17, 'verified'],
    ['ai-signals', 8, 15, 'snapshot'],
  ])('repeats few calls of %s: at most %d', async (job, most, apiCalls, verdict) => {
    const bench = await setup({ rows: 1_500 });
    editBefore(bench, job, { 12: crashAt(bench) });
    await expect(bench.mirror(job)).rejects.toThrow('not open');
    expect(await bench.mirror(job)).toMatchObject({ verdict, apiCalls, anomalies: '{}' });
    expect(bench.model.calls.length - apiCalls).toBeLessThanOrEqual(most);
    expect(mirroredRows(bench, job)).toEqual(upstreamRows(bench, job));
  });
});

describe('a walk that has to wait', () => {
  it('notes until when and for what, in columns and in words, until it goes on', async () => {
    const bench = await setup({ rows: ROWS });
    const snooze = new Snooze(Date.parse('2026-11-21T12:30:00Z'), 'quota');
    const api = { ...bench.api, get: () => Promise.reject(snooze) };
    const { signal } = new AbortController();
    await expect(mirror(bench.job('news'), { ...bench, api }, signal)).rejects.toBe(snooze);
    const noted = () => bench.sql('SELECT status, error, waits_until, waits_for FROM walks');
    expect(noted()).toEqual([
      {
        status: 'waiting',
        error: 'waiting until 2026-11-21T12:30:00.000Z: the quota is used up',
        waits_until: '2026-11-21T12:30:00.000Z',
        waits_for: 'quota',
      },
    ]);
    expect(await bench.mirror('news')).toMatchObject({ id: 1, verdict: 'verified' });
    expect(noted()).toEqual([{ status: 'complete', error: null, waits_until: null, waits_for: null }]);
  });
});

it('a walk at whose next page nothing answers waits through any outage, though a glance came before it', async () => {
  const bench = await setup({ rows: ROWS });
  const stop = new AbortController();
  await expect(bench.mirror('news', () => stop.abort(new Error('stop')), stop.signal)).rejects.toThrow();
  await bench.glance('news');
  bench.model.faults = [when({}, faults.resetBeforeHeaders())];
  for (let run = 0; run < 5; run += 1)
    await expect(bench.mirror('news')).rejects.toMatchObject({ kind: 'unreachable' });
  bench.model.faults = [];
  expect(await bench.mirror('news')).toMatchObject({ id: 1, verdict: 'verified', pages: 5 });
});

it('a walk that began under a clock that was ahead is not gone on with: the next one begins anew, and proves something of now', async () => {
  const bench = await setup({ rows: 120 });
  const stop = new AbortController();
  bench.clock.jump(3 * DAY);
  await expect(bench.mirror('news', () => stop.abort(new Error('stop')), stop.signal)).rejects.toThrow();
  bench.clock.jump(-3 * DAY);
  const walk = await bench.mirror('news');
  expect(walk).toMatchObject({ id: 2, verdict: 'verified', startedAt: isoTime(bench.clock.now()) });
  expect(bench.sql('SELECT status, error FROM walks WHERE id = 1')).toEqual([
    { status: 'failed', error: expect.stringContaining('clock that was ahead') },
  ]);
  expect(bench.sql('SELECT DISTINCT id >> 20 AS walk FROM _walk_pages')).toEqual([{ walk: 2 }]);
});

describe('two walks of one dataset', () => {
  it('are never taken at once; those of others go on beside them', async () => {
    const bench = await setup({ rows: ROWS });
    const first = bench.mirror('news');
    await expect(bench.mirror('news')).rejects.toMatchObject({
      kind: 'incomplete',
      message: `news: process ${process.pid} is mirroring it already; try again later`,
    });
    expect(await bench.mirror('usage')).toMatchObject({ status: 'complete' });
    expect(await first).toMatchObject({ id: 1, verdict: 'verified', apiCalls: 5 });
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', inserted: 0 });
  });
});
