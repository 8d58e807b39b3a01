import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { faults, scopes, when } from '../../model-api/index.ts';
import { main } from '../../src/main.ts';
import { runCli } from '../helpers/cli.ts';
import { CANARY, idsOf, read, setupSync as setup, truth } from '../helpers/sync-bench.ts';

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

test('writes files that only their owner can read', async () => {
  const { cwd, environment } = await setup();
  expect((await runCli(['sync', 'usage'], environment, cwd)).code).toBe(0);
  const dir = join(cwd, 'data');
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(dir, { recursive: true }) as string[])
    expect([name, statSync(join(dir, name)).mode & 0o077]).toEqual([name, 0]);
});

describe('when the key', () => {
  test('is refused from the beginning, ends with 77 after one call at most for each job under way', async () => {
    const { sync, key, model } = await setup();
    key.active = false;
    const { code, stderr } = await sync();
    expect(code).toBe(77);
    expect(stderr).toContain('refused the key');
    expect(model.calls.length).toBeLessThanOrEqual(everyJob.length);
  });

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
      /refused the key; it is tried again at \S+Z; to try now, .* market-mirror doctor/,
    );
    await clock.sleep(3_600_000);
    await sync('usage');
    expect(model.calls.length).toBe(calls + 1);
    model.keys.push({ ...key, key: 'canary-key-rotated', active: true });
    expect((await run(['sync', 'usage'], { MARKET_API_KEY: 'canary-key-rotated' })).code).toBe(0);
    expect(model.calls.length).toBe(calls + 2);
    const [{ state }] = read<{ state: string }>(file, 'SELECT state FROM governor') as [{ state: string }];
    expect(state).not.toContain('canary');
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

describe('a dataset whose schedule is off', () => {
  test('is left alone by a sync of everything, which says so, and mirrored where it is named', async () => {
    const { run, model, file } = await setup();
    const off = { MIRROR_SCHEDULE_NEWS: 'off' };
    const { code, stderr, stdout } = await run(['sync', '--json'], off);
    expect([code, model.callsTo('/api/v1/news').length]).toEqual([0, 0]);
    expect(stderr).toMatch(/^not mirrored, since the schedule is off: news; name a job to mirror it once$/m);
    expect(JSON.parse(stdout).map(({ job }: { job: string }) => job)).not.toContain('news');
    expect((await run(['sync', 'news'], off)).code).toBe(0);
    expect(idsOf(file, 'news')).toHaveLength(130);
  });
});

test('the key is in no file that a sync leaves behind', async () => {
  const { sync, cwd } = await setup({ faults: [when({ nth: 3 }, faults.status(500, { error: CANARY }))] });
  await sync();
  for (const name of readdirSync(cwd, { recursive: true }) as string[]) {
    const file = join(cwd, name);
    if (statSync(file).isFile()) expect([name, readFileSync(file).includes(CANARY)]).toEqual([name, false]);
  }
});

describe('wrong use', () => {
  test.each([
    ['an unknown command', ['snyc']],
    ['an unknown job', ['sync', 'nwes']],
    ['an unknown option', ['sync', '--fast']],
  ])('%s is 64 with one line that helps', async (_name, args) => {
    const { run, model } = await setup();
    const { code, stderr, stdout } = await run(args);
    expect(code).toBe(64);
    expect(stdout).toBe('');
    expect(stderr).not.toContain('    at ');
    expect(model.calls).toEqual([]);
  });

  test('missing settings are 78, named', async () => {
    const { cwd } = await setup();
    const { code, stderr } = await runCli(['sync'], {}, cwd);
    expect(code).toBe(78);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stderr).toContain('MARKET_API_URL');
  });
});
