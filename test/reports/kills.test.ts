/** A kill at any point, during 60 runs, loses no alert, and repeats none but under the same id. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '../../model-api/index.ts';
import { compiledFolder } from '../helpers/program-file.ts';
import { read } from '../helpers/sync-bench.ts';
import { setupReports } from './support.ts';

const RUNS = 60;
const KILLS = 6;

test('kills lose no alert and repeat none but under the same id', async () => {
  const random = seededRandom(5);
  const { hook, folder, environment, file } = await setupReports({});
  hook.answerAfterMs = () => random() * 6;
  const life = pathToFileURL(join(compiledFolder(), 'dist/test/reports/life.js'));
  let rows = 0;
  let repeats = 0;
  const start = () => {
    const child = spawn(process.execPath, [life.pathname, environment.MIRROR_DIR, folder, hook.url], {
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child.stdout.on('data', (text) => {
      rows = Math.max(rows, ...String(text).trim().split('\n').map(Number));
    });
    return child;
  };
  let child = start();
  onTestFinished(() => void child.kill('SIGKILL'));

  /** The alert of run `n` has the rows 1 to n: a new one each run. */
  const edit = (n: number) => {
    const wanted = join(folder, 'count.sql');
    writeFileSync(
      `${wanted}.new`,
      `-- watch: id\n-- to: count.csv\nWITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ${n}) SELECT id FROM n\n`,
      { mode: 0o644 },
    );
    renameSync(`${wanted}.new`, wanted);
  };
  const told = () => new Set(hook.messages.flatMap((message) => message.rows.map(({ id }) => id)));

  for (let n = 1; n <= RUNS; n += 1) {
    edit(n);
    if (n % Math.floor(RUNS / KILLS) === 0) {
      await new Promise((resolve) => setTimeout(resolve, random() * 40));
      child.kill('SIGKILL');
      await once(child, 'exit');
      child = start();
    }
    await expect.poll(() => rows, { interval: 2 }).toBeGreaterThanOrEqual(n);
  }
  await expect.poll(() => told().size).toBe(RUNS);
  await expect
    .poll(() => read<{ n: number }>(file, 'SELECT count(*) AS n FROM _report_messages WHERE sent_at IS NULL'))
    .toEqual([{ n: 0 }]);

  // Each row was told under one id.
  const idsOf = new Map<unknown, Set<string>>();
  for (const { id, rows } of hook.messages)
    for (const row of rows) idsOf.set(row['id'], (idsOf.get(row['id']) ?? new Set()).add(id));
  expect([...idsOf].filter(([, ids]) => ids.size !== 1)).toEqual([]);
  repeats = hook.messages.length - new Set(hook.messages.map(({ id }) => id)).size;
  expect(repeats).toBeLessThanOrEqual(KILLS);
});
