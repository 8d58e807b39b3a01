import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { faults, scopes, when } from '../../src/model-api/index.ts';
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
    const { sync, key, model, file } = await setup({ rows: 450 });
    model.beforeAnswer = () => {
      if (model.callsTo('/api/v1/ai-signals').length === 3) key.active = false;
    };
    expect((await sync('ai-signals')).code).toBe(77);
    expect(idsOf(file)).toHaveLength(300);
    key.active = true;
    model.beforeAnswer = undefined;
    const before = model.calls.length;
    expect((await sync('ai-signals')).code).toBe(0);
    expect(model.calls.length - before).toBe(2);
    expect(idsOf(file)).toEqual(truth(model));
  });

  test('lacks one scope, only that job fails', async () => {
    const { sync, key, file } = await setup();
    key.scopes = scopes.filter((scope) => scope !== 'news:read');
    const { code, stderr } = await sync();
    expect(code).toBe(77);
    expect(stderr).toMatch(/news: .*scope/);
    expect(idsOf(file, 'news')).toEqual([]);
    for (const table of ['ai_signals', 'smart_wallets', 'meme_signals'])
      expect(idsOf(file, table)).toHaveLength(130);
    key.scopes = scopes;
    expect((await sync()).code).toBe(0);
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
