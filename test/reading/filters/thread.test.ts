/** Filters of a real mirror, by a real thread. */

import { copyFileSync, renameSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listed } from '../../../src/job.ts';
import {
  type Filtered,
  type Filters,
  filtersOf,
  type Matches,
  openFiltered,
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
  const filtered = openFiltered(connection, jobs, pages);
  onTestFinished(async () => {
    await filtered.close();
    connection.close();
  });
  const moment = momentOf(pages, 'news');
  return { bench, jobs, moment, ...filtered };
}

const news = (query: string): Filters =>
  filtersOf({ filters: { q: { by: 'text' }, category: { by: 'field' } } }, (name) =>
    new URLSearchParams(query).get(name),
  ) as Filters;

const found = async (of: ReturnType<Filtered['filtered']>) => (await of) as Matches;

describe('rows that filters leave', () => {
  it('are found by a thread', async () => {
    const { bench, moment, filtered, readMatches } = await setupFiltered();
    const { rows } = bench.upstream('news');
    const expected = rows.filter((row) => row['category'] === 'companies');
    const matches = await found(filtered(moment, news('?category=Companies'), 'desk'));
    expect(matches.total).toBe(expected.length);
    const rowsFrom = (offset: number) =>
      JSON.parse(readMatches(matches, offset, 100, () => ['[', ']']).toString()) as Row[];
    expect([0, 100, 200].flatMap(rowsFrom)).toEqual(JSON.parse(JSON.stringify(expected)));
    expect(rowsFrom(matches.total)).toEqual([]);
  });

  it('are looked for once a moment, whoever asks', async () => {
    const { moment, filtered } = await setupFiltered();
    const [one, other] = await Promise.all([
      found(filtered(moment, news('?q=gold+rises'), 'desk')),
      found(filtered({ ...moment }, news('?q=RISES+gold'), 'desk')),
    ]);
    const later = await found(filtered(moment, news('?q=gold+rises'), 'desk'));
    expect(one.numbers).toBe(other.numbers);
    expect(later.numbers).toBe(one.numbers);
  });

  it('are not looked for when nobody waits, and are when somebody does again', async () => {
    const { moment, filtered } = await setupFiltered();
    const gone = new AbortController();
    const waiting = filtered(moment, news('?q=a'), 'desk', gone.signal);
    gone.abort();
    expect(await waiting).toBe('stopped');
    expect(await filtered(moment, news('?q=a'), 'desk', gone.signal)).toBe('stopped');
    expect((await found(filtered(moment, news('?q=a'), 'desk'))).total).toBe(ROWS);
  });

  it('are not shown once another mirror has taken the place of this one', async () => {
    const { bench, moment, filtered } = await setupFiltered();
    const { file } = bench.store;
    copyFileSync(file, `${file}.other`);
    renameSync(`${file}.other`, file);
    await expect(filtered(moment, news('?q=a'), 'desk')).rejects.toMatchObject({ kind: 'disk' });
  });

  it('leave nobody waiting when all is closed', async () => {
    const { moment, filtered, close } = await setupFiltered();
    const waiting = [filtered(moment, news('?q=a'), 'desk'), filtered(moment, news('?q=b'), 'desk')];
    await close();
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
