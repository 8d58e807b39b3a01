/** What the mirror says of itself, and what it keeps, when somebody sets the clock. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isoTime } from '../src/base/clock.ts';
import type { BackupReceipt } from '../src/reading/backup.ts';
import type { Receipt } from '../src/reading/export.ts';
import type { Status } from '../src/reading/status.ts';
import { setup } from './helpers/setup.ts';
import { read, setupSync } from './helpers/sync-bench.ts';
import { othersOff } from './helpers/virtual-life.ts';

const DAY = 24 * 3_600_000;

/** Mirrored while the clock was three days ahead; now it is right again. */
async function setupAhead() {
  const bench = await setupSync({ rows: 5 });
  bench.clock.jump(3 * DAY);
  // Each at a time of its own.
  for (const job of ['ai-signals', 'meme-signals', 'news', 'smart-wallets', 'usage']) {
    expect((await bench.sync(job)).code).toBe(0);
    bench.clock.advance(1_500);
  }
  bench.clock.jump(-3 * DAY);
  const status = async () => JSON.parse((await bench.run(['status', '--json'])).stdout) as Status;
  return { ...bench, status };
}

it('after a clock that was ahead was corrected, nothing claims to be fresh: status ends with 75 and names the clock, --max-age refuses, receipts give no time, until a walk mends it', async () => {
  const { cwd, run, sync, status } = await setupAhead();
  const { code, stdout } = await run(['status']);
  expect(code).toBe(75);
  // Once, though the times differ.
  expect(stdout.match(/^[✗!→ ].*clock.*$/gm)).toEqual([
    expect.stringMatching(
      /^✗ ai-signals, meme-signals, news, smart-wallets, usage: the clock was ahead at the last walk \(complete as of 2026-11-24 12/,
    ),
    '  → keep the clock by NTP, such as timedatectl set-ntp true; then run market-mirror sync',
  ]);
  expect(stdout).toMatch(/news +5 +unknown +– +verified/);
  const { problems, datasets } = await status();
  expect(new Set(problems.map(({ code }) => code))).toEqual(new Set(['clock-ahead']));
  expect(problems).toHaveLength(5);
  for (const dataset of datasets) expect(dataset).toMatchObject({ ageSeconds: null, fresh: false });

  const sql = 'SELECT count(*) AS n FROM news';
  const refused = await run(['query', '--max-age', '30d', sql]);
  expect(refused).toMatchObject({ code: 75, stdout: '' });
  expect(refused.stderr).toContain('older than 30d: news: the clock was ahead at the last walk');
  expect((await run(['export', '--max-age', '30d', 'news'])).code).toBe(75);
  const answered = await run(['query', sql]);
  expect(answered.code).toBe(0);
  expect(answered.stderr).toContain('note: news: the clock was ahead at the last walk');

  await run(['export', 'news', '-o', join(cwd, 'news.csv')]);
  const receipt = JSON.parse(readFileSync(join(cwd, 'news.csv.meta.json'), 'utf8')) as Receipt;
  const proof = expect.objectContaining({ startedAt: expect.stringMatching(/^2026-11-24/) });
  expect(receipt.sources).toMatchObject([{ job: 'news', completeAsOf: null, proof }]);
  const backup = await run(['backup', join(cwd, 'copy.db'), '--json']);
  const copied = (JSON.parse(backup.stdout) as BackupReceipt).datasets;
  expect(copied.map(({ completeAsOf }) => completeAsOf)).toEqual([null, null, null, null, null]);

  expect((await sync()).code).toBe(0);
  expect(await status()).toMatchObject({ exitCode: 0, problems: [] });
});

it.each([
  ['what may be rounding is no clock that was ahead', 0, -1_500, 0, /news +5 +0s ago +0s ago +verified/],
  [
    'a clock that was days behind makes everything stale, not fresh',
    -3,
    3 * DAY,
    75,
    /✗ news: last complete .* \(limit /,
  ],
])('%s', async (_, days, correction, exitCode, line) => {
  const { clock, sync, run } = await setupSync({ rows: 5 });
  clock.jump(days * DAY);
  await sync('news');
  clock.jump(correction);
  const { code, stdout } = await run(['status'], { ...othersOff, MIRROR_SCHEDULE_AI_SIGNALS: 'off' });
  expect(code).toBe(exitCode);
  expect(stdout).toMatch(line);
});

describe('a walk that began under a clock that was ahead', () => {
  it('is neither a last run nor an age, for whoever plans the next', async () => {
    const bench = await setup({ rows: 5 });
    bench.clock.jump(3 * DAY);
    await bench.mirror('news');
    expect(bench.store.lastRun('news')).toBe(bench.clock.now());
    bench.clock.jump(-3 * DAY);
    expect([bench.store.lastRun('news'), bench.store.completeAsOf('news')]).toEqual([null, null]);
  });

  it('is not proven again by one call: its day would never end', async () => {
    const bench = await setup({ rows: 120 });
    bench.clock.jump(3 * DAY);
    await bench.mirror('ai-signals');
    bench.clock.jump(-3 * DAY);
    expect(await bench.mirror('ai-signals')).toMatchObject({ apiCalls: 2, renewalOf: null });
    expect(await bench.mirror('ai-signals')).toMatchObject({ apiCalls: 1, renewalOf: 2 });
  });

  it('and that the clock was set back meanwhile is made once more', async () => {
    const { clock, sync, run, model, file } = await setupSync({ rows: 120 });
    clock.jump(3 * DAY);
    let calls = 0;
    model.beforeAnswer = () => void (++calls === 2 && clock.jump(-3 * DAY));
    expect((await sync('ai-signals')).code).toBe(0);
    expect(read(file, 'SELECT verdict FROM walks')).toHaveLength(2);
    expect((await run(['query', '--max-age', '1m', 'SELECT 1 FROM ai_signals'])).code).toBe(0);
  });
});

describe('what is kept for a time', () => {
  const settings = { MIRROR_KEEP_RECORDS: '2d', MIRROR_KEEP_HISTORY: '2d' };

  it('is not forgotten by walks under a clock that is far ahead for hours', async () => {
    const { clock, run, model, file } = await setupSync({ rows: 5 });
    const walk = async (confidence: number) => {
      Object.assign(model.data.aiSignals.rows[0] ?? {}, { confidence });
      model.data.aiSignals.generatedAt = isoTime(Date.UTC(2026) + clock.monotonic());
      expect((await run(['sync', 'ai-signals'], settings)).code).toBe(0);
    };
    for (let hour = 0; hour <= 60; hour += 12) {
      await walk(hour / 1_000);
      clock.advance(DAY / 2);
    }
    const count = (table: string) =>
      read<{ n: number }>(
        file,
        `SELECT count(*) AS n FROM ${table} WHERE ${table === 'requests' ? 'at' : '_valid_to'} < '2027'`,
      )[0]?.n;
    const before = [count('requests'), count('ai_signals_history')];
    clock.jump(400 * DAY);
    for (let hour = 0; hour < 20; hour += 10) {
      await walk(0.5 + hour / 1_000);
      clock.advance(DAY / 3);
    }
    // A day goes by as always, and takes what is due.
    expect(count('requests')).toBeGreaterThan(Number(before[0]) - 4);
    expect(count('ai_signals_history')).toBeGreaterThan(Number(before[1]) - 3);
    clock.jump(-400 * DAY);
    await walk(0.9);
    expect((await run(['query', '--as-of', '36h', 'SELECT count(*) FROM ai_signals'])).code).toBe(0);
  });
});
