import { expect, it } from 'vitest';
import { median } from '../../lab/figures.ts';
import { type Edit, insert, publish, remove } from '../helpers/edits.ts';
import { read, setupSync } from '../helpers/sync-bench.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';
import { live } from '../helpers/virtual-life.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const midnight = Date.parse('2026-11-22T00:00:00Z');

it('of five lists of ten pages and 1,000 calls a day, new news is there within twelve minutes in the median, and no call is refused', async () => {
  // Three hours show how the lists behave; the quota begins anew at midnight.
  const bench = await setupSync(
    { rows: 1_000, quota: { limit: 1_000, periodMs: DAY }, rate: 5, concurrency: 2 },
    virtualClock(midnight - 3 * HOUR),
  );
  const limits = { MARKET_API_QUOTA: '1000/1d@00:00', MARKET_API_RATE: '5/1s', MARKET_API_CONCURRENCY: '2' };
  const { news, memeSignals, aiSignals } = bench.model.data;
  const came = new Map<string, number>();
  const began = bench.clock.now();
  const happening: [everyMs: number, happens: (at: number) => void][] = [
    [7.2 * MINUTE, (at) => came.set(String(news.rows[0]?.['id']), at)],
    [3.6 * MINUTE, () => replaceOne(memeSignals)],
    [10 * MINUTE, (at) => publishAnew(at)],
  ];
  const replaceOne = (dataset: Parameters<Edit>[0]) => {
    remove(-1)(dataset);
    insert(0)(dataset);
  };
  const publishAnew = (at: number) => {
    replaceOne(aiSignals);
    publish(new Date(at).toISOString())(aiSignals);
  };
  let lived = began;
  const edit = (now: number) => {
    for (const [everyMs, happens] of happening)
      for (let at = lived - ((lived - began) % everyMs) + everyMs; at <= now; at += everyMs) {
        if (everyMs === 7.2 * MINUTE) replaceOne(news);
        happens(at);
      }
    lived = now;
  };
  await live(bench, limits, 9 * HOUR, edit);

  const rows = read<{ key: string; at: string }>(
    bench.file,
    'SELECT _key AS key, _first_seen_at AS at FROM news',
  );
  const delays = rows.flatMap(({ key, at }) => {
    const since = came.get(key);
    return since !== undefined && since > midnight ? [Date.parse(at) - since] : [];
  });
  expect(delays.length).toBeGreaterThan(40);
  // Twelve are promised.
  expect(median(delays) / MINUTE).toBeLessThan(9);
  expect(bench.model.calls.filter(({ status }) => status === 429)).toEqual([]);
});
