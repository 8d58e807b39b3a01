/** `sync`: a pass over datasets, whatever becomes of the key, the API, the process and the disk meanwhile. */

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { faults, scopes, when } from '../../model-api/index.ts';
import { main } from '../../src/commands.ts';
import { isLock, tryLock } from '../../src/store.ts';
import { startCli } from '../helpers/cli.ts';
import { gate } from '../helpers/gate.ts';
import { runMain } from '../helpers/main.ts';
import { idsOf, read, setupSync as setup, truth } from '../helpers/sync-bench.ts';
import { sharedClock } from '../helpers/virtual-clock.ts';

const everyJob = ['ai-signals', 'meme-signals', 'news', 'smart-wallets', 'usage'];

test('mirrors all five datasets, completely, in the calls that it takes', async () => {
  const { sync, file, model } = await setup();
  const { code, stderr } = await sync();
  expect(stderr).toMatch(/ai-signals: snapshot: 130 rows in 2 calls/);
  expect(code).toBe(0);
  expect(idsOf(file)).toEqual(truth(model));
  for (const table of ['news', 'smart_wallets', 'meme_signals']) expect(idsOf(file, table)).toHaveLength(130);
  expect(read(file, 'SELECT * FROM usage')).toHaveLength(1);
  expect(model.calls).toHaveLength(2 + 3 * 3 + 1);
});

test('mirrors only the jobs that are named, and prints the outcome as JSON on demand', async () => {
  const { sync, model } = await setup();
  const { code, stdout } = await sync('news', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject([
    { job: 'news', exitCode: 0, walk: { verdict: 'verified', inserted: 130 } },
  ]);
  expect(new Set(model.calls.map(({ path }) => path))).toEqual(new Set(['/api/v1/news']));
});

test('keeps every call with its request id and quota in `requests`', async () => {
  const { sync, file, model } = await setup({ quota: { limit: 100, periodMs: 60_000 } });
  await sync('ai-signals');
  const requests = read(
    file,
    'SELECT job, walk_id, url, status, request_id, rate_limit, rate_remaining FROM requests',
  );
  expect(requests).toEqual(
    model.calls.map(({ requestId }, at) => ({
      job: 'ai-signals',
      walk_id: 1,
      url: `/api/v1/ai-signals?offset=${at * 100}&limit=100`,
      status: 200,
      request_id: requestId,
      rate_limit: 100,
      rate_remaining: 99 - at,
    })),
  );
});

describe('when the key', () => {
  test('is revoked in the middle, keeps the place and goes on from there', async () => {
    const { sync, run, key, model, file } = await setup({ rows: 450 });
    model.beforeAnswer = () => {
      if (model.callsTo('/api/v1/ai-signals').length === 3) key.active = false;
    };
    expect((await sync('ai-signals')).code).toBe(77);
    expect(idsOf(file)).toHaveLength(300);
    key.active = true;
    model.beforeAnswer = undefined;
    const before = model.calls.length;
    await run(['doctor']);
    expect((await sync('ai-signals')).code).toBe(0);
    expect(model.calls.length - before).toBe(everyJob.length + 2);
    expect(idsOf(file)).toEqual(truth(model));
  });

  test('lacks one scope, only that job fails', async () => {
    const { sync, run, key, file } = await setup();
    key.scopes = scopes.filter((scope) => scope !== 'news:read');
    const { code, stderr } = await sync();
    expect(code).toBe(77);
    expect(stderr).toMatch(/news: .*scope/);
    expect(idsOf(file, 'news')).toEqual([]);
    for (const table of ['ai_signals', 'smart_wallets', 'meme_signals'])
      expect(idsOf(file, table)).toHaveLength(130);
    key.scopes = scopes;
    await run(['doctor']);
    expect((await sync()).code).toBe(0);
  });

  test('was refused, a sync run by cron does not try it at each run, but once an hour, and another one at once', async () => {
    const { sync, run, key, model, clock, file } = await setup();
    key.active = false;
    await sync('usage');
    const calls = model.calls.length;
    const again = await sync('usage');
    expect([again.code, model.calls.length]).toEqual([77, calls]);
    expect(again.stderr).toMatch(
      /^usage: the API refused the key; it is tried again at \d\d:\d\d:\d\d UTC; to try now, .* market-mirror doctor$/m,
    );
    await clock.sleep(3_600_000);
    await sync('usage');
    expect(model.calls.length).toBe(calls + 1);
    model.keys.push({ ...key, key: 'canary-key-rotated', active: true });
    expect((await run(['sync', 'usage'], { MARKET_API_KEY: 'canary-key-rotated' })).code).toBe(0);
    expect(model.calls.length).toBe(calls + 2);
    const [{ state }] = read<{ state: string }>(file, 'SELECT state FROM _governor') as [{ state: string }];
    expect(state).not.toContain('canary');
  });

  test('is refused, all datasets say so once, and no longer once a call with another one was answered', async () => {
    const { sync, run, key, clock, model } = await setup({ rows: 5 });
    expect((await sync('news')).code).toBe(0);
    key.active = false;
    clock.advance(3_600_000);
    const before = model.calls.length;
    const all = await sync();
    expect(all.code).toBe(77);
    expect(model.calls.length - before).toBeLessThanOrEqual(everyJob.length);
    const named = 'ai-signals, meme-signals, news, smart-wallets, usage';
    const lines = all.stderr.trim().split('\n');
    expect(lines).toEqual([expect.stringMatching(/^[\w-]+(, [\w-]+){4}: the API refused the key[:;]/)]);
    expect(lines[0]?.split(':')[0]?.split(', ').sort().join(', ')).toBe(named);

    const refused = await run(['status']);
    expect(refused.code).toBe(77);
    expect(refused.stdout.match(/refuse/g)).toHaveLength(1);
    expect(refused.stdout).toContain(
      '✗ the API refuses the key (401)\n  news is stale; ai-signals, meme-signals, smart-wallets, usage have never been complete',
    );
    expect(refused.stdout).toMatch(/→ set a valid MARKET_API_KEY.*; next try in 1h$/m);

    key.active = true;
    clock.advance(3_600_000);
    expect((await run(['status'])).stdout).toMatch(/→ set a valid MARKET_API_KEY.*; the next run tries it$/m);
    expect((await sync('usage')).code).toBe(0);
    const works = await run(['status']);
    expect(works.stdout).not.toMatch(/refuse|tried again|failed|\d\.\d{3}Z/);
    expect(works.stdout.match(/^✗ .*\n.*/gm)).toEqual([
      expect.stringMatching(
        /^✗ no daemon is running\n {2}news.* stale; ai-signals, meme-signals, smart-wallets have never been complete$/,
      ),
    ]);
    expect(works.code).toBe(75);
  });

  test('was refused, a person at a terminal may try it at any time', async () => {
    const { sync, environment, clock, key, model } = await setup();
    key.active = false;
    await sync('usage');
    key.active = true;
    const output = { write: () => undefined, isTTY: true };
    const signal = new AbortController().signal;
    const surroundings = { environment, clock, random: () => 0.5, signal };
    expect(await main(['sync', 'usage'], { ...surroundings, stdout: output, stderr: output })).toBe(0);
    expect(model.calls.length).toBe(2);
  });
});

test('a dataset whose schedule is off is left alone by a sync of everything, which says so, and mirrored where it is named', async () => {
  const { run, model, file } = await setup();
  const off = { MIRROR_SCHEDULE_NEWS: 'off' };
  const { code, stderr, stdout } = await run(['sync', '--json'], off);
  expect([code, model.callsTo('/api/v1/news').length]).toEqual([0, 0]);
  expect(stderr).toMatch(/^not mirrored, since the schedule is off: news; name a job to mirror it once$/m);
  expect(JSON.parse(stdout).map(({ job }: { job: string }) => job)).not.toContain('news');
  expect((await run(['sync', 'news'], off)).code).toBe(0);
  expect(idsOf(file, 'news')).toHaveLength(130);
});

describe('when the API', () => {
  test.each([
    ['is hidden by a gateway', faults.html(502), [], 69],
    ['stays unavailable', faults.refuse(503), ['--no-wait'], 75],
    ['sends HTML with status 200', faults.html(), [], 65],
  ])(
    '%s for good, ends in a bounded number of calls, however often, and goes on when it is back',
    async (_, fault, args, code) => {
      const { sync, model, file } = await setup({ rows: 250, faults: [when({ from: 2 }, fault)] });
      for (let run = 0; run < 2; run += 1) {
        const before = model.calls.length;
        expect((await sync('ai-signals', ...args)).code).toBe(code);
        // The first run asks for fewer and fewer rows; from then on it is known that nothing comes.
        expect(model.calls.length - before).toBeLessThanOrEqual(run === 0 ? 17 : 8);
      }
      expect(idsOf(file)).toHaveLength(100);
      model.faults = [];
      expect((await sync('ai-signals')).code).toBe(0);
      expect(idsOf(file)).toEqual(truth(model));
    },
  );

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
    expect(stderr).toMatch(/ai-signals: waiting until 12:1\d:\d\d UTC: the API asks to wait$/m);
    expect(free).toEqual([true]);
    expect(idsOf(file)).toEqual(truth(model));
  });
});

test('kill -9 loses nothing, leaves files that only their owner can read, and only calls in flight are repeated', async () => {
  const after = 7;
  const { cwd, environment, sync, model, file } = await setup({ rows: 850 }, sharedClock());
  const held = gate();
  model.beforeAnswer = () => (model.calls.length > after ? held.passed : undefined);
  const killed = startCli(['sync', 'news'], environment, cwd);
  await expect.poll(() => model.calls.length).toBeGreaterThan(after);
  await expect.poll(() => read(file, 'SELECT 1 FROM requests')).toHaveLength(after);
  killed.child.kill('SIGKILL');
  await killed.ended;
  const dir = environment.MIRROR_DIR;
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(dir, { recursive: true }) as string[])
    expect([name, statSync(join(dir, name)).mode & 0o077]).toEqual([name, 0]);
  const inFlight = model.calls.length - after;
  held.open();
  expect((await sync('news')).code).toBe(0);
  expect(idsOf(file, 'news')).toHaveLength(850);
  expect(inFlight).toBeLessThanOrEqual(2);
  expect(model.calls.length).toBeLessThanOrEqual(10 + inFlight);
  expect(read(file, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
});

test('a sync that is stopped ends at the next page with 75, and the next run goes on', async () => {
  const { environment, clock, sync, model, file } = await setup({ rows: 450 });
  const stop = new AbortController();
  model.beforeAnswer = () => {
    if (model.calls.length === 2) stop.abort(new Error('stopped by SIGTERM'));
  };
  expect((await runMain(['sync', 'ai-signals'], environment, clock, stop.signal)).code).toBe(75);
  model.beforeAnswer = undefined;
  expect((await sync('ai-signals')).code).toBe(0);
  // The window that was under way may be asked for again.
  expect(model.calls.length).toBeLessThanOrEqual(5 + 4);
  expect(idsOf(file)).toEqual(truth(model));
});

test('two syncs at once never walk one job twice', async () => {
  const { run, model, file } = await setup({ rows: 450 });
  const held = gate();
  model.beforeAnswer = () => held.passed;
  const first = run(['sync', 'ai-signals']);
  await expect.poll(() => model.calls.length, { interval: 5 }).toBe(1);
  const second = await run(['sync', 'ai-signals']);
  held.open();
  expect([second.code, second.stderr]).toEqual([75, expect.stringContaining(`process ${process.pid}`)]);
  expect((await first).code).toBe(0);
  expect(model.calls).toHaveLength(5);
  expect(idsOf(file)).toEqual(truth(model));
});

test('when the disk is full, ends with 74, and the next run with room completes', async () => {
  const { cwd, environment, sync, model, file } = await setup({ rows: 1_500 }, sharedClock());
  // A limit on the size of files stands in for a disk without room; the signal that it sends is ignored.
  const full = await startCli(['sync', 'ai-signals'], environment, cwd, `trap '' XFSZ; ulimit -f 1500;`)
    .ended;
  expect(full.stderr).toContain('mirror.db');
  expect(full.code).toBe(74);
  expect((await sync('ai-signals')).code).toBe(0);
  expect(idsOf(file)).toEqual(truth(model));
});
