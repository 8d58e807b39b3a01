/** Mirrors that released versions have written, each with its keys, as `backup` has copied them: this version takes them over. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { systemClock } from '../src/base/clock.ts';
import { temporaryFolder } from './helpers/folder.ts';
import { runMain } from './helpers/main.ts';
import { idsOf, read } from './helpers/sync-bench.ts';

const versions = readdirSync('test/fixtures').filter((name) => name.startsWith('mirror-'));

test('there is one of each release', () => expect(versions).toContain('mirror-1.0.0'));

test.each(versions)('%s is restored, migrated and read, with its rows, proofs and keys', async (version) => {
  const folder = temporaryFolder();
  for (const name of ['mirror.db', 'mirror.serve.db'])
    writeFileSync(
      join(folder, name),
      gunzipSync(readFileSync(join('test/fixtures', version, `${name}.gz`))),
      { mode: 0o600 },
    );
  const MIRROR_DIR = join(folder, 'data');
  // Nobody answers there, and no command asks.
  const settings = { MARKET_API_URL: 'http://127.0.0.1:9', MARKET_API_KEY: 'k-1234', MIRROR_DIR };
  const run = async (...args: string[]) => {
    const ended = await runMain(args, settings, systemClock);
    expect(ended, args.join(' ')).toMatchObject({ code: 0 });
    return ended.stdout;
  };
  await run('restore', join(folder, 'mirror.db'));
  const written = idsOf(join(folder, 'mirror.db'));
  // The first that writes migrates it.
  await run('quarantine', 'retry');
  expect(idsOf(join(MIRROR_DIR, 'mirror.db'))).toEqual(written);
  expect(written).toHaveLength(12);
  const proofs = JSON.parse(
    await run('query', 'SELECT job, rows, verdict FROM freshness ORDER BY job', '--format', 'json'),
  );
  expect(proofs.rows ?? proofs).toEqual(
    read(join(folder, 'mirror.db'), 'SELECT job, rows, verdict FROM freshness ORDER BY job'),
  );
  expect(JSON.parse(await run('keys', 'list', '--json'))).toMatchObject([
    { name: 'reports', status: 'active' },
  ]);
  await run('backup', join(folder, 'again.db'));
});
