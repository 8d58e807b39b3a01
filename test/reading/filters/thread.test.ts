/** Filters of a real mirror, by a real thread. */

import { copyFileSync, renameSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listed } from '../../../src/job.ts';
import type { Rowids } from '../../../src/reading/filters/scan.ts';
import {
  type Filters,
  filtersOf,
  openRowFilter,
  type ScanResult,
  scanThread,
} from '../../../src/reading/filters.ts';
import { openPages } from '../../../src/reading/pages.ts';
import { openReadOnly } from '../../../src/store/connection.ts';
import { setup } from '../../helpers/setup.ts';
import { momentOf, type Row } from '../pages/support.ts';

const ROWS = 1_000;

async function setupFiltered() {
  const bench = await setup({ rows: ROWS });
  await bench.mirror('news');
  const connection = openReadOnly(bench.store.file);
  const jobs = bench.jobs.map(listed);
  const pages = openPages(connection, jobs);
  const { find, close } = openRowFilter(connection, jobs);
  onTestFinished(() => {
    close();
    connection.close();
  });
  const moment = momentOf(pages, 'news');
  return { bench, jobs, pages, moment, find, close };
}

const news = (query: string): Filters =>
  filtersOf({ filters: { q: { by: 'text' }, category: { by: 'field' } } }, (name) =>
    new URLSearchParams(query).get(name),
  ) as Filters;

const found = async (result: Promise<ScanResult>) => (await result) as Rowids;

describe('rows that filters leave', () => {
  it('are found by a thread', async () => {
    const { bench, moment, pages, find } = await setupFiltered();
    const expected = bench.upstream('news').rows.filter((row) => row['category'] === 'companies');
    const rowids = await found(find(moment, news('?category=Companies'), 'desk'));
    const rows = JSON.parse(pages.readRowids(moment, rowids, () => ['[', ']']).toString()) as Row[];
    expect(rows).toEqual(JSON.parse(JSON.stringify(expected)));
  });

  it('are looked for once a moment, whoever asks', async () => {
    const { moment, find } = await setupFiltered();
    const [one, other] = await Promise.all([
      found(find(moment, news('?q=gold+rises'), 'desk')),
      found(find({ ...moment }, news('?q=RISES+gold'), 'desk')),
    ]);
    const later = await found(find(moment, news('?q=gold+rises'), 'desk'));
    expect(one).toBe(other);
    expect(later).toBe(one);
  });

  it('are not looked for when nobody waits, and are when somebody does again', async () => {
    const { moment, find } = await setupFiltered();
    const gone = new AbortController();
    const waiting = find(moment, news('?q=a'), 'desk', gone.signal);
    gone.abort();
    expect(await waiting).toBe('stopped');
    expect(await find(moment, news('?q=a'), 'desk', gone.signal)).toBe('stopped');
    expect((await found(find(moment, news('?q=a'), 'desk'))).length).toBe(ROWS);
  });

  it('are not shown once another mirror has taken the place of this one', async () => {
    const { bench, moment, find } = await setupFiltered();
    const { file } = bench.store;
    copyFileSync(file, `${file}.other`);
    renameSync(`${file}.other`, file);
    await expect(find(moment, news('?q=a'), 'desk')).rejects.toMatchObject({ kind: 'disk' });
  });

  it('leave nobody waiting when all is closed', async () => {
    const { moment, find, close } = await setupFiltered();
    const waiting = [find(moment, news('?q=a'), 'desk'), find(moment, news('?q=b'), 'desk')];
    close();
    for (const each of waiting) await expect(each).rejects.toMatchObject({ kind: 'incomplete' });
  });
});

it('a scan ends when it is stopped', async () => {
  const { bench, jobs, moment } = await setupFiltered();
  const thread = scanThread(bench.store.file, jobs);
  onTestFinished(() => thread.close());
  const scan = thread.scan(moment, news('?q=a'));
  thread.stop();
  expect(await scan).toBe(undefined);
  expect((await thread.scan(moment, news('?q=a')))?.length).toBe(ROWS);
});

it('a mirror that cannot be read is a failure, and the next scan tries anew', async () => {
  const { bench, jobs, moment } = await setupFiltered();
  const thread = scanThread(bench.store.file, jobs);
  onTestFinished(() => thread.close());
  renameSync(bench.store.file, `${bench.store.file}.away`);
  await expect(thread.scan(moment, news('?q=a'))).rejects.toMatchObject({ kind: 'disk' });
  renameSync(`${bench.store.file}.away`, bench.store.file);
  expect((await thread.scan(moment, news('?q=a')))?.length).toBe(ROWS);
});
