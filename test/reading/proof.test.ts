/** What was proven of an answer's sources and what was merely seen are told apart. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { isoTime } from '../../src/base/clock.ts';
import type { Receipt } from '../../src/reading/export.ts';
import { insert } from '../helpers/edits.ts';
import { noteGlance } from '../helpers/glance-row.ts';
import { runMain } from '../helpers/main.ts';
import { openBench } from '../helpers/mirror-bench.ts';

const SQL = 'SELECT count(*) FROM news';
const MINUTE = 60_000;

// Tests that change it stand last.
const bench = await openBench({ rows: 150 });
afterAll(bench.close);

const run = (...args: string[]) => runMain(args, { MIRROR_DIR: bench.dir }, bench.clock);
const query = (...args: string[]) => run('query', SQL, ...args);

// Proven an hour ago, and looked at ten minutes ago.
const proven = isoTime(bench.clock.now());
await bench.mirror('news');
bench.clock.advance(50 * MINUTE);
const seen = isoTime(bench.clock.now());
insert(0, 2)(bench.upstream('news'));
await bench.glance('news');
bench.clock.advance(10 * MINUTE);

describe('a dataset that was looked at since it was proven', () => {
  it('is as old as its proof to --max-age, which a glance does not renew', async () => {
    expect(await query('--max-age', '1h')).toMatchObject({ code: 0 });
    const refused = await query('--max-age', '59m');
    expect(refused).toMatchObject({ code: 75, stdout: '' });
    expect(refused.stderr).toContain(`older than 59m: news was last complete at ${proven}, 1h ago\n`);
  });

  it('is as old as that look to --max-seen-age', async () => {
    expect(await query('--max-age', '1h', '--max-seen-age', '10m')).toMatchObject({ code: 0 });
    const refused = await query('--max-seen-age', '9m');
    expect(refused).toMatchObject({ code: 75, stdout: '' });
    expect(refused.stderr).toContain(`not looked at within 9m: news was last looked at ${seen}, 10m ago\n`);
    expect(await run('export', 'news', '--max-seen-age', '9m')).toMatchObject({ code: 75, stdout: '' });
  });

  it('is so at an earlier time, too', async () => {
    const then = ['--as-of', isoTime(bench.clock.now() - 12 * MINUTE)];
    expect(await query(...then, '--max-seen-age', '48m')).toMatchObject({ code: 0, stderr: '' });
    expect((await query(...then, '--max-seen-age', '47m')).stderr).toContain(
      `not looked at within 47m: news was last looked at ${proven}, 48m ago\n`,
    );
    const later = ['--as-of', isoTime(bench.clock.now() - 8 * MINUTE)];
    expect(await query(...later, '--max-seen-age', '2m')).toMatchObject({ code: 0 });
    expect(await query(...later, '--max-age', '51m')).toMatchObject({ code: 75 });
  });

  it('is told with both times, in a note and in the receipt', async () => {
    const note = `note: news is proven complete as of ${proven}; it also has what was seen as of ${seen}, which is not proven\n`;
    expect(await query()).toMatchObject({ code: 0, stderr: note });
    await run('export', 'news', '-o', join(bench.dir, 'news.csv'));
    const { sources } = JSON.parse(readFileSync(join(bench.dir, 'news.csv.meta.json'), 'utf8')) as Receipt;
    expect(sources).toMatchObject([
      {
        completeAsOf: proven,
        proof: { walkId: 1, startedAt: proven },
        seenAsOf: seen,
        lastLook: { walkId: 2, kind: 'glance', startedAt: seen, finishedAt: seen },
      },
    ]);
  });
});

it('a look that has not ended well shows nothing to --max-seen-age', async () => {
  for (const status of ['running', 'waiting', 'failed'] as const) noteGlance(bench, { job: 'news', status });
  expect(await query('--max-seen-age', '10m')).toMatchObject({ code: 0 });
  expect(await query('--max-seen-age', '9m')).toMatchObject({ code: 75 });
});

it('a look by a clock that was ahead has no age', async () => {
  const startedAt = bench.clock.now() + 60 * MINUTE;
  noteGlance(bench, { job: 'news', startedAt });
  const { code, stderr } = await query('--max-seen-age', '9d');
  expect(code).toBe(75);
  expect(stderr).toContain(
    `not looked at within 9d: news: the clock was ahead at the last look (seen as of ${isoTime(startedAt)})`,
  );
  expect(await query('--max-age', '1h')).toMatchObject({ code: 0, stderr: '' });
});

it('a note tells of a dataset whose first walk has not ended, and of a proof by a clock that was ahead', async () => {
  const stop = new AbortController();
  await bench.mirror('smart-wallets', () => stop.abort(), stop.signal).catch(() => undefined);
  const notes = async (table: string) => (await run('query', `SELECT count(*) FROM ${table}`)).stderr;
  expect(await notes('smart_wallets')).toBe(
    'note: smart_wallets has never been complete: rows may be missing\n',
  );
  bench.clock.jump(-24 * 60 * MINUTE);
  expect(await notes('news')).toMatch(/^note: news: the clock was ahead /);
});
