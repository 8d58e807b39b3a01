import { describe, expect, it, test } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { Snooze } from '../../src/errors.ts';
import { mirror, type Progress } from '../../src/mirror.ts';
import { both, change, type Edit, editBefore, insert, publish } from '../helpers/edits.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { mirroredRows, upstreamRows } from '../helpers/truth.ts';

const ROWS = 450;

const commits = (bench: Bench) => bench.sql('SELECT rows FROM commits').map(({ rows }) => rows);

/** Notes of each commit how many rows the walk had read behind it. */
async function setupCounted(rows = ROWS, job = 'news'): Promise<Bench> {
  const bench = await setup({ rows, ample: true });
  bench.tamper(
    `CREATE TABLE commits (rows);
     CREATE TRIGGER counts AFTER UPDATE OF next_offset ON walks WHEN new.job = '${job}'
     BEGIN INSERT INTO commits VALUES (new.rows); END`,
  );
  return bench;
}

/** The disk fails at the row that stands there now. */
const failAt = (bench: Bench, at: number) =>
  bench.tamper(
    `CREATE TRIGGER disk_fails BEFORE INSERT ON news_rows WHEN new._key = '${bench.upstream('news').rows[at]?.['id']}'
     BEGIN SELECT raise(ABORT, 'disk'); END`,
  );

const heldAt =
  (bench: Bench, seen: number[]): Edit =>
  () =>
    void seen.push(mirroredRows(bench, 'news').size);

describe('pages that come one after the other', () => {
  it('share a commit, of which all is known at once', async () => {
    const bench = await setupCounted();
    const told: Progress[] = [];
    const walk = await bench.mirror('news', (at) => void told.push({ ...at, walk: { ...at.walk } }));
    expect(walk).toMatchObject({ verdict: 'verified', rows: ROWS, distinctKeys: ROWS, anomalies: '{}' });
    expect(walk).toMatchObject({ total: ROWS, totalFirst: ROWS });
    expect(commits(bench)).toEqual([ROWS]);
    expect(told).toMatchObject([{ walk: { rows: ROWS, pages: 6 }, saved: { inserted: ROWS } }]);
    expect(mirroredRows(bench, 'news')).toEqual(upstreamRows(bench, 'news'));
    expect(bench.sql('SELECT count(*) AS calls FROM requests')).toEqual([{ calls: 6 }]);
    const inOrder = bench.upstream('news').rows.map(({ id }) => ({ id }));
    expect(bench.sql('SELECT _key AS id FROM news_rows ORDER BY rowid')).toEqual(inOrder);
  });

  it('are the same change, under one number', async () => {
    const bench = await setupCounted();
    const { firstSeq, lastSeq } = await bench.mirror('news');
    expect(firstSeq).toBe(lastSeq);
    expect(bench.sql('SELECT DISTINCT _changed_at AS at FROM news')).toEqual([
      { at: new Date(Number(lastSeq)).toISOString() },
    ]);
    // Of one row, on one of the pages.
    change(10, { headline: 'corrected' })(bench.upstream('news'));
    expect((await bench.mirror('news')).lastSeq).toBeGreaterThan(Number(lastSeq));
  });

  it('are at most twenty, or 1,300 rows to write', async () => {
    const bench = await setupCounted(3_000, 'ai-signals');
    await bench.mirror('ai-signals');
    expect(commits(bench)).toEqual([1_300, 2_600, 3_000]);
    publish('2026-01-02T03:04:05Z')(bench.upstream('ai-signals'));
    expect(await bench.mirror('ai-signals')).toMatchObject({ inserted: 0, updated: 0, rows: 3_000 });
    expect(commits(bench)).toEqual([1_300, 2_600, 3_000, 2_000, 3_000]);
  });

  it('wait no longer than a quarter of a second for a slow answer', async () => {
    const bench = await setupCounted();
    const seen: number[] = [];
    const look = heldAt(bench, seen);
    const wait = (ms: number): Edit => both(() => bench.clock.advance(ms), look);
    editBefore(bench, 'news', { 2: wait(249), 3: wait(1), 4: look, 5: wait(250) });
    await bench.mirror('news');
    expect(seen).toEqual([0, 199, 199, 397]);
    expect(mirroredRows(bench, 'news')).toEqual(upstreamRows(bench, 'news'));
  });

  it('are committed before a call that has to wait for leave', async () => {
    const bench = await setupCounted();
    const seen: number[] = [];
    const scarce: Edit = () => {
      bench.ample = false;
    };
    editBefore(bench, 'news', { 3: both(scarce, heldAt(bench, seen)), 4: heldAt(bench, seen) });
    await bench.mirror('news');
    expect(seen).toEqual([0, 298]);
  });

  it('are committed before a call is repeated', async () => {
    const bench = await setupCounted();
    const seen: number[] = [];
    bench.model.faults = [when({ nth: 3 }, faults.resetBeforeHeaders())];
    editBefore(bench, 'news', { 4: heldAt(bench, seen) });
    const endless = { after: () => () => undefined };
    await mirror(bench.job('news'), { ...bench, clock: endless }, new AbortController().signal);
    expect(seen).toEqual([199]);
  });
});

describe('pages that wait while a walk is left', () => {
  it.each(['is stopped', 'fails'])('are committed as it %s', async (how) => {
    const bench = await setupCounted();
    const stop = new AbortController();
    const fail = () => void bench.model.faults.push(when({}, faults.contentType('left')));
    const leave = () => (how === 'fails' ? fail() : stop.abort(new Error('left')));
    editBefore(bench, 'news', { 4: leave });
    await expect(bench.mirror('news', undefined, stop.signal)).rejects.toThrow('left');
    expect(commits(bench)).toEqual([298]);
    expect(bench.sql('SELECT next_offset FROM walks')).toEqual([{ next_offset: 298 }]);
    bench.model.faults = [];
    expect(await bench.mirror('news')).toMatchObject({ id: 1, verdict: 'verified', distinctKeys: ROWS });
  });

  it('are committed where it has to wait for long', async () => {
    const bench = await setupCounted();
    const snooze = new Snooze(bench.clock.now() + 60_000, 'quota');
    await expect(mirrorUntil(bench, 3, snooze)).rejects.toBe(snooze);
    expect(commits(bench)).toEqual([298]);
  });

  it('and cannot be committed are told of, whatever it was left for', async () => {
    const bench = await setupCounted();
    failAt(bench, 250);
    await expect(mirrorUntil(bench, 3, new Snooze(bench.clock.now(), 'quota'))).rejects.toThrow('disk');
    expect(bench.sql('SELECT status, error, next_offset FROM walks')).toEqual([
      { status: 'failed', error: expect.stringContaining('disk'), next_offset: 0 },
    ]);
    expect(mirroredRows(bench, 'news').size).toBe(0);
  });

  it('and cannot be committed are told of also where the row of the walk cannot be written', async () => {
    const bench = await setupCounted();
    failAt(bench, 250);
    bench.tamper(
      `CREATE TRIGGER row_fails BEFORE UPDATE OF error ON walks BEGIN SELECT raise(ABORT, 'no row'); END`,
    );
    const left = mirrorUntil(bench, 3, new Snooze(bench.clock.now(), 'quota'));
    await expect(left).rejects.toThrow('disk');
  });
});

test('the call of a page that came as the walk was stopped is recorded, though the page is not kept', async () => {
  const bench = await setupCounted();
  const stop = new AbortController();
  const api = {
    ...bench.api,
    async get(...args: Parameters<typeof bench.api.get>) {
      const response = await bench.api.get(...args);
      if (bench.model.calls.length === 3) stop.abort(new Error('stopped'));
      return response;
    },
  };
  await expect(mirror(bench.job('news'), { ...bench, api }, stop.signal)).rejects.toThrow('stopped');
  expect(commits(bench)).toEqual([199]);
  expect(bench.sql('SELECT status FROM requests')).toEqual(Array(3).fill({ status: 200 }));
});

/** Mirrors the news, and throws instead of the call behind so many pages. */
function mirrorUntil(bench: Bench, pages: number, thrown: Error) {
  let calls = 0;
  const api = {
    ...bench.api,
    get: (...args: Parameters<typeof bench.api.get>) => {
      calls += 1;
      return calls > pages ? Promise.reject(thrown) : bench.api.get(...args);
    },
  };
  return mirror(bench.job('news'), { ...bench, api }, new AbortController().signal);
}

describe('a commit of several pages that fails', () => {
  it('leaves nothing of any of them, and the next run brings them again', async () => {
    const bench = await setupCounted(2_500);
    failAt(bench, 2_200);
    await expect(bench.mirror('news')).rejects.toThrow('disk');
    expect(bench.sql('SELECT pages, inserted, api_calls, distinct_keys FROM walks')).toEqual([
      { pages: 14, inserted: 1_387, api_calls: 14, distinct_keys: 1_387 },
    ]);
    expect(mirroredRows(bench, 'news').size).toBe(1_387);
    expect(bench.sql('SELECT count(*) AS calls FROM requests')).toEqual([{ calls: 14 }]);
    bench.tamper('DROP TRIGGER disk_fails');
    const whole = { verdict: 'verified', inserted: 2_500, distinctKeys: 2_500, anomalies: '{}' };
    expect(await bench.mirror('news')).toMatchObject(whole);
    expect(mirroredRows(bench, 'news')).toEqual(upstreamRows(bench, 'news'));
  });

  it('ends the walk also where nobody waited for it', async () => {
    const bench = await setupCounted();
    failAt(bench, 50);
    const mend: Edit = () => {
      bench.clock.advance(250);
      bench.tamper('DROP TRIGGER disk_fails');
    };
    editBefore(bench, 'news', { 3: mend });
    await expect(bench.mirror('news')).rejects.toThrow('disk');
    expect(bench.sql('SELECT pages, distinct_keys FROM walks')).toEqual([{ pages: 0, distinct_keys: 0 }]);
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', inserted: ROWS });
  });
});

describe('a page that shows rows of one that waits', () => {
  it('knows them as met, however many they are', async () => {
    const bench = await setupCounted();
    editBefore(bench, 'news', { 3: insert(0, 60) });
    const whole = { verdict: 'verified', inserted: ROWS + 60, distinctKeys: ROWS + 60, anomalies: '{}' };
    expect(await bench.mirror('news')).toMatchObject(whole);
    expect(commits(bench)).toEqual([ROWS + 60]);
    expect(mirroredRows(bench, 'news')).toEqual(upstreamRows(bench, 'news'));
  });

  it('follows its commit where a row has changed meanwhile: both versions are kept', async () => {
    const bench = await setupCounted();
    const { rows } = bench.upstream('news');
    const [first, second] = [rows[99]?.['headline'], 'corrected'];
    editBefore(bench, 'news', { 2: change(99, { headline: second }) });
    await bench.mirror('news');
    expect(commits(bench)[0]).toBe(100);
    const [was] = bench.sql(
      'SELECT _body ->> \'headline\' AS headline, _valid_from AS "from", _valid_to AS "to" FROM news_history',
    );
    expect(was).toMatchObject({ headline: first });
    expect(String(was?.['from']) < String(was?.['to'])).toBe(true);
    expect(mirroredRows(bench, 'news')).toEqual(upstreamRows(bench, 'news'));
  });

  it('is looked at row by row where it shows a row as it is stored, which waits as another one', async () => {
    const bench = await setup({ rows: ROWS, walked: ['news'] });
    const [stored, second] = [bench.upstream('news').rows[198]?.['headline'], 'corrected'];
    const ample: Edit = () => {
      bench.ample = true;
    };
    editBefore(bench, 'news', {
      2: both(change(198, { headline: second }), ample),
      3: change(198, { headline: stored }),
    });
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', updated: 2 });
    const were = "SELECT _body ->> 'headline' AS headline FROM news_history ORDER BY _valid_from";
    expect(bench.sql(were)).toEqual([{ headline: stored }, { headline: second }]);
    expect(mirroredRows(bench, 'news')).toEqual(upstreamRows(bench, 'news'));
  });

  it('counts a refused row as met, and as refused each time it comes', async () => {
    const bench = await setupCounted();
    const { rows } = bench.upstream('news');
    const id = String(rows[99]?.['id']);
    // A name that comes twice is refused.
    const twice = faults.editText((text) => text.replace(`{"id":"${id}"`, `{"id":"${id}","id":"${id}"`));
    bench.model.faults = [when({}, twice)];
    const walk = await bench.mirror('news');
    expect(walk).toMatchObject({ verdict: 'verified', distinctKeys: ROWS, inserted: ROWS - 1 });
    expect(bench.sql('SELECT key, times FROM quarantine')).toEqual([{ key: id, times: 3 }]);
  });

  it('forgets them where the walk begins anew', async () => {
    const bench = await setupCounted(ROWS, 'ai-signals');
    editBefore(bench, 'ai-signals', { 3: publish('2026-01-02T03:04:05Z') });
    const whole = { verdict: 'snapshot', restarts: 1, distinctKeys: ROWS, anomalies: '{}' };
    expect(await bench.mirror('ai-signals')).toMatchObject(whole);
    expect(bench.sql('SELECT * FROM ai_signals WHERE _held_since IS NOT NULL')).toEqual([]);
  });
});
