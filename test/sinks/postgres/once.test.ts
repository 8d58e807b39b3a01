import { copyFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Database } from '../../../src/store/sqlite.ts';
import { cuttingProxy } from '../../helpers/postgres.ts';
import { edit } from '../edit.ts';
import { expectEqual, setup, setupMirrored, setupShipped } from './bench.ts';

test('two that ship at once neither lose nor double a change', async () => {
  const bench = await setupMirrored();
  for (let round = 0; round < 2; round += 1) {
    const ended = await Promise.all([bench.ship(), bench.ship(), bench.ship('ai-signals')]);
    expect(ended.map(({ code }) => code)).toEqual([0, 0, 0]);
    await expectEqual(bench.file, bench.there);
    edit(bench, round);
    await bench.clock.sleep(200_000);
    await bench.sync('ai-signals');
  }
});

test('one that waits for another reads the mirror as it is once its turn has come', async () => {
  const bench = await setupShipped();
  const { query } = bench.there;
  await query('BEGIN');
  await query(`SELECT 1 FROM _positions WHERE job = 'ai-signals' FOR UPDATE`);
  const ended = bench.ship('ai-signals');
  const waiting = 'SELECT 1 FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid';
  await expect.poll(() => query(waiting)).toHaveLength(1);
  edit(bench, 0);
  await bench.clock.sleep(200_000);
  await bench.sync('ai-signals');
  await query('COMMIT');
  expect((await ended).code).toBe(0);
  await expectEqual(bench.file, bench.there);
});

test('a connection that is lost anywhere leaves all of a dataset or nothing, and the next run goes on', async () => {
  const bench = await setupMirrored();
  let at = 0;
  const way = await cuttingProxy(bench.there, (_, number) =>
    number === at ? (at % 2 ? 'before' : 'after') : false,
  );
  let cuts = 0;
  // Further on each time, since what has arrived is not sent again.
  for (let round = 0; round < 10; round += 1) {
    if (round % 4 === 3) {
      edit(bench, round);
      await bench.clock.sleep(200_000);
      await bench.sync('ai-signals');
    }
    at = way.sent() + 1 + ((round * 37) % 90);
    const { code } = await bench.run(['ship', 'ai-signals', 'news'], { MIRROR_SHIP: way.url });
    expect([0, 75]).toContain(code);
    if (code !== 0) cuts += 1;
  }
  expect(cuts).toBeGreaterThan(3);
  at = 0;
  expect((await bench.ship()).code).toBe(0);
  await expectEqual(bench.file, bench.there);
  expect((await bench.ship('--verify')).stdout).not.toContain('loaded anew');
});

test('a connection that is lost at COMMIT, with or without what was committed, costs nothing', async () => {
  const bench = await setupShipped();
  for (const how of ['before', 'after'] as const) {
    edit(bench, 0);
    await bench.clock.sleep(200_000);
    await bench.sync('ai-signals');
    let commits = 0;
    // The first commits the claim of the schema, the second the dataset.
    const way = await cuttingProxy(bench.there, (piece) => {
      if (piece.endsWith('COMMIT\0')) commits += 1;
      return commits === 2 ? how : false;
    });
    const lost = await bench.run(['ship', 'ai-signals'], { MIRROR_SHIP: way.url });
    expect([lost.code, lost.stdout]).toEqual([75, expect.stringContaining('is not there for now')]);
    const next = await bench.ship('ai-signals');
    expect(next.stdout).toMatch(how === 'after' ? /nothing new/ : /\d+ changes sent/);
    await expectEqual(bench.file, bench.there);
  }
});

test('a mirror that is put back to an earlier state, and goes on from there, is loaded anew', async () => {
  const bench = await setupShipped();
  const backup = join(bench.cwd, 'backup.db');
  expect((await bench.run(['backup', backup])).code).toBe(0);
  for (const round of [1, 2]) {
    edit(bench, round);
    await bench.clock.sleep(200_000);
    await bench.sync('ai-signals', 'news');
    await bench.ship();
  }
  for (const part of ['', '-wal', '-shm']) rmSync(`${bench.file}${part}`, { force: true });
  copyFileSync(backup, bench.file);
  await bench.clock.sleep(200_000);
  await bench.sync();
  const { stdout, code } = await bench.ship();
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^ai-signals: loaded anew: \d+ rows, /m)]);
  await expectEqual(bench.file, bench.there);
});

test('a mirror whose file is put back, and whose rows stay as they were, sends the walks that it made since', async () => {
  const bench = await setupShipped();
  const copy = join(bench.cwd, 'copy.db');
  copyFileSync(bench.file, copy);
  for (const isPutBack of [false, true]) {
    if (isPutBack) copyFileSync(copy, bench.file);
    await bench.clock.sleep(200_000);
    await bench.sync('ai-signals');
    expect((await bench.ship()).code).toBe(0);
  }
  expect((await bench.ship('--verify')).stdout).not.toContain('mended');
});

test('calls of a walk that are counted just after its end arrive, too', async () => {
  const bench = await setupShipped();
  const mirror = new Database(bench.file);
  mirror.exec('UPDATE walks SET api_calls = api_calls + 1').close();
  expect((await bench.ship()).stdout).toMatch(/^ai-signals: nothing new/m);
  expect(await bench.ship('--check')).toMatchObject({ code: 0 });
});

test('where changes were forgotten before they came there, all is loaded anew', async () => {
  const bench = await setupShipped();
  for (let round = 1; round <= 4; round += 1) {
    bench.clock.advance(24 * 3_600_000);
    edit(bench, round);
    await bench.run(['sync', 'ai-signals'], { MIRROR_KEEP_HISTORY: '1d', MIRROR_KEEP_RECORDS: '1d' });
  }
  expect((await bench.ship()).code).toBe(0);
  await expectEqual(bench.file, bench.there);
});

test('where rows got other keys, all is loaded anew, once', async () => {
  const bench = await setupShipped();
  const { rows } = bench.model.data.news;
  for (const said of ['loaded anew: 12 rows', '2 changes sent']) {
    await bench.clock.sleep(200_000);
    await bench.run(['sync', 'news'], { MIRROR_KEY_NEWS: 'url' });
    expect((await bench.ship('news')).stdout).toContain(`news: ${said}, `);
    Object.assign(rows[3] ?? {}, { headline: 'another' });
  }
  await expectEqual(bench.file, bench.there);
});

test('a backup that is restored elsewhere is the same mirror, on a course of its own', async () => {
  const bench = await setupShipped();
  const restored = join(bench.cwd, 'restored');
  mkdirSync(restored);
  expect((await bench.run(['backup', join(restored, 'mirror.db')])).code).toBe(0);
  const settings = { MIRROR_SHIP: bench.there.url, MIRROR_DIR: restored };
  const compared = await bench.run(['ship'], settings);
  expect([compared.code, compared.stdout]).toEqual([
    0,
    expect.stringMatching(/^ai-signals: loaded anew: 12 rows, /m),
  ]);
  expect((await bench.run(['ship'], settings)).stdout).toMatch(/^ai-signals: nothing new/m);
  const other = await setup(12);
  await other.sync('usage');
  expect((await other.run(['ship'], { MIRROR_SHIP: bench.there.url })).code).toBe(78);
});
