import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isoTime } from '../../src/base/clock.ts';
import { read, setupSync } from '../helpers/sync-bench.ts';

const HOUR = 3_600_000;

test('what is older than the settings keep is forgotten, and whoever asks for it is told', async () => {
  const { cwd, run, clock, model, file } = await setupSync({ rows: 5 });
  const settings = { MIRROR_KEEP_RECORDS: '1d', MIRROR_KEEP_HISTORY: '2d' };
  const began = clock.now();
  const { rows } = model.data.aiSignals;
  for (let walk = 0; walk < 9; walk += 1) {
    Object.assign(rows[0] ?? {}, { confidence: walk / 100 });
    model.data.aiSignals.generatedAt = isoTime(clock.now());
    expect((await run(['sync', 'ai-signals'], settings)).code).toBe(0);
    clock.advance(10 * HOUR);
  }
  // Waits between calls move the clock by less than a minute.
  const at = (hours: number) => isoTime(began + hours * HOUR);
  const hour = (time: string | undefined) => (time ?? '').slice(0, 13);
  const [calls] = read<{ first: string }>(file, 'SELECT min(at) AS first FROM requests');
  expect(hour(calls?.first)).toBe(hour(at(50)));
  const ends = read<{ at: string }>(file, 'SELECT _valid_to AS at FROM ai_signals_history ORDER BY 1');
  expect(ends.map((end) => hour(end.at))).toEqual([30, 40, 50, 60, 70, 80].map((hours) => hour(at(hours))));

  const sql = 'SELECT confidence FROM ai_signals ORDER BY 1 LIMIT 1';
  const asked = await run(['query', sql, '--as-of', at(19)]);
  expect(asked).toMatchObject({ code: 64, stdout: '' });
  expect(asked.stderr).toContain(`ai_signals_history goes back to ${hour(at(20))}`);
  expect((await run(['query', sql, '--as-of', at(21), '--format', 'csv'])).stdout).toContain('0.02');

  const since = await run(['export', 'ai-signals', '--since', at(19), '-o', join(cwd, 'since.csv')]);
  expect(since.code).toBe(64);
  expect(since.stderr).toContain(`changes of ai_signals up to ${hour(at(20))}`);

  const followed = await run(['query', 'SELECT seq FROM changes', '--format', 'csv']);
  expect(followed.stderr).toContain(`note: ai_signals_history goes back to ${hour(at(20))}`);
});

test('what cannot be kept so is refused before any call', async () => {
  const { run, model } = await setupSync();
  const { code, stderr } = await run(['sync'], { MIRROR_KEEP_HISTORY: '10m' });
  expect([code, stderr]).toEqual([
    78,
    'market-mirror: MIRROR_KEEP_HISTORY is no time to keep: set it to 1d or longer, such as 90d, or to forever\n',
  ]);
  expect(model.calls).toEqual([]);
});
