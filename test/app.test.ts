import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { sampleKey, startModelApi } from '../model-api/index.ts';
import { openApp } from '../src/app.ts';
import { virtualClock } from './helpers/virtual-clock.ts';

test('of runs that wait for a call, the dataset furthest behind its schedule goes first', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'mm-app-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const model = await startModelApi({ rows: 5 });
  onTestFinished(() => model.close());
  const app = await openApp({
    environment: {
      MARKET_API_URL: model.url,
      MARKET_API_KEY: sampleKey.key,
      MIRROR_DIR: dir,
      MIRROR_SCHEDULE_NEWS: 'off',
      MIRROR_SCHEDULE_MEME_SIGNALS: 'every 12h',
      MIRROR_SCHEDULE_SMART_WALLETS: 'every 1m',
    },
    // However slow the machine, no time passes before all of them have asked.
    clock: virtualClock(),
    random: () => 0.5,
  });
  onTestFinished(() => app.close());
  // The first goes at once; the others wait for the pace.
  const asked = ['usage', 'news', 'meme-signals', 'smart-wallets'];
  await Promise.all(asked.map((name) => app.mirror(app.job(name), new AbortController().signal)));
  expect(model.calls.map(({ endpoint }) => endpoint)).toEqual([
    'usage',
    'smartWallets',
    'memeSignals',
    'news',
  ]);
});
