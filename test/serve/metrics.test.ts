import { spawnSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { initialState } from '../../src/governor/state.ts';
import { METRICS_SCOPE } from '../../src/serve/service/keys.ts';
import { setupServe } from '../helpers/serve-bench.ts';
import { needs } from '../helpers/tools.ts';
import { getter } from './client.ts';
import { everyJob, samplesIn, setupWatched } from './metrics/support.ts';

const NEWS = '/api/v1/news';
const DAY = 86_400_000;

describe('what Prometheus reads', () => {
  test('is in its text format, and promtool finds nothing wrong with it', async () => {
    needs('promtool');
    const { url, issue, read } = await setupWatched();
    await getter(url, issue().key)(NEWS);
    const { headers } = await getter(url)('/metrics');
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: await read() });
    expect([status, `${stdout}${stderr}`]).toEqual([0, '']);
  });

  test('tells of each dataset what status tells', async () => {
    const { bench, scrape } = await setupWatched();
    Object.assign(bench.upstream('ai-signals').rows[2] ?? {}, { confidence: 'high' });
    Object.assign(bench.upstream('ai-signals').rows[3] ?? {}, { surprise: 1 });
    await bench.mirror('ai-signals');
    const learnt = initialState();
    Object.assign(learnt.quota, { limit: 100, level: 90, asOfAt: bench.clock.now() });
    bench.store.governor.transact(() => ({ state: learnt, result: undefined }));
    bench.clock.advance(60_000);
    const samples = await scrape();
    for (const job of everyJob) {
      const of = (name: string) => samples.get(`market_mirror_dataset_${name}{job="${job}"}`);
      expect([job, of('rows')]).toEqual([job, job === 'usage' ? 1 : 30]);
      expect([job, of('proven_age_seconds'), of('seen_age_seconds')]).toEqual([job, 61, 61]);
      expect([job, of('ready'), of('held_rows')]).toEqual([job, 1, 0]);
      const isSignals = job === 'ai-signals';
      expect([job, of('quarantined_rows'), of('drifts')]).toEqual([job, +isSignals, +isSignals]);
      const verdict = ['ai-signals', 'usage'].includes(job) ? 'snapshot' : 'verified';
      for (const each of ['snapshot', 'verified', 'none'])
        expect(samples.get(`market_mirror_dataset_verdict{job="${job}",verdict="${each}"}`)).toBe(
          +(each === verdict),
        );
    }
    expect(samples.get('market_mirror_dataset_bound_seconds{job="news"}')).toBe(600);
    expect(samples.get('market_mirror_problem{code="quarantine",job="ai-signals",level="warning"}')).toBe(1);
    expect(samples.get('market_mirror_quota_remaining')).toBe(90);
    expect(samples.get('market_mirror_log_bytes')).toBeGreaterThan(0);
    expect(samples.get('market_mirror_database_bytes')).toBeGreaterThan(0);
    expect(samples.get('market_mirror_daemon_running')).toBe(0);
    expect(samples.get('market_mirror_up')).toBe(1);
  });

  test('says nothing of what is not known', async () => {
    const { scrape } = await setupWatched({ walked: ['news'] });
    const samples = await scrape();
    expect(samples.has('market_mirror_dataset_proven_age_seconds{job="usage"}')).toBe(false);
    expect(samples.get('market_mirror_dataset_ready{job="usage"}')).toBe(0);
    expect(samples.get('market_mirror_dataset_verdict{job="usage",verdict="none"}')).toBe(1);
    expect(samples.get('market_mirror_dataset_state{job="usage",state="never"}')).toBe(1);
    expect(samples.has('market_mirror_quota_reset_timestamp_seconds')).toBe(false);
  });

  test('counts calls to the API, walks and glances from the beginning of the process on', async () => {
    const { bench, scrape } = await setupWatched({ rows: 250 });
    const before = await scrape();
    const earlier = bench.model.callsTo(NEWS).length;
    const counts = [
      'market_mirror_upstream_calls_total{job="news",code="200"}',
      'market_mirror_walks_total{job="news",verdict="verified"}',
      'market_mirror_glances_total{job="news",status="complete"}',
    ];
    expect(counts.map((name) => before.get(name))).toEqual([0, 0, 0]);
    await bench.mirror('news');
    await bench.glance('news');
    const calls = bench.model.callsTo(NEWS).length - earlier;
    for (const _ of ['once', 'and again']) {
      const after = await scrape();
      expect(counts.map((name) => after.get(name))).toEqual([calls, 1, 1]);
    }
  });

  test('is read from the mirror once a second at most', async () => {
    const { bench, scrape, read } = await setupWatched();
    const rows = 'market_mirror_dataset_rows{job="news"}';
    expect((await scrape()).get(rows)).toBe(30);
    bench.upstream('news').rows.unshift(...bench.upstream('news').make(3));
    await bench.mirror('news');
    expect(samplesIn(await read()).get(rows)).toBe(30);
    expect((await scrape()).get(rows)).toBe(33);
  });
});

describe('without a mirror that can be read', () => {
  test('the process goes on telling of itself, and of nothing else', async () => {
    const { bench, url, scrape } = await setupWatched();
    await bench.mirror('news');
    const walks = 'market_mirror_walks_total{job="news",verdict="verified"}';
    expect((await scrape()).get(walks)).toBe(1);
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
    const again = await scrape();
    expect([again.get('market_mirror_up'), again.get(walks)]).toEqual([1, 1]);
    await bench.mirror('news');
    expect((await scrape()).get(walks)).toBe(2);
  });

  test('it begins before there is one', async () => {
    const { url, bench } = await setupServe({ rows: 5, walked: [] });
    expect((await getter(url)('/readyz')).status).toBe(503);
    for (const job of everyJob) await bench.mirror(job);
    bench.clock.advance(1_000);
    expect((await getter(url)('/readyz')).status).toBe(200);
  });
});

test('keys that cannot be read are told', async () => {
  const { bench, url, issue, scrape } = await setupWatched({ walked: [] });
  const { key } = issue();
  const keysUp = async () => (await scrape()).get('market_mirror_keys_up');
  expect(await keysUp()).toBe(1);
  const file = join(bench.dir, 'serve.db');
  renameSync(file, `${file}.away`);
  bench.clock.advance(1_000);
  expect(await getter(url, key)(NEWS)).toMatchObject({ status: 503 });
  expect(await keysUp()).toBe(0);
  renameSync(`${file}.away`, file);
});

describe('requests are counted', () => {
  const requests = (route: string, code: number) =>
    `market_mirror_http_requests_total{route="${route}",code="${code}"}`;

  test('by the name of the endpoint and the status, whatever a path is made up of', async () => {
    const { url, issue, scrape, read } = await setupWatched();
    const { key } = issue();
    const get = getter(url, key);
    const { headers } = await get(`${NEWS}?q=secret-word`);
    await get(NEWS, { 'if-none-match': String((await get(NEWS)).headers['etag'] ?? headers['etag']) });
    for (const path of ['/made-up', '/api/v1/news/made-up', '/made%2dup']) await get(path);
    await getter(url)(NEWS);
    const samples = await scrape();
    expect(samples.get(requests('news', 200))).toBe(2);
    expect(samples.get(requests('news', 304))).toBe(1);
    expect(samples.get(requests('news', 401))).toBe(1);
    expect(samples.get(requests('other', 404))).toBe(3);
    expect(samples.get('market_mirror_http_request_duration_seconds_count{route="news"}')).toBe(4);
    expect(samples.get('market_mirror_http_response_bytes_total{route="news"}')).toBeGreaterThan(1_000);
    const text = await read();
    for (const said of [key, key.slice(7, 20), 'made', 'secret-word', 'desk'])
      expect(text).not.toContain(said);
  });

  test('and their pages by where they came from', async () => {
    const { url, issue, scrape } = await setupWatched();
    const get = getter(url, issue().key);
    for (const query of ['', '', '', '?offset=10']) await get(`${NEWS}${query}`);
    await get(NEWS, { 'accept-encoding': 'br' });
    await get(NEWS, { 'if-none-match': '*' });
    const samples = await scrape();
    expect(samples.get('market_mirror_pages_total{source="read"}')).toBe(3);
    expect(samples.get('market_mirror_pages_total{source="kept"}')).toBe(2);
  });

  test('with the limit that refused them', async () => {
    const { url, issue, scrape } = await setupWatched();
    const quota = { kind: 'fixed' as const, calls: 1, periodMs: DAY };
    const get = getter(url, issue({}, { quota }).key);
    await get(NEWS);
    await get(NEWS);
    const samples = await scrape();
    expect(samples.get('market_mirror_http_limited_total{limit="quota"}')).toBe(1);
    expect(samples.get('market_mirror_http_limited_total{limit="failures"}')).toBe(0);
  });

  test('as under way until they are answered, or their client has gone', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let waiting = 0;
    const beforeAnswer = () => {
      waiting += 1;
      return held;
    };
    const { url, issue, scrape } = await setupWatched({ beforeAnswer });
    const { key } = issue({}, { concurrency: 1 });
    const call = request(`${url}${NEWS}`, { headers: { authorization: `Bearer ${key}` } });
    const gone = new Promise((resolve) => void call.on('error', resolve));
    call.end();
    await expect.poll(() => waiting).toBe(1);
    const underWay = async () => (await scrape()).get('market_mirror_http_requests_in_progress');
    // The scrape is one itself.
    expect(await underWay()).toBe(2);
    call.destroy();
    await gone;
    await expect.poll(underWay).toBe(1);
    expect((await scrape()).get(requests('news', 499))).toBe(1);
    release();
    expect(await getter(url, key)(NEWS), 'its place is free again').toMatchObject({ status: 200 });
  });
});

describe('/metrics', () => {
  test('needs no key on this machine, and elsewhere one that may read it', async () => {
    const { url, issue } = await setupServe({ rows: 5, walked: [], settings: { trusted: ['127.0.0.0/8'] } });
    const from = async (address: string | null, key?: string) =>
      (await getter(url, key)('/metrics', address === null ? {} : { 'x-forwarded-for': address })).status;
    expect(await from(null)).toBe(200);
    expect(await from('192.0.2.7')).toBe(401);
    expect(await from('192.0.2.7', issue({ scopes: ['news:read'] }).key)).toBe(403);
    const key = issue({ name: 'watcher', scopes: [METRICS_SCOPE], addresses: ['192.0.2.0/24'] }).key;
    expect([await from('192.0.2.7', key), await from('198.51.100.7', key)]).toEqual([200, 403]);
    for (const path of ['/healthz', '/readyz'])
      expect((await getter(url)(path, { 'x-forwarded-for': '192.0.2.7' })).status).not.toBe(401);
  });
});
