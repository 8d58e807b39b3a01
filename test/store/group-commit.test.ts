import { describe, expect, it, onTestFinished } from 'vitest';
import type { Row } from '../../model-api/index.ts';
import type { Call } from '../../src/api/response.ts';
import type { CheckedRows } from '../../src/validate/checked.ts';
import { beginning, type MetRowsChange } from '../../src/walk/checkpoint.ts';
import { change, editBefore } from '../helpers/edits.ts';
import { setup } from '../helpers/setup.ts';
import { mirroredRows, upstreamRows } from '../helpers/truth.ts';
import { checkSignals, signal, signalPage } from '../validate/support.ts';

const ROWS = 250;

describe('a page', () => {
  // The walk's place, the rows met and the call are written last, in this order or another.
  it.each(['UPDATE OF next_offset ON walks', 'INSERT ON rows_met', 'INSERT ON requests'])(
    'is saved with its place or not at all: a failure at %s leaves no row of it',
    async (write) => {
      const bench = await setup({ rows: ROWS });
      editBefore(bench, 'news', {
        2: () =>
          bench.tamper(`CREATE TRIGGER disk_fails BEFORE ${write} BEGIN SELECT raise(ABORT, 'disk'); END`),
      });
      await expect(bench.mirror('news')).rejects.toThrow('disk');
      expect(mirroredRows(bench, 'news').size).toBe(100);
      expect(bench.sql('SELECT next_offset, distinct_keys FROM walks')).toEqual([
        { next_offset: 100, distinct_keys: 100 },
      ]);
      expect(bench.sql('SELECT part, length(rowids) > 1 AS areMany FROM rows_met')).toEqual([
        { part: 'rows', areMany: 1 },
      ]);

      bench.tamper('DROP TRIGGER disk_fails');
      expect(await bench.mirror('news')).toMatchObject({
        verdict: 'verified',
        rows: ROWS,
        distinctKeys: ROWS,
      });
      expect(mirroredRows(bench, 'news')).toEqual(upstreamRows(bench, 'news'));
    },
  );

  it('stays, and so does its walk, where the end of the walk cannot be written', async () => {
    const { bench, session, save, upstream } = await setupWaiting(1);
    save(pageOf({ ...upstream.rows[0], headline: 'corrected' }));
    bench.tamper(
      `CREATE TRIGGER disk_fails BEFORE UPDATE OF status ON walks BEGIN SELECT raise(ABORT, 'disk'); END`,
    );
    await expect(session.finish({ verdict: 'union' }, new AbortController().signal)).rejects.toThrow('disk');
    expect(bench.sql('SELECT headline FROM news')).toEqual([{ headline: 'corrected' }]);
    expect(bench.sql('SELECT status FROM walks')).toEqual([{ status: 'complete' }, { status: 'running' }]);
  });

  it('that cannot be saved takes nothing of itself along when the pages before it are', async () => {
    const bench = await setup({ rows: ROWS, walked: ['news'] });
    change(150, { headline: 'corrected' })(bench.upstream('news'));
    bench.tamper(
      `CREATE TRIGGER disk_fails BEFORE UPDATE ON news_rows BEGIN SELECT raise(ABORT, 'disk'); END`,
    );
    await expect(bench.mirror('news')).rejects.toThrow('disk');
    bench.tamper('DROP TRIGGER disk_fails');
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', updated: 1, anomalies: '{}' });
    expect(mirroredRows(bench, 'news')).toEqual(upstreamRows(bench, 'news'));
  });
});

/** A page of the news, of these rows of the API. */
function pageOf(...rows: readonly (Row | undefined)[]): CheckedRows {
  const keys = rows.map((row) => String(row?.['id']));
  const accepted = rows.map((row) => ({ key: String(row?.['id']), values: { _body: JSON.stringify(row) } }));
  return { keys, accepted, refused: [], drifts: [], fields: { rows: 0, fields: [] } };
}

/** A page whose one row is refused. */
const refusedPage = (key: string | null): CheckedRows => ({
  ...pageOf(),
  keys: [key],
  refused: [{ key, identity: String(key), body: '{}', problems: [] }],
});

/** A walk over so many rows that are mirrored already; its pages wait. */
async function setupWaiting(rows: number, job = 'news') {
  const bench = await setup({ rows });
  await bench.mirror(job);
  const session = bench.store.openWalk(bench.job(job));
  onTestFinished(() => session.release());
  const outcome = { requestId: null, rateLimit: null, rateRemaining: null, errorCode: null, walkId: null };
  const call: Call = { at: '', job, url: '/', status: 200, ms: 1, bytes: 1, ...outcome };
  let pages = 0;
  const save = (page: CheckedRows, metRows: MetRowsChange = 'add') => {
    const found = session.lookUp(page);
    pages += 1;
    session.savePage({ page: { ...page, call }, checkpoint: { ...beginning, pages }, metRows });
    return found;
  };
  return { bench, session, save, upstream: bench.upstream(job) };
}

describe('while a page waits', () => {
  it.each<MetRowsChange>(['add', 'skip'])(
    'a look-up says of the next what it would say behind its commit, where its rows are met by "%s"',
    async (metRows) => {
      const { session, save, upstream } = await setupWaiting(4);
      const { rows, make } = upstream;
      change(1, { headline: 'corrected' })(upstream);
      const [fresh, unmet] = make(2);
      const second = pageOf(rows[0], rows[1], fresh, rows[2], unmet);
      save(pageOf(rows[0], rows[1], fresh), metRows);
      const waiting = session.lookUp(second);
      session.commit();
      expect(waiting).toEqual(session.lookUp(second));
      expect(waiting.known).toEqual([true, false, false, true, false]);
      expect(waiting.met).toEqual([true, true, true, false, false].map((met) => met && metRows === 'add'));
    },
  );

  it('a row that it showed unchanged and has changed since is written with it', async () => {
    const { bench, session, save, upstream } = await setupWaiting(2);
    const [row, other] = upstream.rows;
    save(pageOf(row, other));
    expect(save(pageOf({ ...row, headline: 'corrected' }))).toEqual({ met: [true], known: [true] });
    session.commit();
    expect(bench.sql(`SELECT headline FROM news WHERE _key = '${row?.['id']}'`)).toEqual([
      { headline: 'corrected' },
    ]);
    expect(session.row).toMatchObject({ updated: 1, distinctKeys: 2 });
  });

  it('a row that it showed unchanged and that is refused since is known to have been met', async () => {
    const { session, save, upstream } = await setupWaiting(2);
    save(pageOf(upstream.rows[0]));
    expect(session.lookUp(refusedPage(String(upstream.rows[0]?.['id'])))).toEqual({
      met: [true],
      known: [true],
    });
  });

  it('a row that it changed and that is refused since is no longer one that the mirror knew', async () => {
    const { session, save, upstream } = await setupWaiting(2);
    save(pageOf({ ...upstream.rows[0], headline: 'corrected' }));
    expect(session.lookUp(refusedPage(String(upstream.rows[0]?.['id'])))).toEqual({
      met: [true],
      known: [false],
    });
  });

  it('a refused row of another key waits with it', async () => {
    const { bench, save, upstream } = await setupWaiting(2);
    save(pageOf({ ...upstream.rows[0], headline: 'corrected' }));
    save(refusedPage('another'));
    expect(bench.sql("SELECT 1 FROM news WHERE headline = 'corrected'")).toEqual([]);
  });

  it('a refused row is not known under a key that nothing has, and not met without a key', async () => {
    const { session, save } = await setupWaiting(2);
    expect(save(refusedPage('another'))).toEqual({ met: [false], known: [false] });
    expect(save(refusedPage(null))).toEqual({ met: [false], known: [false] });
    session.commit();
    expect(session.row).toMatchObject({ distinctKeys: 1, quarantined: 2 });
  });

  it('a row that it refused, as an earlier walk did, is no longer one that the mirror knew', async () => {
    const { bench, session, save } = await setupWaiting(2);
    save(refusedPage('another'));
    session.commit();
    bench.tamper('UPDATE quarantine SET walk_id = 1');
    expect(save(refusedPage('another'))).toEqual({ met: [true], known: [true] });
    expect(session.lookUp(refusedPage('another'))).toEqual({ met: [true], known: [false] });
  });

  it('a row of which it showed another version has both, though they differ in one column', async () => {
    const { bench, session, save } = await setupWaiting(1, 'ai-signals');
    for (const confidence of [0.5, 0.25, 0.125]) save(checkSignals(signalPage([signal({ confidence })])));
    session.commit();
    expect(bench.sql('SELECT confidence FROM ai_signals_history ORDER BY _valid_from')).toEqual([
      { confidence: 0.5 },
      { confidence: 0.25 },
    ]);
    // Both commits are known before the walk ends.
    const seqs =
      'SELECT last_seq > first_seq AS grew, last_seq = (SELECT max(seq) FROM changes) AS reached FROM walks WHERE id = 2';
    expect(bench.sql(seqs)).toEqual([{ grew: 1, reached: 1 }]);
  });
});
