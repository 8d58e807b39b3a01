import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { faults, type Row, sampleKey, when } from '../../model-api/index.ts';
import { isoTime } from '../../src/base/clock.ts';
import { Database } from '../../src/store/sqlite.ts';
import type { WalkRow } from '../../src/store.ts';
import { both, insert, publish, remove, replaceAll } from '../helpers/edits.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { compiledFolder } from '../helpers/program-file.ts';
import { provenIn } from '../helpers/proven.ts';
import { setup } from '../helpers/setup.ts';
import { keysNow, setupPages, upstreamKeys } from '../reading/pages/support.ts';

const HOUR = 3_600_000;
const ANEW = '2026-01-02T03:04:05Z';
const rowsOf = (bench: Bench) => bench.table('news').size;
const heldIn = (bench: Bench, table = 'news') =>
  bench
    .sql(`SELECT _held_reason AS reason FROM ${table} WHERE _held_since IS NOT NULL`)
    .map(({ reason }) => reason);

/** Mirrors so many rows and then takes some away upstream. */
async function setupGone(rows: number, ...gone: Parameters<typeof remove>): Promise<[Bench, Row[]]> {
  const bench = await setup({ rows, walked: ['news'] });
  const before = bench.upstream('news').rows.slice();
  remove(...gone)(bench.upstream('news'));
  return [bench, before.slice(gone[0], gone[0] + (gone[1] ?? 1))];
}

/** Makes the next walk prove nothing, though it meets every row. */
const unproven = () => when({ from: 1, to: 1 }, faults.pagination({ offset: 1 }));

describe('a row that is gone upstream', () => {
  it('leaves a list of which nobody says that it is whole after two proofs, and is held from the first to the second', async () => {
    const [bench, [gone]] = await setupGone(50, 20);
    const seqs = 'SELECT max(seq), (SELECT max(last_seq) FROM _datasets) FROM changes';
    const seq = bench.sql(seqs);
    const row = bench.table('news').get(String(gone?.['id']));
    bench.clock.advance(HOUR);
    expect(await bench.mirror('news')).toMatchObject({
      verdict: 'verified',
      deleted: 0,
      held: 1,
      updated: 0,
    });
    expect(bench.sql('SELECT * FROM news WHERE _held_since IS NOT NULL')).toEqual([
      { ...row, _held_since: isoTime(bench.clock.now()), _held_reason: 'unproven' },
    ]);
    expect(bench.sql("SELECT rows, held FROM freshness WHERE job = 'news'")).toEqual([{ rows: 50, held: 1 }]);
    expect(bench.sql('SELECT * FROM news_history')).toEqual([]);
    expect(bench.sql(seqs)).toEqual(seq);
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', deleted: 1, held: 0 });
    expect(rowsOf(bench)).toBe(49);
    expect(heldIn(bench)).toEqual([]);
  });

  it('leaves a published snapshot with the first proof, since that is what the API publishes', async () => {
    const bench = await setup({ rows: 250, walked: ['ai-signals'] });
    both(remove(120, 20), publish(ANEW))(bench.upstream('ai-signals'));
    expect(await bench.mirror('ai-signals')).toMatchObject({ verdict: 'snapshot', deleted: 20, held: 0 });
    expect(bench.table('ai_signals').size).toBe(230);
  });

  it('stays while walks prove nothing, which neither hold it nor count between two proofs', async () => {
    const [bench] = await setupGone(50, 20);
    const union = { verdict: 'union', deleted: 0 };
    bench.model.faults = [unproven(), when({ from: 3, to: 3 }, faults.pagination({ offset: 1 }))];
    expect(await bench.mirror('news')).toMatchObject(union);
    expect(heldIn(bench)).toEqual([]);
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', deleted: 0, held: 1 });
    expect(await bench.mirror('news')).toMatchObject(union);
    expect(rowsOf(bench)).toBe(50);
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', deleted: 1 });
  });

  it.each([
    ['proved its presence', 'verified', () => []],
    ['met it and proved nothing', 'union', () => [unproven()]],
  ])('stays where a walk between two proofs of absence %s', async (_, verdict, script) => {
    const [bench, gone] = await setupGone(50, 20);
    await bench.mirror('news');
    bench.upstream('news').rows.splice(20, 0, ...gone);
    bench.model.faults = script();
    expect(await bench.mirror('news')).toMatchObject({ verdict });
    expect(heldIn(bench)).toEqual([]);
    remove(20)(bench.upstream('news'));
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', deleted: 0 });
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', deleted: 1 });
  });

  it('stays where a walk between two proofs of absence met it and was given up', async () => {
    const [bench, gone] = await setupGone(50, 20);
    await bench.mirror('news');
    bench.upstream('news').rows.splice(20, 0, ...gone);
    bench.model.faults = [when({}, faults.pagination({ hasMore: true }))];
    await expect(bench.mirror('news')).rejects.toMatchObject({ kind: 'incomplete' });
    expect(heldIn(bench)).toEqual([]);
  });
});

describe('a row that is held', () => {
  /** Is held since the last walk; put back where it was, changed as given. */
  async function setupHeld(job: string, changes: Row = {}) {
    const bench = await setup({ rows: 250 });
    publish(null)(bench.upstream('ai-signals'));
    const { rows } = bench.upstream(job);
    await bench.mirror(job);
    const [gone] = rows.splice(20, 1);
    expect(await bench.mirror(job)).toMatchObject({ verdict: 'verified', held: 1 });
    rows.splice(20, 0, { ...gone, ...changes });
    return { bench, key: String(gone?.['id']) };
  }
  it('no longer is as soon as a page that shows it is saved, though the walk breaks off behind it', async () => {
    const { bench } = await setupHeld('news');
    bench.model.faults = [when({ from: 2 }, faults.status(500))];
    await expect(bench.mirror('news')).rejects.toThrow();
    expect(bench.sql('SELECT status FROM walks ORDER BY id DESC LIMIT 1')).toEqual([{ status: 'failed' }]);
    expect(heldIn(bench)).toEqual([]);
  });

  it('no longer is where it comes with other values, which are a version as ever', async () => {
    const { bench, key } = await setupHeld('news', { headline: 'another' });
    expect(await bench.mirror('news')).toMatchObject({ updated: 1, deleted: 0, held: 0 });
    expect(bench.table('news').get(key)).toMatchObject({ headline: 'another', _held_since: null });
    expect(bench.sql('SELECT _ended_by FROM news_history')).toEqual([{ _ended_by: 'update' }]);
  });

  it('no longer is where it comes broken: it is refused, and the version before it stays', async () => {
    const { bench, key } = await setupHeld('ai-signals', { confidence: 'high' });
    expect(await bench.mirror('ai-signals')).toMatchObject({ verdict: 'verified', held: 0 });
    expect(bench.sql('SELECT key FROM quarantine')).toEqual([{ key }]);
    expect(bench.table('ai_signals').get(key)).toMatchObject({ _held_since: null, _held_reason: null });
  });
});

describe('a snapshot of the usage', () => {
  it('is never removed, however many others follow', async () => {
    const bench = await setup();
    for (let poll = 0; poll < 5; poll += 1) {
      await bench.mirror('usage');
      bench.clock.advance(HOUR);
    }
    expect(bench.table('usage').size).toBe(5);
    expect(heldIn(bench, 'usage')).toEqual([]);
  });
});

describe('a removal', () => {
  it.each([
    ['more than a fifth of the list', 50, 11, true],
    ['ten rows, and more than a fifth', 30, 10, true],
    ['the whole of a small list', 3, 3, true],
  ])('of %s', async (_, rows, gone, isMuch) => {
    const [bench] = await setupGone(rows, 0, gone);
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', deleted: 0, held: gone });
    expect(new Set(heldIn(bench))).toEqual(new Set([isMuch ? 'mass' : 'unproven']));
    expect(await bench.mirror('news')).toMatchObject({ deleted: gone, held: 0 });

    const signals = bench.upstream('ai-signals');
    await bench.mirror('ai-signals');
    both(remove(0, gone), publish(ANEW))(signals);
    const first = isMuch ? { deleted: 0, held: gone } : { deleted: gone, held: 0 };
    expect(await bench.mirror('ai-signals')).toMatchObject({ verdict: 'snapshot', ...first });
    expect(heldIn(bench, 'ai_signals')).toEqual(isMuch ? Array(gone).fill('mass') : []);
    const second = isMuch ? { deleted: gone, held: 0 } : { deleted: 0, held: 0 };
    expect(await bench.mirror('ai-signals')).toMatchObject({ verdict: 'snapshot', ...second });
    expect(bench.table('ai_signals').size).toBe(rows - gone);
  });

  it('of all rows is not much where as many others have come', async () => {
    const bench = await setup({ rows: 50, walked: ['ai-signals'] });
    both(remove(0, 50), insert(0, 50), publish(ANEW))(bench.upstream('ai-signals'));
    expect(await bench.mirror('ai-signals')).toMatchObject({ inserted: 50, deleted: 50, held: 0 });
  });

  it('happens with the end of its walk or not at all', async () => {
    const [bench] = await setupGone(50, 0, 5);
    await bench.mirror('news');
    bench.tamper(
      `CREATE TRIGGER disk_fails BEFORE UPDATE OF finished_at ON walks BEGIN SELECT raise(ABORT, 'disk'); END`,
    );
    await expect(bench.mirror('news')).rejects.toThrow('disk');
    expect(rowsOf(bench)).toBe(50);
    expect(heldIn(bench)).toEqual(Array(5).fill('unproven'));
    expect(bench.sql('SELECT * FROM news_history')).toEqual([]);

    bench.tamper('DROP TRIGGER disk_fails');
    expect(await bench.mirror('news')).toMatchObject({ id: 3, deleted: 5 });
  });

  it('leaves out a row that the walk meets after it was interrupted at its end', async () => {
    const [bench, gone] = await setupGone(150, 120);
    await bench.mirror('news');
    bench.tamper(
      `CREATE TRIGGER disk_fails BEFORE UPDATE OF finished_at ON walks BEGIN SELECT raise(ABORT, 'disk'); END`,
    );
    await expect(bench.mirror('news')).rejects.toThrow('disk');
    bench.tamper('DROP TRIGGER disk_fails');
    bench.upstream('news').rows.unshift(...gone);
    expect(await bench.mirror('news')).toMatchObject({ id: 3, deleted: 0 });
    expect(heldIn(bench)).toEqual([]);
  });
});

describe('a removal of many rows', () => {
  const ROWS = 240;

  /** All rows of the list have others in their place, and the proof that holds them is there; the next one removes them. */
  async function setupReplaced(): Promise<Bench> {
    const bench = await setup({ rows: ROWS, walked: ['news'] });
    replaceAll(bench.upstream('news'));
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', held: ROWS, deleted: 0 });
    bench.clock.advance(HOUR);
    return bench;
  }

  function expectRemoved(bench: Bench, walk: WalkRow): void {
    expect(walk).toMatchObject({ verdict: 'verified', deleted: ROWS, held: 0, drifted: 0 });
    const deletions = `SELECT walk_id, count(*) AS rows, count(DISTINCT seq) AS commits FROM changes WHERE change = 'delete' GROUP BY walk_id`;
    expect(bench.sql(deletions)).toEqual([{ walk_id: walk.id, rows: ROWS, commits: 1 }]);
    expect(provenIn(bench.store).of(bench.job('news'), walk)).toMatchObject({ deleted: ROWS });
    expect(bench.table('news').size).toBe(ROWS);
    expect(keysNow(bench, setupPages(bench), 'news')).toEqual(upstreamKeys(bench, 'news'));
  }

  it('is one commit, with one number, and is told once', async () => {
    const bench = await setupReplaced();
    expectRemoved(bench, await bench.mirror('news'));
    const next = await bench.mirror('news');
    expect(next).toMatchObject({ verdict: 'verified', inserted: 0, deleted: 0 });
    expect(provenIn(bench.store).of(bench.job('news'), next)).toBeNull();
  });

  it('that is killed has not begun: all rows are there and shown as before, and the next run removes them', async () => {
    const bench = await setupReplaced();
    const pages = setupPages(bench);
    const before = keysNow(bench, pages, 'news');
    bench.tamper(
      `CREATE TRIGGER stops BEFORE DELETE ON _news_rows WHEN (SELECT count(*) FROM _news_rows) <= 300
       BEGIN SELECT (WITH RECURSIVE turns(n) AS (SELECT 1 UNION ALL SELECT 2 FROM turns) SELECT count(*) FROM turns); END`,
    );
    await killedWithinCommit(bench, ['sync', 'news']);
    bench.tamper('DROP TRIGGER stops');
    expect(heldIn(bench)).toEqual(Array(ROWS).fill('unproven'));
    expect(bench.sql('SELECT * FROM news_history')).toEqual([]);
    expect(keysNow(bench, pages, 'news')).toEqual(before);
    expectRemoved(bench, await bench.mirror('news'));
  });

  /** Runs the program, and kills it within a transaction that does not end. */
  async function killedWithinCommit(bench: Bench, args: string[]): Promise<void> {
    const env = { MIRROR_DIR: bench.dir, MARKET_API_URL: bench.model.url, MARKET_API_KEY: sampleKey.key };
    const program = join(compiledFolder(), 'dist/src/cli.js');
    const child = spawn(process.execPath, [program, ...args], { env, cwd: bench.dir });
    onTestFinished(() => void child.kill('SIGKILL'));
    const ended = once(child, 'exit');
    // A page is saved in less time.
    const isStuck = () => {
      const connection = new Database(bench.store.file, { timeout: 2_000 });
      try {
        connection.exec('BEGIN IMMEDIATE; ROLLBACK');
        return false;
      } catch {
        return true;
      } finally {
        connection.close();
      }
    };
    while (child.exitCode === null && !isStuck()) await new Promise(setImmediate);
    child.kill('SIGKILL');
    expect(await ended).toEqual([null, 'SIGKILL']);
  }
});
