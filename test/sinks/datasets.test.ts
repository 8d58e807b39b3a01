import { closeSync, openSync, writeSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/base/errors.ts';
import { findJob, listJobs } from '../../src/job/list.ts';
import { eachDataset, followResponse, type Outcome } from '../../src/sinks/follow.ts';
import { Database } from '../../src/store/sqlite.ts';
import { runMain } from '../helpers/main.ts';
import { setupSynced } from '../helpers/sync-bench.ts';
import { edit } from './edit.ts';
import { setup as setupLake, setupMirrored as setupMirroredLake } from './lake/bench.ts';
import { setupMirrored as setupMirroredShip, setup as setupShip } from './postgres/bench.ts';

describe('datasets that are brought to a target', () => {
  async function bring(work: (job: string) => string, only?: readonly string[]) {
    const { environment } = await setupSynced(3);
    const { signal } = new AbortController();
    const parts = { dir: environment.MIRROR_DIR, jobs: await listJobs(), only, signal };
    return await eachDataset(parts, async ({ name }) => work(name));
  }

  test('are all told of in their order; what fails with one leaves the others to go on', async () => {
    const outcomes = await bring((job) => {
      if (job === 'news') throw new Failure('disk', 'no room');
      return `${job} is there`;
    });
    const jobs = (await listJobs()).map(({ name }) => name);
    expect(outcomes.map(({ job }) => job)).toEqual(jobs);
    expect(outcomes.filter(({ done }) => done === null)).toEqual([
      { job: 'news', done: null, failure: { kind: 'disk', message: 'no room' } },
    ]);
  });

  test('are those alone that were named, where any was', async () => {
    const outcomes = await bring((job) => job, ['usage', 'news']);
    expect(outcomes.map(({ done }) => done).sort()).toEqual(['news', 'usage']);
  });

  test('are left at once where nobody foresaw what went wrong', async () => {
    const bug = () => {
      throw new TypeError('a bug');
    };
    await expect(bring(bug)).rejects.toThrow(TypeError);
  });
});

test('a thread tells of each dataset how far it has come, or why it has not', () => {
  const failure = { kind: 'disk', message: 'no room' } as const;
  const outcomes: Outcome<number>[] = [
    { job: 'news', done: 7, failure: null },
    { job: 'usage', done: null, failure },
  ];
  const arrived = (seq: number) => ({ to: seq, problems: ['a column'] });
  expect(followResponse(outcomes, arrived)).toEqual({
    arrivals: [
      { job: 'news', to: 7, problems: ['a column'], failure: null },
      { job: 'usage', to: null, problems: [], failure },
    ],
  });
});

const targetOf = (there: string | { url: string }) =>
  typeof there === 'string' ? { MIRROR_LAKE: there } : { MIRROR_SHIP: there.url };

/** Spoils the first page of a table. */
function damage(file: string, table: string): void {
  const mirror = new Database(file);
  const page = mirror.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(table);
  const size = Number(mirror.pragma('page_size', { simple: true }));
  mirror.close();
  const opened = openSync(file, 'r+');
  writeSync(opened, Buffer.alloc(size, 7), 0, size, (Number(page) - 1) * size);
  closeSync(opened);
}

describe('a mirror that is damaged where one dataset lies is named with what to do, and the others arrive, with exit code 74:', () => {
  test.each(['ship', 'lake'])('%s', async (command) => {
    const { run, file, there } = await (command === 'ship' ? setupMirroredShip(3) : setupMirroredLake(3));
    const jobs = await listJobs();
    damage(file, findJob(jobs, 'news').rows);
    const { code, stdout, stderr } = await run([command], targetOf(there));
    expect([code, stderr]).toEqual([74, '']);
    const lines = stdout.split('\n').filter((line) => jobs.some(({ name }) => line.startsWith(`${name}: `)));
    expect(lines).toHaveLength(jobs.length);
    expect(lines.filter((line) => line.includes('mirror.db'))).toEqual([
      expect.stringMatching(/^news: \S*mirror\.db: the database is damaged: restore a backup/),
    ]);
  });
});

describe('a walk that waited for its first page, and so began later than it said, leaves them to go on with what changed:', () => {
  test.each([
    ['ship', '3 changes sent'],
    ['lake', '1 file with 2 changes'],
  ])('%s', async (command, done) => {
    const bench = await (command === 'ship' ? setupShip(12) : setupLake());
    const bring = () => bench.run([command, 'ai-signals'], targetOf(bench.there));
    await bench.sync();
    bench.key.active = false;
    expect((await bench.sync('ai-signals')).code).toBe(77);
    expect((await bring()).code).toBe(0);
    bench.key.active = true;
    await bench.clock.sleep(3_600_000);
    edit(bench, 1);
    await bench.sync('ai-signals');
    expect((await bring()).stdout).toContain(`ai-signals: ${done}, `);
  });
});

describe('a command that is told to stop says so in one line, with exit code 75:', () => {
  test.each(['ship', 'lake'])('%s', async (command) => {
    const { environment, clock, there } = await (command === 'ship'
      ? setupMirroredShip(3)
      : setupMirroredLake(3));
    const stop = new AbortController();
    const stopping = {
      ...clock,
      now() {
        stop.abort(new Error('stopped by SIGINT'));
        return clock.now();
      },
    };
    const ended = await runMain([command], { ...environment, ...targetOf(there) }, stopping, stop.signal);
    expect(ended).toEqual({
      code: 75,
      stdout: '',
      stderr: expect.stringMatching(/^market-mirror: (Postgres \S+: )?stopped(; [^\n]+)?\n$/),
    });
  });
});
