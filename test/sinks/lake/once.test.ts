import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findJob, listJobs } from '../../../src/job-list.ts';
import { loadDataset } from '../../../src/sinks/lake/dataset.ts';
import { openDisk, type Storage } from '../../../src/sinks/lake/storage.ts';
import { type Identity, identityOf, openMirror } from '../../../src/store/read.ts';
import { runCli, startCli } from '../../helpers/cli.ts';
import { edit } from '../edit.ts';
import { expectEqual, setup, setupMirrored } from './bench.ts';

/** `lake` of the built program, which can be killed. */
async function processes(rows = 12) {
  const bench = await setup({ rows });
  const environment = { MIRROR_DIR: bench.environment.MIRROR_DIR, MIRROR_LAKE: bench.there };
  return {
    ...bench,
    start: (before?: string) => startCli(['lake'], environment, bench.cwd, before),
    run: () => runCli(['lake'], environment, bench.cwd),
  };
}

test('two lakes at once, killed again and again, put every change once', async () => {
  const { sync, start, run, there, file, model, clock } = await processes();
  await sync();
  const began = performance.now();
  await run();
  const takes = performance.now() - began;
  for (let round = 1; round <= 6; round += 1) {
    clock.advance(9 * 3_600_000);
    edit({ model, clock }, round);
    await sync('ai-signals');
    const both = [start(), start()];
    // At moments that are spread over all that one does.
    const timers = both.map(({ child }, at) =>
      setTimeout(() => child.kill('SIGKILL'), takes * (0.35 + 0.11 * round + 0.05 * at)),
    );
    onTestFinished(() => timers.forEach(clearTimeout));
    const ended = await Promise.all(both.map(({ ended }) => ended));
    timers.forEach(clearTimeout);
    expect(ended.filter(({ code }) => code !== 0 && code !== null)).toEqual([]);
  }
  expect(await run()).toMatchObject({ code: 0 });
  await expectEqual(file, there);
}, 60_000);

test('lakes that come to one range at the same moment put it there once', async () => {
  const { sync, lake, there, file, model, clock } = await setupMirrored(12);
  expect((await Promise.all([lake(), lake(), lake()])).map(({ code }) => code)).toEqual([0, 0, 0]);
  edit({ model, clock }, 1);
  await sync();
  const ended = await Promise.all([lake(), lake(), lake()]);
  expect(ended.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(readdirSync(join(there, 'ai_signals/changes'))).toEqual(['course=1']);
  await expectEqual(file, there);
});

test('one that was overtaken by a lake which knew more goes on where that one has ended', async () => {
  const { sync, lake, there, file, model, clock, environment } = await setupMirrored(12);
  await lake('news');
  const jobs = await listJobs();
  const job = findJob(jobs, 'ai-signals');
  const connection = openMirror(environment.MIRROR_DIR);
  onTestFinished(() => void connection.close());
  const identity = identityOf(connection) as Identity;
  const storage = openDisk(there, clock.now());
  let isBehind = false;
  const beaten: Storage['put'] = async (path, make) => {
    if (path.endsWith('.parquet') && !isBehind) {
      isBehind = true;
      edit({ model, clock }, 1);
      await sync('ai-signals');
      expect((await lake()).code).toBe(0);
    }
    return await storage.put(path, make);
  };
  const parts = { connection, identity, job, now: clock.now(), keepMs: Number.POSITIVE_INFINITY };
  const laid = await loadDataset({ ...parts, storage: { ...storage, put: beaten } });
  expect(laid.files).toEqual([]);
  expect(readdirSync(join(there, 'ai_signals/changes'))).toEqual(['course=1']);
  await expectEqual(file, there);
});

test('a disk that has no room is named, nothing half is left, and the next lake goes on', async () => {
  const { sync, start, run, there, file } = await processes(600);
  await sync();
  // As a file that may not grow, though the index of the mirror's log may.
  const { code, stdout, stderr } = await start('ulimit -f 80;').ended;
  expect(code).toBe(74);
  expect(stdout + stderr).toContain('EFBIG');
  const left = existsSync(join(there, '_partial')) ? readdirSync(join(there, '_partial')) : [];
  expect(left).toEqual([]);
  expect(await run()).toMatchObject({ code: 0 });
  await expectEqual(file, there);
});

test('a lake where a file stands is refused in one line', async () => {
  const { lake, there } = await setupMirrored(3);
  writeFileSync(there, 'a file');
  const { code, stderr } = await lake();
  expect([code, stderr.trim().split('\n').length]).toEqual([74, 1]);
  expect(stderr).toContain('ENOTDIR');
});
