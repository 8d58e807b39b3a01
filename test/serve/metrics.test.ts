import { spawnSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { declaredMetrics } from '../../scripts/docs/pages.ts';
import { initialState } from '../../src/governor/state.ts';
import { METRICS_SCOPE } from '../../src/serve/access/keys.ts';
import type { Readiness } from '../../src/serve/answers/shapes.ts';
import { gate } from '../helpers/gate.ts';
import { runMain } from '../helpers/main.ts';
import { type ServeBenchOptions, setupServe } from '../helpers/serve-bench.ts';
import { needs } from '../helpers/tools.ts';
import { getter } from './client.ts';
import { limitsOf } from './support.ts';

const NEWS = '/api/v1/news';
const MINUTE = 60_000;
const everyJob = ['ai-signals', 'news', 'smart-wallets', 'meme-signals', 'usage'];

/** A service that is watched; `scrape` waits until what was kept of the last one is forgotten. */
async function setupWatched(options: ServeBenchOptions = {}) {
  const serve = await setupServe({ rows: 30, walked: everyJob, ...options });
  const { bench, url } = serve;
  const read = async () => (await getter(url)('/metrics')).bytes.toString();
  return {
    ...serve,
    read,
    /** The samples by name and labels, as they stand in the text: `market_mirror_dataset_rows{job="news"}`. */
    async scrape(): Promise<Map<string, number>> {
      bench.clock.advance(1_000);
      const lines = (await read()).matchAll(/^(?!#)(.+) (\S+)$/gm);
      return new Map([...lines].map(([, name = '', value]) => [name, Number(value)]));
    },
    async ready() {
      bench.clock.advance(1_000);
      const { status, headers, json } = await getter(url)('/readyz');
      const { datasets, ...rest } = json as Readiness;
      const of = (name: string) => datasets.find(({ job }) => job === name);
      return { status, headers, datasets, of, ...rest };
    },
  };
}

/** Our samples, without those that differ from run to run, and those of many that are 0. */
function shownOf(text: string): string {
  const lines = text.split('\n').filter((line) => line.startsWith('market_mirror_'));
  const masked = lines
    .filter((line) => !/_(seconds_(bucket|sum)|build_info)|,.* 0$/.test(line))
    .map((line) =>
      line.replace(/(?<=^market_mirror_(database|log|free|http_response)_bytes\S*) [1-9]\d*$/, ' some'),
    );
  return `${masked.join('\n')}\n`;
}

test('Prometheus is told of each dataset as status tells it, in its text format', async () => {
  needs('promtool');
  const { bench, url, issue, scrape, read } = await setupWatched({ walked: everyJob.slice(0, -1) });
  await getter(url, issue().key)(NEWS);
  Object.assign(bench.upstream('ai-signals').rows[2] ?? {}, { confidence: 'high' });
  Object.assign(bench.upstream('ai-signals').rows[3] ?? {}, { surprise: 1 });
  await bench.mirror('ai-signals');
  const learnt = initialState();
  Object.assign(learnt.pools[''] ?? {}, {
    limit: 100,
    left: 90,
    hasHeader: true,
    knownAt: bench.clock.now(),
  });
  bench.store.governor.transact(() => ({ state: learnt, result: undefined }));
  bench.clock.advance(MINUTE);
  await scrape();
  const text = await read();
  const { headers } = await getter(url)('/metrics');
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text });
  expect([status, `${stdout}${stderr}`]).toEqual([0, '']);
  const told = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => `${name} ${type}`);
  expect(told.sort()).toEqual(
    declaredMetrics()
      .map(({ name, type }) => `${name} ${type}`)
      .sort(),
  );
  await expect(shownOf(text)).toMatchFileSnapshot('metrics.txt');
});

test('without a mirror that can be read the process goes on telling of itself, and of nothing else', async () => {
  const { bench, url, scrape } = await setupWatched();
  const file = join(bench.dir, 'mirror.db');
  renameSync(file, `${file}.away`);
  const samples = await scrape();
  expect(samples.get('market_mirror_up')).toBe(0);
  expect([...samples.keys()].filter((name) => /_(dataset|quota|problem|daemon)_?/.test(name))).toEqual([]);
  expect(samples.get('process_resident_memory_bytes')).toBeGreaterThan(0);
  expect((await getter(url)('/readyz')).json).toEqual({
    ready: false,
    mirror: 'unreadable',
    keys: 'readable',
    datasets: [],
  });
  renameSync(`${file}.away`, file);
  expect((await scrape()).get('market_mirror_up')).toBe(1);
});

test('requests are counted and leave one line each, with nothing in it that the client made up', async () => {
  const { url, issue, scrape, read, log } = await setupWatched({ walked: ['news'] });
  const { key, record } = issue({ name: 'desk', account: 'research' });
  const get = getter(url, key);
  const { headers, bytes } = await get(`${NEWS}?q=secret-word`, { 'user-agent': 'made-up-agent' });
  await get(NEWS, { 'if-none-match': '*' });
  for (const path of ['/made-up', '/api/v1/news/made-up', '/made%2dup']) await get(path);
  await getter(url, 'mmkey_wrong')(NEWS);
  const poor = getter(url, issue({ name: 'poor' }, limitsOf('1/1d')).key);
  for (const status of [200, 429]) expect(await poor(NEWS)).toMatchObject({ status });
  const samples = await scrape();
  const count = (name: string) => samples.get(`market_mirror_http_${name}`);
  const requests = (code: number) => count(`requests_total{route="news",code="${code}"}`);
  expect([200, 304, 401, 429].map(requests)).toEqual([2, 1, 1, 1]);
  expect(count('requests_total{route="other",code="404"}')).toBe(3);
  expect(count('request_duration_seconds_count{route="news"}')).toBe(5);
  expect(count('response_bytes_total{route="news"}')).toBeGreaterThan(1_000);
  expect(['quota', 'failures'].map((limit) => count(`limited_total{limit="${limit}"}`))).toEqual([1, 0]);
  const [line] = log()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg === 'answered');
  expect(line).toEqual({
    ...{ level: 30, time: expect.any(Number), msg: 'answered', requestId: headers['x-request-id'] },
    ...{ route: 'news', method: 'GET', status: 200, ms: expect.any(Number), bytes: bytes.length },
    ...{ address: '127.0.0.1', keyId: record.id, account: 'research', limit: null },
  });
  for (const said of [key, key.slice(7, 20), 'mmkey_', 'made', 'secret-word', 'Bearer'])
    for (const text of [log(), await read()]) expect(text).not.toContain(said);
  expect(await read()).not.toContain('research');
});

test('/metrics needs no key on this machine, and elsewhere one that may read it', async () => {
  const here = await setupServe({ rows: 5, walked: [] });
  expect((await getter(here.url)('/metrics')).status).toBe(200);
  const { url, issue } = await setupServe({ rows: 5, walked: [], settings: { trusted: ['127.0.0.0/8'] } });
  const from = async (address: string | null, key?: string) =>
    (await getter(url, key)('/metrics', address === null ? {} : { 'x-forwarded-for': address })).status;
  expect(await from('192.0.2.7')).toBe(401);
  expect(await from('192.0.2.7', issue({ scopes: ['news:read'] }).key)).toBe(403);
  const key = issue({ name: 'watcher', scopes: [METRICS_SCOPE], addresses: ['192.0.2.0/24'] }).key;
  expect([await from('192.0.2.7', key), await from('198.51.100.7', key)]).toEqual([200, 403]);
  // A proxy that forgets its header shows nobody's address.
  expect([await from(null), await from('127.0.0.1')]).toEqual([401, 401]);
  for (const path of ['/healthz', '/readyz'])
    expect((await getter(url)(path, { 'x-forwarded-for': '192.0.2.7' })).status).not.toBe(401);
});

describe('/readyz', () => {
  test('is ready as long as status calls every dataset fresh, and names the others', async () => {
    const { bench, ready } = await setupWatched();
    for (const minutes of [0, 4, 2, 5, 20, 20]) {
      bench.clock.advance(minutes * MINUTE);
      const { status, ready: isReady, datasets } = await ready();
      const { stdout } = await runMain(['status', '--json'], { MIRROR_DIR: bench.dir }, bench.clock);
      const told = JSON.parse(stdout) as { datasets: { job: string; fresh: boolean; ageSeconds: number }[] };
      expect(datasets.map(({ job, ready, ageSeconds }) => [job, ready, ageSeconds])).toEqual(
        told.datasets.map(({ job, fresh, ageSeconds }) => [job, fresh, ageSeconds]),
      );
      const all = told.datasets.every(({ fresh }) => fresh);
      expect([status, isReady]).toEqual([all ? 200 : 503, all]);
    }
  });

  test('holds a dataset to the age that may be answered, where that is less', async () => {
    const maxAgeMs = { news: 2 * MINUTE, usage: 24 * 60 * MINUTE };
    const { bench, ready } = await setupWatched({ settings: { maxAgeMs } });
    const of = async (name: string) => (await ready()).of(name);
    expect(await of('news')).toMatchObject({ ready: true, boundSeconds: 120, why: null });
    expect(await of('usage')).toMatchObject({ ready: true, boundSeconds: 1_800 });
    bench.clock.advance(2 * MINUTE);
    expect(await of('news')).toMatchObject({ ready: false, why: 'too-old' });
    bench.clock.advance(10 * MINUTE);
    expect(await of('news')).toMatchObject({ ready: false, why: 'stale' });
    expect(await of('usage')).toMatchObject({ ready: true });
  });

  test('is not ready for what was never proven, or by a clock that was set back; asks nothing of what is off', async () => {
    const { bench, ready } = await setupWatched({ walked: ['news'] });
    const before = await ready();
    expect(before).toMatchObject({ status: 503, headers: { 'retry-after': '30' }, mirror: 'readable' });
    expect(before.of('usage')).toMatchObject({ ready: false, why: 'never-complete' });
    bench.clock.jump(-60 * MINUTE);
    expect((await ready()).of('news')).toMatchObject({ ready: false, why: 'clock-ahead' });
    const off = Object.fromEntries(everyJob.map((job) => [job, 'off' as const]));
    const schedules = { ...off, news: { every: MINUTE } };
    const other = await setupWatched({ walked: ['news'], settings: { schedules } });
    expect(await other.ready()).toMatchObject({ status: 200, datasets: [{ job: 'news' }] });
  });
});

test('calls in flight are counted, also those that wait behind one another, and all end with their connection', async () => {
  const held = gate();
  let waiting = 0;
  const beforeAnswer = () => {
    waiting += 1;
    return held.passed;
  };
  const { url, issue, scrape, log } = await setupWatched({ walked: ['news'], beforeAnswer });
  const keys = ['first', 'second'].map((name) => issue({ name }, { concurrency: 1 }).key);
  const client = connect(Number(new URL(url).port), '127.0.0.1');
  for (const key of keys)
    client.write(`GET ${NEWS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  await expect.poll(() => waiting).toBe(2);
  const underWay = async () => (await scrape()).get('market_mirror_http_requests_in_progress');
  // The scrape is one itself.
  expect(await underWay()).toBe(3);
  client.destroy();
  await expect.poll(underWay).toBe(1);
  expect((await scrape()).get('market_mirror_http_requests_total{route="news",code="499"}')).toBe(2);
  held.open();
  for (const key of keys)
    expect(await getter(url, key)(NEWS), 'its place is free again').toMatchObject({ status: 200 });
  expect(log().match(/"status":499/g)).toHaveLength(2);
});
