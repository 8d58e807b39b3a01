import { expect, onTestFinished, test } from 'vitest';
import { sampleKey, startModelApi } from '../model-api/index.ts';
import { openApp } from '../src/app.ts';
import { DAY_MS, HOUR_MS } from '../src/base/clock.ts';
import { Database } from '../src/store/sqlite.ts';
import { temporaryFolder } from './helpers/folder.ts';
import { virtualClock } from './helpers/virtual-clock.ts';

/** @param before whose mirror and clock it goes on with. */
async function setup(
  environment: Record<string, string>,
  before?: { dir: string; clock: ReturnType<typeof virtualClock> },
) {
  const dir = before?.dir ?? temporaryFolder();
  const model = await startModelApi({ rows: 5 });
  onTestFinished(() => model.close());
  // However slow the machine, no time passes by itself.
  const clock = before?.clock ?? virtualClock();
  const app = await openApp({
    environment: {
      MARKET_API_URL: model.url,
      MARKET_API_KEY: sampleKey.key,
      MIRROR_DIR: dir,
      ...environment,
    },
    clock,
    random: () => 0.5,
  });
  onTestFinished(() => app.close());
  const mirror = (name: string) => app.mirror(app.job(name), new AbortController().signal);
  return { app, clock, dir, mirror, model };
}

test('a list that was never proven is as far behind as its last walk, not as far as can be', async () => {
  const schedules = { MIRROR_SCHEDULE_NEWS: 'every 1h', MIRROR_SCHEDULE_SMART_WALLETS: 'every 10m' };
  const before = await setup(schedules);
  for (const name of ['news', 'smart-wallets']) await before.mirror(name);
  const { app, clock } = before;
  const database = new Database(app.store.file);
  database.exec(`UPDATE walks SET verdict = 'union' WHERE job = 'news'; DELETE FROM _governor`);
  database.close();
  await app.close();
  clock.advance(2 * HOUR_MS);
  const { mirror, model } = await setup(schedules, before);
  await Promise.all(['usage', 'news', 'smart-wallets'].map(mirror));
  expect(model.calls.map(({ endpoint }) => endpoint)).toEqual(['usage', 'smartWallets', 'news']);
});

test('an error of pruning is said to be one: the walk before it is complete, and its proof stands', async () => {
  const { app, clock, mirror } = await setup({ MIRROR_KEEP_RECORDS: '1d' });
  await mirror('news');
  clock.advance(3 * DAY_MS);
  await mirror('usage');
  clock.advance(DAY_MS);
  const database = new Database(app.store.file);
  onTestFinished(() => void database.close());
  database.exec("CREATE TRIGGER kept BEFORE DELETE ON requests BEGIN SELECT RAISE(ABORT, 'it stays'); END");
  const startedAt = clock.now();
  await expect(mirror('news')).rejects.toThrow(
    /^news: the walk is complete, but .* not be removed: .*it stays/,
  );
  expect(app.store.completeAsOf('news')).toBe(startedAt);
});
