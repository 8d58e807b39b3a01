/**
 * `npx tsx scripts/keep-mirror.ts`: keeps a small mirror as this code leaves it, for `test/upgrades.test.ts`. Run it once
 * for every migration, before that is released, and commit what it writes to `test/fixtures/mirror-N`.
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { sampleKey } from '../model-api/index.ts';
import { both, change, insert, publish, remove } from '../test/helpers/edits.ts';
import { runMain } from '../test/helpers/main.ts';
import { type Bench, openBench } from '../test/helpers/mirror-bench.ts';

const HOUR_MS = 3_600_000;
const lists = ['ai-signals', 'news', 'smart-wallets', 'meme-signals'] as const;

const bench = await openBench({ rows: 130, seed: 7 });
try {
  await live(bench);
  keep(bench);
} finally {
  await bench.close();
}

/** Ends with every kind of row that a mirror can hold, and two walks in the middle. */
async function live(bench: Bench): Promise<void> {
  await mirrorAll(bench);
  for (const name of lists)
    both(remove(40, 2), insert(0, 3), change(10, { symbol: 'changed' }))(bench.upstream(name));
  both(
    change(5, {
      action: 'changed',
      quality: { publishable: true, grade: 'E', ageSeconds: 1, freshness: 'live', checks: [] },
    }),
    change(6, { entryPrice: 'refused' }),
    publish('2026-11-21T13:00:00Z'),
  )(bench.upstream('ai-signals'));
  both(
    change(7, { headline: 'refused \ud800' }),
    change(8, { digits: 'a field that is new' }),
  )(bench.upstream('news'));
  await mirrorAll(bench);
  await mirrorAll(bench);
  both(remove(60, 2), insert(0, 2), change(100, { headline: 'changed again' }))(bench.upstream('news'));
  both(remove(60, 2), insert(0, 2), publish('2026-11-21T16:00:00Z'))(bench.upstream('ai-signals'));
  remove(50, 1)(bench.upstream('meme-signals'));
  await bench.mirror('meme-signals');
  insert(0, 4)(bench.upstream('smart-wallets'));
  await bench.glance('smart-wallets');
  await stopAfterAPage(bench, 'news');
  await stopAfterAPage(bench, 'ai-signals');
  // Leaves what the governor learns, too.
  const settings = { MARKET_API_URL: bench.model.url, MARKET_API_KEY: sampleKey.key, MIRROR_DIR: bench.dir };
  await runMain(['sync', 'usage'], settings, bench.clock);
}

async function mirrorAll(bench: Bench): Promise<void> {
  for (const { name } of bench.jobs) await bench.mirror(name);
  bench.clock.advance(HOUR_MS);
}

async function stopAfterAPage(bench: Bench, name: string): Promise<void> {
  const stop = new AbortController();
  await bench.mirror(name, () => stop.abort(new Error('stopped')), stop.signal).catch(() => undefined);
}

function keep(bench: Bench): void {
  bench.tamper('PRAGMA wal_checkpoint(TRUNCATE)');
  const [applied] = bench.sql<{ count: number }>('SELECT count(*) AS count FROM __drizzle_migrations');
  const folder = new URL(`../test/fixtures/mirror-${(applied?.count ?? 0) - 1}/`, import.meta.url);
  mkdirSync(folder, { recursive: true });
  const upstream = Object.fromEntries(
    Object.entries(bench.model.data).map(([name, { rows, generatedAt }]) => [name, { rows, generatedAt }]),
  );
  writeFileSync(new URL('mirror.db.gz', folder), gzipSync(readFileSync(bench.store.file), { level: 9 }));
  writeFileSync(new URL('upstream.json.gz', folder), gzipSync(JSON.stringify(upstream), { level: 9 }));
  process.stdout.write(`kept ${fileURLToPath(folder)}\n`);
}
