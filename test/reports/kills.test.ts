/** What ends a process at any point loses no alert, and repeats none but under the same id. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { seededRandom } from '../../model-api/index.ts';
import { systemClock } from '../../src/base/clock.ts';
import { listJobs, tablesOf } from '../../src/job/list.ts';
import { loadJobs } from '../../src/job/load.ts';
import { withQueryProcess } from '../../src/reading/query.ts';
import { Database } from '../../src/store/sqlite.ts';
import { openStore } from '../../src/store.ts';
import { compiledFolder } from '../helpers/program-file.ts';
import { read } from '../helpers/sync-bench.ts';
import { runRound } from './round.ts';
import { setupReports } from './support.ts';

type Bench = Awaited<ReturnType<typeof setup>>;

async function setup() {
  const bench = await setupReports({});
  /** The alert of run `n` has the row n: a new one each run. */
  const edit = (n: number, more = '') => {
    const wanted = join(bench.folder, 'count.sql');
    writeFileSync(`${wanted}.new`, `-- watch: id\n${more}-- run: every 1d\nSELECT ${n} AS id\n`, {
      mode: 0o644,
    });
    renameSync(`${wanted}.new`, wanted);
  };
  return { ...bench, edit };
}

/** All rows of so many runs came, each under one id, and no more messages came twice than processes ended. */
function expectAllTold({ hook, file }: Bench, runs: number, kills: number): void {
  const idsOf = new Map<unknown, Set<string>>();
  for (const { id, rows } of hook.messages)
    for (const row of rows) idsOf.set(row['id'], (idsOf.get(row['id']) ?? new Set()).add(id));
  expect(idsOf.size).toBe(runs);
  expect([...idsOf].filter(([, ids]) => ids.size !== 1)).toEqual([]);
  expect(hook.messages.length - new Set(hook.messages.map(({ id }) => id)).size).toBeLessThanOrEqual(kills);
  expect(read(file, 'SELECT id FROM _report_messages WHERE sent_at IS NULL')).toEqual([]);
}

/** Ends what uses the mirror before one of its statements: nothing of that process is run any more. */
function statementKiller(file: string) {
  const probe = new Database(file);
  const statements = Object.getPrototypeOf(probe.prepare('SELECT 1')) as {
    run(this: { database: Database }, ...values: unknown[]): unknown;
  };
  probe.close();
  const { run } = statements;
  const state = { done: 0, left: Number.POSITIVE_INFINITY };
  statements.run = function counted(...values) {
    if (this.database.name !== file) return run.apply(this, values);
    if (state.left <= 0) throw new Error('killed');
    state.done += 1;
    state.left -= 1;
    return run.apply(this, values);
  };
  onTestFinished(() => void Object.assign(statements, { run }));
  return state;
}

/** Each statement of a run and of sending is the first that a killed process does not reach, and those of its end again. */
const LATE = 8;

test('a process that ends before any of its statements', async () => {
  const bench = await setup();
  const { hook, folder, environment, file, edit } = bench;
  const dir = environment.MIRROR_DIR;
  const [jobs, tables] = [await loadJobs(), tablesOf(await listJobs())];
  const killer = statementKiller(file);
  let [runs, kills] = [0, 0];
  await withQueryProcess(async (ask) => {
    let store = openStore(dir, jobs, systemClock.now);
    const round = () => runRound({ dir, folder, url: hook.url, store, tables, ask });
    let before = 0;
    for (const n of [1, 2]) {
      edit(n);
      before = killer.done;
      await round();
    }
    const statements = killer.done - before;
    expect(statements).toBeGreaterThan(6);
    runs = statements + LATE;
    for (let n = 3; n <= runs; n += 1) {
      edit(n);
      // Where rows are still read, the process that reads them ends, too, which takes long.
      killer.left = n < statements ? n - 2 : statements - 1 - (n % LATE);
      const isKilled = await round().then(
        () => false,
        () => true,
      );
      kills += Number(isKilled);
      store.close();
      killer.left = Number.POSITIVE_INFINITY;
      store = openStore(dir, jobs, systemClock.now);
      await round();
    }
    store.close();
  });
  expect(kills).toBe(runs - 2);
  expectAllTold(bench, runs, kills);
});

const LIVES = 3;
const RUNS_EACH = 3;

test('a process that is killed at any time', async () => {
  const random = seededRandom(5);
  const bench = await setup();
  const { hook, folder, environment, file, edit } = bench;
  hook.answerAfterMs = () => random() * 6;
  const life = pathToFileURL(join(compiledFolder(), 'dist/test/reports/life.js'));
  const start = () =>
    spawn(process.execPath, [life.pathname, environment.MIRROR_DIR, folder, hook.url], {
      env: { PATH: process.env['PATH'] },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  let child = start();
  onTestFinished(() => void child.kill('SIGKILL'));
  const isTold = (n: number) => hook.messages.some(({ rows }) => rows.some(({ id }) => id === n));
  const runs = LIVES * RUNS_EACH;
  for (let n = 1; n <= runs; n += 1) {
    edit(n, '-- to: count.csv\n');
    if (n % RUNS_EACH === 0) {
      await new Promise((resolve) => setTimeout(resolve, random() * 40));
      child.kill('SIGKILL');
      await once(child, 'exit');
      child = start();
    }
    await expect.poll(() => isTold(n), { interval: 2 }).toBe(true);
  }
  await expect.poll(() => read(file, 'SELECT id FROM _report_messages WHERE sent_at IS NULL')).toEqual([]);
  expectAllTold(bench, runs, LIVES);
});
