/** CONTRIBUTING.md says that a sixth endpoint is one file. Here its text is put to the test, word for word. */

import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openReadOnly } from '../src/store/connection.ts';
import { listenOnLoopback } from './helpers/loopback.ts';
import { copyProject } from './helpers/project-copy.ts';

const guide = readFileSync('CONTRIBUTING.md', 'utf8');
const jobFile = /Write `(jobs\/[\w-]+\.ts)`:\n\n```ts\n(.*?)```/s.exec(guide);
const generate = /^npm run generate -- --name \w+$/m.exec(guide)?.[0] ?? '';

const rows = Array.from({ length: 120 }, (_, at) => ({
  id: `rate-${at}`,
  market: `M${at}-PERP`,
  rate: at % 10 === 0 ? null : at / 1e5,
  ageSeconds: at,
}));

test('a sixth endpoint is one file and what is generated from it', async () => {
  const [, file = '', source = ''] = jobFile ?? [];
  const project = copyProject('docs', 'scripts', 'test/jobs.test.ts');
  writeFileSync(join(project.folder, file), source);

  const [npm = '', ...args] = generate.split(' ');
  const generated = await project.run(npm, ...args);
  expect(generated.code, generated.stderr).toBe(0);
  expect(project.changes().map((changed) => changed.replace(/\/\d{4}_/, '/NNNN_'))).toEqual([
    'docs/tables.md',
    'drizzle/NNNN_funding_rates.sql',
    'drizzle/meta/NNNN_snapshot.json',
    'drizzle/meta/_journal.json',
    file,
  ]);
  expect(readFileSync(join(project.folder, 'docs/tables.md'), 'utf8')).toContain(
    '| `rate` | real | yes | `rate`: per eight hours |',
  );
  // The rest is as it was.
  const types = { extends: './tsconfig.json', include: ['jobs'] };
  writeFileSync(join(project.folder, 'tsconfig.jobs.json'), JSON.stringify(types));
  const checks = await Promise.all([
    project.run('tsc', '--noEmit', '-p', 'tsconfig.jobs.json'),
    project.run('vitest', 'run', 'test/jobs.test.ts', '-t', 'funding-rates'),
  ]);
  for (const { code, stdout, stderr } of checks) expect(code, stdout + stderr).toBe(0);

  const url = await serve();
  const settings = { MARKET_API_URL: url, MARKET_API_KEY: 'k-1234', MIRROR_DIR: 'mirror' };
  const synced = await project.market(['sync', 'funding-rates'], settings);
  expect(synced).toMatchObject({ code: 0, stderr: expect.stringContaining('verified: 120 rows') });

  const database = openReadOnly(join(project.folder, 'mirror', 'mirror.db'));
  const mirrored = database
    .prepare('SELECT id, market, rate, age_seconds AS ageSeconds FROM funding_rates ORDER BY age_seconds')
    .all();
  const fresh = database
    .prepare(`SELECT rows, verdict, status FROM freshness WHERE job = 'funding-rates'`)
    .get();
  database.close();
  expect(mirrored).toEqual(rows);
  expect(fresh).toEqual({ rows: 120, verdict: 'verified', status: 'complete' });
});

/** A list as the specification describes lists. */
async function serve(): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    const [offset, limit] = [Number(searchParams.get('offset')), Number(searchParams.get('limit'))];
    const page = rows.slice(offset, offset + limit);
    const hasMore = offset + limit < rows.length;
    const pagination = { offset, limit, total: rows.length, returned: page.length, hasMore };
    response.writeHead(pathname === '/api/v1/funding-rates' ? 200 : 404, {
      'content-type': 'application/json',
    });
    response.end(JSON.stringify({ rows: page, pagination }));
  });
  const { url, close } = await listenOnLoopback(server);
  onTestFinished(close);
  return url;
}
