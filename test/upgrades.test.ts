/** Mirrors that earlier versions left, kept by `scripts/keep-mirror.ts`: opened, gone on with, and held against upstream. */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type DatasetName, type Row, sampleKey, startModelApi } from '../model-api/index.ts';
import { loadJobs } from '../src/load-jobs.ts';
import type { Status } from '../src/reading/status.ts';
import { Database } from '../src/store/db/sqlite.ts';
import { runMain } from './helpers/main.ts';
import { datasetOf, roomOf } from './helpers/mirror-bench.ts';
import { read } from './helpers/sync-bench.ts';
import { virtualClock } from './helpers/virtual-clock.ts';

type Upstream = Record<DatasetName, { rows: Row[]; generatedAt: string | null | undefined }>;

const fixtures = new URL('fixtures/', import.meta.url);
const kept = readdirSync(fixtures).filter((name) => name.startsWith('mirror-'));
const jobs = await loadJobs();
const lists = jobs.filter(({ reading }) => reading === 'walk');
const tableOf = (job: string) => job.replaceAll('-', '_');
/** A day after the mirrors were left. */
const LATER = Date.parse('2026-11-22T16:00:00Z');

async function continued(name: string) {
  const dir = mkdtempSync(join(roomOf(), 'mirror-upgrade-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const fixture = (file: string) => gunzipSync(readFileSync(new URL(`${name}/${file}.gz`, fixtures)));
  const upstream = JSON.parse(fixture('upstream.json').toString()) as Upstream;
  const clock = virtualClock(LATER);
  const model = await startModelApi({ now: clock.now });
  onTestFinished(() => model.close());
  for (const [list, { rows, generatedAt }] of Object.entries(upstream))
    Object.assign(model.data[list as DatasetName], { rows, generatedAt });
  mkdirSync(dir, { recursive: true });
  const file = join(dir, 'mirror.db');
  writeFileSync(file, fixture('mirror.db'));
  const environment = { MARKET_API_URL: model.url, MARKET_API_KEY: sampleKey.key, MIRROR_DIR: dir };
  return { file, upstream, model, run: (...args: string[]) => runMain(args, environment, clock) };
}

test('a mirror is kept for every version of the schema', () => {
  const { entries } = JSON.parse(readFileSync('drizzle/meta/_journal.json', 'utf8')) as {
    entries: unknown[];
  };
  expect(kept).toEqual(entries.slice(0, kept.length).map((_, at) => `mirror-${at}`));
});

describe.each(kept)('%s', (name) => {
  test('is opened and gone on with: unfinished walks end, and every table becomes what upstream is', async () => {
    const { file, upstream, run } = await continued(name);
    const unfinished = read<{ id: number; job: string }>(
      file,
      'SELECT id, job FROM walks WHERE finished_at IS NULL ORDER BY job',
    );
    expect(unfinished.map(({ job }) => job)).toEqual(['ai-signals', 'news']);

    expect(await run('sync')).toMatchObject({ code: 0 });
    for (const { id } of unfinished)
      expect(read(file, `SELECT status, verdict <> 'union' AS proof FROM walks WHERE id = ${id}`)).toEqual([
        { status: 'complete', proof: 1 },
      ]);

    // Rows that were gone already are gone for good with the second proof of it.
    expect(await run('sync')).toMatchObject({ code: 0 });
    for (const { name: job, contract } of lists) {
      const { rows } = upstream[datasetOf[job] as DatasetName];
      const mirrored = read<Row>(file, `SELECT * FROM ${tableOf(job)} ORDER BY _key`);
      const refused = read<{ key: string }>(
        file,
        `SELECT key FROM quarantine WHERE job = '${job}' AND resolved_at IS NULL`,
      );
      const fitting = rows.filter((row) => !refused.some(({ key }) => key === keyOf(row)));
      const column = (row: Row) => (contract ? { ...contract.columns(row) } : { _body: JSON.stringify(row) });
      const expected = new Map(fitting.map((row) => [keyOf(row), column(row)]));
      const held = mirrored.filter(({ _key }) => expected.has(String(_key)));
      expect(held.map(({ _key }) => _key)).toEqual([...expected.keys()].sort());
      for (const row of held) expect(row).toMatchObject(expected.get(String(row['_key'])) ?? {});
      // What else is there is a row that is refused now and was mirrored before.
      expect(mirrored.length - held.length).toBeLessThanOrEqual(refused.length);
    }
    expect(read(file, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  });

  test('keeps every earlier version of its rows', async () => {
    const { file, run } = await continued(name);
    const versions = () =>
      lists.map(({ name: job }) =>
        read<Row>(file, `SELECT * FROM ${tableOf(job)}_history ORDER BY rowid`).map((row) => ({ ...row })),
      );
    const before = versions();
    expect(before.every((rows) => rows.length > 0)).toBe(true);
    await run('sync');
    const after = versions();
    before.forEach((rows, at) => {
      rows.forEach((row, number) => {
        expect(after[at]?.[number]).toMatchObject(row);
      });
    });
  });

  test('answers questions about the time before', async () => {
    const { run, file } = await continued(name);
    const [first] = read<{ at: string; rows: number }>(
      file,
      `SELECT finished_at AS at, rows FROM walks WHERE job = 'news' AND status = 'complete' ORDER BY id LIMIT 1`,
    );
    await run('sync');
    const asked = await run(
      'query',
      'SELECT count(*) AS rows FROM news',
      '--as-of',
      first?.at ?? '',
      '--json',
    );
    expect(JSON.parse(asked.stdout)).toMatchObject([{ rows: first?.rows }]);
  });
});

test.each(['mirror-0', 'mirror-1'])(
  '%s: a walk that waits is shown to wait, though only words told it then',
  async (name) => {
    const { file, run } = await continued(name);
    const db = new Database(file);
    db.exec(`UPDATE walks SET status = 'snoozed', error = 'waiting until 2026-11-22T18:00:00.000Z (retry_after)'
    WHERE job = 'news' AND finished_at IS NULL`);
    db.close();
    // Brings the mirror up to date without a call.
    expect(await run('quarantine', 'retry')).toMatchObject({ code: 0 });
    const { datasets } = JSON.parse((await run('status', '--json')).stdout) as Status;
    const doing = Object.fromEntries(datasets.map((dataset) => [dataset.job, dataset.doing]));
    expect(doing['news']).toMatchObject({
      state: 'waiting',
      until: '2026-11-22T18:00:00.000Z',
      reason: 'retry_after',
    });
    expect(doing['ai-signals']).toMatchObject({ until: null, reason: null });
  },
);

const keyOf = (row: Row) => String(row['id'] ?? row['address'] ?? row['alertId']);
