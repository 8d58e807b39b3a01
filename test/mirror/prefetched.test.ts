/** Calls of one walk side by side, answered in any order: what is asked for ahead of its turn, and what becomes of it. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { both, bump, change, type Edit, insert, move, publish, remove } from '../helpers/edits.ts';
import type { Bench, BenchOptions } from '../helpers/mirror-bench.ts';
import { setup as setupBench } from '../helpers/setup.ts';
import { mirroredRows, missingKeys, upstreamRows } from '../helpers/truth.ts';

/** Of ten pages, which are so small that many walks are quick. */
const ROWS = 190;
const PAGE = 20;
const AT_ONCE = 4;
const jobs = ['ai-signals', 'news'] as const;
/** The last call first, the others in turn, and as they come. */
const orders = [[3], [2, 0, 3, 1], [0]];

async function setup(options: BenchOptions = { rows: ROWS }): Promise<Bench> {
  const bench = await setupBench(options);
  bench.model.faults.push(when({}, faults.limitIgnored(PAGE)));
  return bench;
}

/** Lets calls go side by side, and edits the dataset before so many of them are answered, counted from 1. */
function letGo(bench: Bench, job: string, order: readonly number[] = [3], edits: Record<number, Edit> = {}) {
  let answered = 0;
  bench.sideBySide.allow(AT_ONCE, order);
  bench.model.beforeAnswer = async ({ query }) => {
    await bench.sideBySide.hold(Number(query['offset']));
    answered += 1;
    edits[answered]?.(bench.upstream(job));
  };
}

/** Of the calls from number `first` on. */
const offsets = ({ model }: Bench, first = 0) =>
  model.calls.slice(first).map(({ query }) => Number(query['offset']));
const mostAtOnce = ({ model }: Bench, first = 0) =>
  Math.max(...model.calls.slice(first).map(({ inFlight }) => inFlight));
const recorded = (bench: Bench) =>
  bench.sql<{ url: string; walk_id: number }>('SELECT url, walk_id FROM requests');

describe.each(jobs)('a walk over %s with calls side by side', (job) => {
  it.each(orders)('takes its pages in order, however they are answered (%j …)', async (...order) => {
    const bench = await setup();
    await bench.mirror(job);
    const oneByOne = offsets(bench).sort();
    bench.clear();
    letGo(bench, job, order);
    const walk = await bench.mirror(job);
    expect(walk.verdict).toBe(job === 'news' ? 'verified' : 'snapshot');
    expect(mirroredRows(bench, job)).toEqual(upstreamRows(bench, job));
    expect(mostAtOnce(bench)).toBe(AT_ONCE);
    // Nothing was asked for that a walk one by one does not ask for: nothing beyond the end, nor the head again.
    expect(offsets(bench, oneByOne.length).sort()).toEqual(oneByOne);
    expect(bench.sideBySide.wasted).toBe(0);
    expect(recorded(bench)).toHaveLength(oneByOne.length);
  });

  it.each([
    ['did not come', faults.refuse(503), 0],
    ['cannot be read, and records why', faults.truncated(), 1],
  ])('asks again, when its turn comes, for a page that %s', async (_, fault, unread) => {
    const bench = await setup();
    bench.model.faults.push(when({ offset: job === 'news' ? 57 : 60, nth: 1 }, fault));
    letGo(bench, job);
    const walk = await bench.mirror(job);
    expect(walk.verdict).toBe(job === 'news' ? 'verified' : 'snapshot');
    expect(missingKeys(bench, job)).toEqual([]);
    const recordedUnread = `SELECT status FROM requests WHERE error_code = 'bad_body'`;
    expect(bench.sql(recordedUnread)).toEqual(Array(unread).fill({ status: 200 }));
    if (unread) expect(bench.sideBySide.wasted).toBe(unread);
  });

  it('has each call on record where a page that was asked for ahead breaks the contract', async () => {
    const bench = await setup();
    const offset = job === 'news' ? 57 : 60;
    bench.model.faults.push(when({ offset }, faults.members({ rows: 'none' })));
    letGo(bench, job);
    await expect(bench.mirror(job)).rejects.toMatchObject({ kind: 'contract' });
    expect(mostAtOnce(bench)).toBe(AT_ONCE);
    expect(recorded(bench)).toHaveLength(bench.model.calls.length);
    const broken = bench.model.calls.find(({ query }) => Number(query['offset']) === offset);
    const found = bench.sql('SELECT status FROM requests WHERE request_id = ?', broken?.requestId ?? null);
    expect(found).toEqual([{ status: 200 }]);
  });

  it.each(['is stopped', 'crashes'])(
    'leaves nothing under way when it %s, and goes on from its last page',
    async (how) => {
      const bench = await setup();
      const stop = new AbortController();
      const end = () => (how === 'crashes' ? bench.reopen() : stop.abort(new Error('stopped')));
      letGo(bench, job, [0], { 4: end });
      await expect(bench.mirror(job, undefined, stop.signal)).rejects.toThrow();
      expect(bench.sideBySide.underWay).toBe(0);
      await bench.sideBySide.allAnswered();
      letGo(bench, job);
      expect(await bench.mirror(job)).toMatchObject({
        id: 1,
        verdict: expect.stringMatching(/snapshot|verified/),
      });
      expect(missingKeys(bench, job)).toEqual([]);
    },
  );

  it('has more than ten calls under way where that is of use, and Node.js takes that for no leak', async () => {
    const warnings: string[] = [];
    const note = ({ name }: Error) => warnings.push(name);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    const bench = await setup({ rows: 3 * ROWS });
    letGo(bench, job, [0]);
    bench.sideBySide.allow(14);
    const { beforeAnswer } = bench.model;
    bench.model.beforeAnswer = async (...call) => {
      await beforeAnswer?.(...call);
      // No answer comes before its turn.
      for (let turns = 0; turns < 20; turns += 1) await new Promise(setImmediate);
    };
    await bench.mirror(job);
    expect(mostAtOnce(bench)).toBeGreaterThan(10);
    expect(warnings).not.toContain('MaxListenersExceededWarning');
  });

  it('asks for its first page alone, and for nothing ahead in a glance', async () => {
    const bench = await setup();
    letGo(bench, job);
    await bench.mirror(job);
    expect(bench.model.calls.slice(0, 2).map(({ inFlight }) => inFlight)).toEqual([1, 1]);
    const made = bench.model.calls.length;
    insert(0, 50)(bench.upstream(job));
    await bench.glance(job);
    expect(bench.model.calls.length).toBeGreaterThan(made + 2);
    expect(mostAtOnce(bench, made)).toBe(1);
  });
});

describe('a dataset that changes while calls are side by side', () => {
  const edits: Record<string, Edit> = {
    'a row goes above': remove(2),
    'a row goes among those asked for': remove(70),
    'a row comes in above': insert(0),
    'a row comes in among those asked for': insert(70),
    'a row moves to the head': bump(90),
    'a row that was read moves to the head': bump(10),
    'one row goes above as another comes in below': (dataset) => {
      remove(2)(dataset);
      insert(140)(dataset);
    },
  };

  it.each(Object.entries(edits))(
    '%s: no proof lacks a row, in whatever order calls are answered',
    async (_, edit) => {
      const bench = await setup({ rows: 0 });
      const dataset = bench.upstream('news');
      // As they come, calls are answered in most other tests.
      for (const [at, before] of [2, 4, 6].entries()) {
        const order = orders[at % 2] ?? [];
        bench.clear();
        dataset.rows = dataset.make(ROWS);
        const made = [bench.model.calls.length, bench.sideBySide.wasted] as const;
        letGo(bench, 'news', order, { [before]: edit });
        const throughout = new Set(upstreamRows(bench, 'news').keys());
        const walk = await bench.mirror('news');
        expect(mostAtOnce(bench, made[0])).toBe(AT_ONCE);
        const mirrored = mirroredRows(bench, 'news');
        for (const key of upstreamRows(bench, 'news').keys())
          if (throughout.has(key) && walk.verdict === 'verified') expect(mirrored.has(key)).toBe(true);
        expect(bench.sideBySide.wasted - made[1]).toBeLessThanOrEqual(AT_ONCE);
        // Whatever was asked for is on record, needed or not.
        expect(recorded(bench)).toHaveLength(bench.model.calls.length - made[0]);
        expect(new Set(recorded(bench).map(({ walk_id }) => walk_id))).toEqual(new Set([walk.id]));
        await bench.sideBySide.allAnswered();
      }
    },
  );

  it('a snapshot that is replaced is begun anew, one by one', async () => {
    const bench = await setup();
    const replace: Edit = (dataset) => {
      remove(20)(dataset);
      publish('2026-01-02T00:00:00Z')(dataset);
    };
    letGo(bench, 'ai-signals', [0], { 4: replace });
    const walk = await bench.mirror('ai-signals');
    expect(walk).toMatchObject({ verdict: 'snapshot', restarts: 1 });
    expect(missingKeys(bench, 'ai-signals')).toEqual([]);
    expect(bench.sideBySide.wasted).toBeLessThanOrEqual(AT_ONCE);
    const again = offsets(bench).lastIndexOf(0);
    expect(offsets(bench, again)).toEqual([0, 20, 40, 60, 80, 100, 120, 140, 160, 180]);
  });

  it('a page before which another total was told is asked for again, lest a row be missed that has moved past it', async () => {
    const bench = await setup();
    // The page from 76 on is answered before the edit, that from 57 on behind it.
    letGo(bench, 'news', [3], { 3: both(insert(60), move(72, 86)) });
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified' });
    expect(missingKeys(bench, 'news')).toEqual([]);
  });

  it('an answer that is older than the one before takes no row back to what it was', async () => {
    const bench = await setup({ rows: ROWS, walked: ['news'] });
    // The page from 38 on is answered before that from 19 on: row 38 is on both, and changes between them.
    const { rows } = bench.upstream('news');
    const newer: Edit = change(38, { title: 'newer' });
    letGo(bench, 'news', [0, 1, 0], { 3: newer });
    await bench.mirror('news');
    const key = String(rows[38]?.[bench.upstream('news').idField]);
    expect(mirroredRows(bench, 'news').get(key)).toEqual(upstreamRows(bench, 'news').get(key));
    expect(bench.sql('SELECT 1 FROM news_history')).toHaveLength(1);
  });
});
