import { describe, expect, it } from 'vitest';
import { retryRefused } from '../../src/mirror.ts';
import { tryLock } from '../../src/store.ts';
import { change, remove } from '../helpers/edits.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { mended, quarantined, setupRefusing } from './refusing.ts';
import { setupRows } from './support.ts';

const MINUTE = 60_000;
const job = 'ai-signals';

const confidences = (bench: Bench) =>
  bench.sql(`SELECT confidence FROM ai_signals WHERE typeof(confidence) = 'text'`);

describe('a retry after a fix of the contract', () => {
  it('mirrors the rows that fit now, without a call, and empties the quarantine of them', async () => {
    const { bench, keys, walk } = await setupRefusing(1, 3);
    const calls = bench.model.calls.length;
    bench.clock.advance(MINUTE);
    expect(retryRefused(mended(bench), bench.store)).toEqual({
      job,
      tried: 2,
      mirrored: 2,
      gone: 0,
      refused: 0,
    });
    expect(bench.model.calls).toHaveLength(calls);
    expect(confidences(bench)).toHaveLength(2);
    expect(bench.table('ai_signals').get(keys[0] ?? '')).toMatchObject({
      confidence: 'high',
      _walk_id: walk.id,
      extra: null,
    });
    expect(quarantined(bench).map(({ resolved }) => resolved)).toEqual([1, 1]);
    expect(retryRefused(mended(bench), bench.store)).toMatchObject({ tried: 0 });
  });

  it('leaves those that still do not fit, with what is wrong with them now', async () => {
    const { bench } = await setupRefusing(1, 3);
    bench.tamper(`UPDATE quarantine SET body = json_set(body, '$.asset', 5) WHERE id = 2`);
    expect(retryRefused(mended(bench), bench.store)).toMatchObject({ tried: 2, mirrored: 1, refused: 1 });
    expect(retryRefused(bench.job(job), bench.store)).toMatchObject({ tried: 1, mirrored: 0, refused: 1 });
    expect(
      bench.sql(`SELECT problems ->> '$[0].path' AS path FROM quarantine WHERE resolved_at IS NULL`),
    ).toEqual([{ path: 'asset' }]);
  });

  it('puts the row that it was in place of an older version, which goes to the history', async () => {
    const bench = await setup({ rows: 5 });
    await bench.mirror(job);
    change(1, { confidence: 'high' })(bench.upstream(job));
    await bench.mirror(job);
    bench.clock.advance(MINUTE);
    retryRefused(mended(bench), bench.store);
    expect(confidences(bench)).toHaveLength(1);
    expect(bench.sql('SELECT _ended_by FROM ai_signals_history')).toEqual([{ _ended_by: 'update' }]);
  });

  it('does not bring back a row that a later walk proved to be gone', async () => {
    const { bench, keys } = await setupRefusing(1, 3);
    remove(1)(bench.upstream(job));
    await bench.mirror(job);
    bench.tamper('UPDATE quarantine SET resolved_at = NULL');
    expect(retryRefused(mended(bench), bench.store)).toEqual({
      job,
      tried: 2,
      mirrored: 1,
      gone: 1,
      refused: 0,
    });
    expect(bench.table('ai_signals').has(keys[0] ?? '')).toBe(false);
    expect(bench.table('ai_signals').has(keys[1] ?? '')).toBe(true);
  });

  it('mirrors a row of a later page after a walk that looked at the first page alone', async () => {
    const bench = await setup({ rows: 150 });
    change(120, { confidence: 'high' })(bench.upstream(job));
    const { id } = await bench.mirror(job);
    expect(await bench.mirror(job)).toMatchObject({ renewalOf: id });
    expect(retryRefused(mended(bench), bench.store)).toMatchObject({ mirrored: 1, gone: 0 });
    expect(bench.table('ai_signals').size).toBe(150);
  });

  it('keeps its rows in the walks that follow', async () => {
    const { bench } = await setupRefusing(1);
    retryRefused(mended(bench), bench.store);
    bench.upstream(job).generatedAt = new Date(bench.clock.now() + MINUTE).toISOString();
    const fixed = mended(bench);
    Object.assign(bench.job(job), fixed);
    expect(await bench.mirror(job)).toMatchObject({
      verdict: 'snapshot',
      inserted: 0,
      updated: 0,
      deleted: 0,
      quarantined: 0,
    });
  });

  it('is told at once, and once, though the walk that brought the rows changed others', async () => {
    const { bench, walk } = await setupRefusing(1, 3);
    const told = bench.store.changes.of(bench.job(job), walk);
    expect(told?.inserted).toBeGreaterThan(0);
    bench.clock.advance(MINUTE);
    retryRefused(mended(bench), bench.store);
    const [{ seq } = { seq: 0 }] = bench.sql<{ seq: number }>('SELECT max(seq) AS seq FROM changes');
    const retried = { inserted: 2, updated: 0, deleted: 0, firstSeq: seq, lastSeq: seq };
    expect(bench.store.changes.since(bench.job(job), told?.lastSeq ?? 0)).toMatchObject(retried);
    Object.assign(bench.job(job), mended(bench));
    for (const expected of [expect.objectContaining(retried), null]) {
      bench.clock.advance(MINUTE);
      bench.upstream(job).generatedAt = new Date(bench.clock.now()).toISOString();
      const proof = await bench.mirror(job);
      expect(bench.store.changes.of(bench.job(job), proof)).toEqual(expected);
      expect(bench.store.changes.since(bench.job(job), seq)).toBeNull();
    }
  });

  it('gives new fields their columns and says what else is new', async () => {
    const bench = await setupRows();
    await bench.mirrorRows('news', '{"id":1}', '{"id":2,"lang":"\\ud800"}');
    bench.tamper(`UPDATE quarantine SET body = '{"id":2,"lang":"en"}'`);
    expect(retryRefused(bench.job('news'), bench.store)).toMatchObject({ mirrored: 1 });
    expect(bench.sql('SELECT id, lang FROM news ORDER BY id')).toEqual([
      { id: 1, lang: null },
      { id: 2, lang: 'en' },
    ]);
  });

  it('mirrors a snapshot as of when it was taken', async () => {
    const bench = await setup({ rows: 3 });
    await bench.mirror('usage');
    bench.tamper(`INSERT INTO quarantine (job, identity, body, problems, walk_id, first_seen_at, last_seen_at)
      VALUES ('usage', 'x', '{"used":7}', '[]', 1, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')`);
    expect(retryRefused(bench.job('usage'), bench.store)).toMatchObject({ mirrored: 1 });
    expect(bench.sql('SELECT _fetched_at, used FROM usage WHERE used IS NOT NULL')).toEqual([
      { _fetched_at: '2026-01-01T00:00:00.000Z', used: 7 },
    ]);
  });

  it('is one transaction: where a row cannot be written, none is, and the quarantine stays', async () => {
    const { bench, keys } = await setupRefusing(1, 3);
    bench.tamper(
      `CREATE TRIGGER fails BEFORE INSERT ON ai_signals_rows WHEN NEW._key = '${keys[1]}' BEGIN SELECT raise(ABORT, 'no'); END`,
    );
    expect(() => retryRefused(mended(bench), bench.store)).toThrow('no');
    expect(confidences(bench)).toEqual([]);
    expect(quarantined(bench).map(({ resolved }) => resolved)).toEqual([0, 0]);
    bench.tamper('DROP TRIGGER fails');
    expect(retryRefused(mended(bench), bench.store)).toMatchObject({ mirrored: 2 });
  });

  it('does not run beside a walk of the same job', async () => {
    const { bench } = await setupRefusing(1);
    const lock = tryLock(bench.dir, job);
    expect(() => retryRefused(mended(bench), bench.store)).toThrow(
      expect.objectContaining({
        kind: 'incomplete',
        message: expect.stringContaining(`process ${process.pid} is mirroring it`),
      }),
    );
    expect(confidences(bench)).toEqual([]);
    if ('release' in lock) lock.release();
    expect(retryRefused(mended(bench), bench.store)).toMatchObject({ mirrored: 1 });
  });
});
