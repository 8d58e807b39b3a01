import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { isLock, tryLock } from '../../src/store.ts';
import { startCli } from '../helpers/cli.ts';
import { idsOf, read, setupSync as setup, truth } from '../helpers/sync-bench.ts';
import { sharedClock } from '../helpers/virtual-clock.ts';

describe('when the API', () => {
  test('is unavailable for a moment, recovers', async () => {
    const { sync, model, file } = await setup({ faults: [when({ nth: 2 }, faults.refuse(503))] });
    expect((await sync('ai-signals')).code).toBe(0);
    expect(idsOf(file)).toEqual(truth(model));
  });

  test('is hidden for a moment by a gateway that fails, recovers', async () => {
    const { sync, model, file } = await setup({ faults: [when({ nth: 2 }, faults.html(502))] });
    expect((await sync('ai-signals')).code).toBe(0);
    expect(idsOf(file)).toEqual(truth(model));
  });

  test('is hidden by a gateway for good, ends with 69 in a bounded number of calls, however often, and goes on when it is back', async () => {
    const { sync, model, file } = await setup({ rows: 250, faults: [when({ from: 2 }, faults.html(502))] });
    for (let run = 0; run < 3; run += 1) {
      const before = model.calls.length;
      expect((await sync('ai-signals')).code).toBe(69);
      expect(model.calls.length - before).toBeLessThanOrEqual(4);
    }
    expect(idsOf(file)).toHaveLength(100);
    model.faults = [];
    expect((await sync('ai-signals')).code).toBe(0);
    expect(idsOf(file)).toEqual(truth(model));
  });

  test('stays unavailable, ends with 75 in a bounded number of calls and goes on the next time', async () => {
    const { sync, model, file } = await setup({ rows: 250, faults: [when({ from: 2 }, faults.refuse(503))] });
    expect((await sync('ai-signals', '--no-wait')).code).toBe(75);
    expect(model.calls.length).toBeLessThanOrEqual(4);
    expect(idsOf(file)).toHaveLength(100);
    model.faults = [];
    expect((await sync('ai-signals')).code).toBe(0);
    expect(idsOf(file)).toEqual(truth(model));
  });

  test('answers 429, is waited for without a lock, with a line that says until when and why', async () => {
    const limited = when({ nth: 2 }, faults.refuse(429, { retryAfter: '600' }));
    const { sync, clock, environment, model, file } = await setup({ rows: 250, faults: [limited] });
    const { sleep } = clock;
    const free: boolean[] = [];
    clock.sleep = async (ms, signal) => {
      if (ms > 500_000) {
        const lock = tryLock(environment.MIRROR_DIR, 'ai-signals');
        free.push(isLock(lock));
        if (isLock(lock)) lock.release();
      }
      await sleep(ms, signal);
    };
    const { code, stderr } = await sync('ai-signals');
    expect(code).toBe(0);
    expect(stderr).toMatch(/ai-signals.*waiting until 2026-11-21T12:1\d:.*Z: the API asks to wait/);
    expect(free).toEqual([true]);
    expect(idsOf(file)).toEqual(truth(model));
  });

  test('publishes anew before every answer, is read by anchors instead, and proves that', async () => {
    const { sync, model, file } = await setup();
    let minute = 0;
    model.beforeAnswer = () => {
      minute += 1;
      model.data.aiSignals.generatedAt = new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
    };
    expect((await sync('ai-signals')).code).toBe(0);
    expect(idsOf(file)).toEqual(truth(model));
    expect(read(file, `SELECT verdict FROM freshness WHERE job = 'ai-signals'`)).toEqual([
      { verdict: 'verified' },
    ]);
  });

  test('cannot be reached, ends with 69, and the next run completes', async () => {
    const { sync, model, run } = await setup();
    const { code, stderr } = await run(['sync', 'news'], { MARKET_API_URL: 'http://127.0.0.1:1' });
    expect(code).toBe(69);
    expect(stderr).toContain('cannot be reached');
    expect(stderr).not.toContain('    at ');
    expect((await sync('news')).code).toBe(0);
    expect(model.calls).toHaveLength(3);
  });

  test.each([
    ['HTML', faults.html()],
    ['truncated JSON', faults.truncated()],
    ['an empty body', faults.emptyBody()],
  ])('sends %s with status 200, ends with 65 after bounded tries and loses nothing', async (_name, fault) => {
    const { sync, model, file } = await setup({ rows: 250, faults: [when({ from: 2 }, fault)] });
    expect((await sync('ai-signals')).code).toBe(65);
    expect(model.calls).toHaveLength(3);
    expect(idsOf(file)).toHaveLength(100);
    model.faults = [];
    expect((await sync('ai-signals')).code).toBe(0);
    expect(idsOf(file)).toEqual(truth(model));
  });

  test.each(['source', 'mode'])(
    'sends another %s, halts that dataset alone with 65 and keeps its rows',
    async (name) => {
      const { sync, model, file } = await setup();
      await sync();
      model.faults = [when({ endpoint: 'aiSignals' }, faults.members({ [name]: 'something-else' }))];
      const { code, stderr } = await sync();
      expect(code).toBe(65);
      expect(stderr).toContain(name);
      expect(stderr).toMatch(/news: verified/);
      expect(idsOf(file)).toEqual(truth(model));
    },
  );

  test('sends a row that breaks the contract, quarantines it with its request id and mirrors the others', async () => {
    const { sync, model, file } = await setup({
      faults: [
        when(
          { offset: 0 },
          faults.editRow((row) => ({ ...row, confidence: 'high' }), 3),
        ),
      ],
    });
    expect((await sync('ai-signals')).code).toBe(0);
    expect(idsOf(file)).toHaveLength(129);
    const [row] = read<Record<string, string>>(file, 'SELECT * FROM quarantine');
    expect(row).toMatchObject({
      job: 'ai-signals',
      key: model.data.aiSignals.rows[3]?.['id'],
      request_id: model.calls[0]?.requestId,
    });
    expect(JSON.parse(row?.['problems'] ?? '')).toEqual([
      { path: 'confidence', expected: 'a value of type number', received: 'string' },
    ]);
    expect(JSON.parse(row?.['body'] ?? '')).toMatchObject({ confidence: 'high' });
  });

  test('sends a property the contract does not list, keeps it in `extra` and counts it as drift', async () => {
    const { sync, model, file } = await setup({
      faults: [when({ offset: 0 }, faults.extraProperty('mood', 'calm', 2))],
    });
    expect((await sync('ai-signals')).code).toBe(0);
    const id = model.data.aiSignals.rows[2]?.['id'];
    expect(read(file, `SELECT extra FROM ai_signals WHERE id = '${id}'`)).toEqual([
      { extra: '{"mood":"calm"}' },
    ]);
    expect(read(file, 'SELECT drifted FROM walks')).toEqual([{ drifted: 1 }]);
    expect(read(file, 'SELECT kind, path FROM drift')).toEqual([{ kind: 'extra-property', path: 'mood' }]);
  });
});

test.each([
  [1, 'ai-signals', 'ai_signals'],
  [4, 'ai-signals', 'ai_signals'],
  [2, 'news', 'news'],
  [7, 'news', 'news'],
])('kill -9 after %i calls for %s loses nothing and costs two calls at most', async (after, job, table) => {
  const { cwd, environment, sync, model, file } = await setup({ rows: 1_250, latencyMs: 5 }, sharedClock());
  const killed = startCli(['sync', job], environment, cwd);
  await expect.poll(() => model.calls.length, { interval: 1 }).toBeGreaterThanOrEqual(after);
  killed.child.kill('SIGKILL');
  await killed.ended;
  expect((await sync(job)).code).toBe(0);
  expect(idsOf(file, table)).toHaveLength(1_250);
  expect(model.calls.length).toBeLessThanOrEqual((job === 'news' ? 14 : 13) + 2);
  expect(read(file, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
});

test('SIGTERM stops a sync at the next page with 75, and the next run goes on', async () => {
  const { cwd, environment, sync, model, file } = await setup({ rows: 450, latencyMs: 30 }, sharedClock());
  const stopped = startCli(['sync', 'ai-signals'], environment, cwd);
  await expect.poll(() => model.calls.length, { interval: 5 }).toBeGreaterThanOrEqual(2);
  stopped.child.kill('SIGTERM');
  expect((await stopped.ended).code).toBe(75);
  expect((await sync('ai-signals')).code).toBe(0);
  expect(model.calls.length).toBeLessThanOrEqual(6);
  expect(idsOf(file)).toEqual(truth(model));
});

test('two syncs at once never walk one job twice', async () => {
  const { cwd, environment, run, model, file } = await setup({ rows: 450 }, sharedClock());
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  model.beforeAnswer = () => held;
  const first = startCli(['sync', 'ai-signals'], environment, cwd);
  await expect.poll(() => model.calls.length, { interval: 5 }).toBe(1);
  const second = await run(['sync', 'ai-signals']);
  letGo();
  expect(second.code).toBe(75);
  expect(second.stderr).toContain(`process ${first.child.pid}`);
  expect((await first.ended).code).toBe(0);
  expect(model.calls).toHaveLength(5);
  expect(idsOf(file)).toEqual(truth(model));
});

describe('when the disk', () => {
  test('is full, ends with 74, and the next run with room completes', async () => {
    const { cwd, environment, sync, model, file } = await setup({ rows: 3_000 }, sharedClock());
    // A limit on the size of files stands in for a disk without room; the signal that it sends is ignored.
    const full = await startCli(['sync', 'ai-signals'], environment, cwd, `trap '' XFSZ; ulimit -f 3000;`)
      .ended;
    expect(full.stderr).toContain('mirror.db');
    expect(full.code).toBe(74);
    expect((await sync('ai-signals')).code).toBe(0);
    expect(idsOf(file)).toEqual(truth(model));
  });

  test('holds no database but something else, ends with 74 and leaves it alone', async () => {
    const { cwd, sync, file } = await setup();
    mkdirSync(join(cwd, 'data'));
    writeFileSync(file, 'not a database, and far too short for one'.repeat(40));
    const before = readFileSync(file, 'utf8');
    const { code, stderr } = await sync('usage');
    expect(code).toBe(74);
    expect(stderr).toContain('not a database');
    expect(readFileSync(file, 'utf8')).toBe(before);
  });
});
