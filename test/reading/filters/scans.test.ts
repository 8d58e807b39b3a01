/** Scans of a real mirror by a real thread, and how clients share it and take turns. */

import { copyFileSync, renameSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listed } from '../../../src/job.ts';
import type { Filters } from '../../../src/reading/filters/match.ts';
import type { RowNumbers } from '../../../src/reading/filters/scan.ts';
import {
  filtersOf,
  openRowFilter,
  type ScanResult,
  scanQueue,
  scanThread,
} from '../../../src/reading/filters.ts';
import { type Moment, openPages } from '../../../src/reading/pages.ts';
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

const found = async (result: Promise<ScanResult>) => (await result) as RowNumbers;

describe('rows that filters leave', () => {
  test('are found by a thread', async () => {
    const { bench, moment, pages, find } = await setupFiltered();
    const expected = bench.upstream('news').rows.filter((row) => row['category'] === 'companies');
    const numbers = await found(find(moment, news('?category=Companies'), 'desk'));
    const rows = JSON.parse(pages.readNumbers(moment, numbers, () => ['[', ']']).toString()) as Row[];
    expect(rows).toEqual(JSON.parse(JSON.stringify(expected)));
  });

  test('are looked for once a moment, whoever asks', async () => {
    const { moment, find } = await setupFiltered();
    const [one, other] = await Promise.all([
      found(find(moment, news('?q=gold+rises'), 'desk')),
      found(find({ ...moment }, news('?q=RISES+gold'), 'desk')),
    ]);
    const later = await found(find(moment, news('?q=gold+rises'), 'desk'));
    expect(one).toBe(other);
    expect(later).toBe(one);
  });

  test('are not looked for when nobody waits, and are when somebody does again', async () => {
    const { moment, find } = await setupFiltered();
    const gone = new AbortController();
    const waiting = find(moment, news('?q=a'), 'desk', gone.signal);
    gone.abort();
    expect(await waiting).toBe('stopped');
    expect(await find(moment, news('?q=a'), 'desk', gone.signal)).toBe('stopped');
    expect((await found(find(moment, news('?q=a'), 'desk'))).length).toBe(ROWS);
  });

  test('are not shown once another mirror has taken the place of this one', async () => {
    const { bench, moment, find } = await setupFiltered();
    const { file } = bench.store;
    copyFileSync(file, `${file}.other`);
    renameSync(`${file}.other`, file);
    await expect(find(moment, news('?q=a'), 'desk')).rejects.toMatchObject({ kind: 'disk' });
  });

  test('leave nobody waiting when all is closed', async () => {
    const { moment, find, close } = await setupFiltered();
    const waiting = [find(moment, news('?q=a'), 'desk'), find(moment, news('?q=b'), 'desk')];
    close();
    for (const each of waiting) await expect(each).rejects.toMatchObject({ kind: 'incomplete' });
  });
});

test('a scan ends when it is stopped', async () => {
  const { bench, jobs, moment } = await setupFiltered();
  const thread = scanThread(bench.store.file, jobs);
  onTestFinished(() => thread.close());
  const scan = thread.scan(moment, news('?q=a'));
  thread.stop();
  expect(await scan).toBe(undefined);
  expect((await thread.scan(moment, news('?q=a')))?.length).toBe(ROWS);
});

test('a mirror that cannot be read is a failure, and the next scan tries anew', async () => {
  const { bench, jobs, moment } = await setupFiltered();
  const thread = scanThread(bench.store.file, jobs);
  onTestFinished(() => thread.close());
  renameSync(bench.store.file, `${bench.store.file}.away`);
  await expect(thread.scan(moment, news('?q=a'))).rejects.toMatchObject({ kind: 'disk' });
  renameSync(`${bench.store.file}.away`, bench.store.file);
  expect((await thread.scan(moment, news('?q=a')))?.length).toBe(ROWS);
});

/** Scans on a thread that ends each when the test says so. */
function setupQueue() {
  const begun: { name: string; end(numbers?: RowNumbers): void; fail(thrown: Error): void }[] = [];
  const found: string[] = [];
  let stops = 0;
  const scan = scanQueue(
    {
      scan: (_, { key }) =>
        new Promise((resolve, reject) => begun.push({ name: key, end: resolve, fail: reject })),
      stop() {
        stops += 1;
        begun.at(-1)?.end(undefined);
      },
    },
    (name) => found.push(name),
  );
  const askAs = (account: string, name: string, signal?: AbortSignal) =>
    scan(name, {} as Moment, { key: name } as Filters, account, signal);
  const ask = (name: string, signal?: AbortSignal) => askAs('desk', name, signal);
  const begins = (count: number) => expect.poll(() => begun.length).toBe(count);
  return { ask, askAs, begun, begins, found, stops: () => stops };
}

const numbers = Uint32Array.of(1, 2);

test('who asks for the same at once shares one scan', async () => {
  const { ask, begun, begins, found } = setupQueue();
  const [one, other] = [ask('a'), ask('a')];
  await begins(1);
  begun[0]?.end(numbers);
  expect(await Promise.all([one, other])).toEqual([numbers, numbers]);
  expect([begun.length, found]).toEqual([1, ['a']]);
});

test('scans go one after the other', async () => {
  const { ask, begun, begins } = setupQueue();
  const [one, other] = [ask('a'), ask('b')];
  await begins(1);
  begun[0]?.end(numbers);
  await one;
  await begins(2);
  begun[1]?.end(Uint32Array.of(3));
  expect(await other).toEqual(Uint32Array.of(3));
});

test('a scan is stopped when the last of those who wait goes, and not before', async () => {
  const { ask, begins, stops, found } = setupQueue();
  const [first, second] = [new AbortController(), new AbortController()];
  const waiting = [ask('a', first.signal), ask('a', second.signal)];
  await begins(1);
  first.abort();
  expect(await waiting[0]).toBe('stopped');
  expect(stops()).toBe(0);
  second.abort();
  expect(await waiting[1]).toBe('stopped');
  expect([stops(), found]).toEqual([1, []]);
});

test('a scan whose askers went before its turn never begins, and asking again begins another', async () => {
  const { ask, begun, begins, stops } = setupQueue();
  const gone = new AbortController();
  const one = ask('a');
  const two = ask('b', gone.signal);
  await begins(1);
  gone.abort();
  expect(await two).toBe('stopped');
  const again = ask('b');
  begun[0]?.end(numbers);
  await one;
  await begins(2);
  begun[1]?.end(numbers);
  expect(await again).toBe(numbers);
  expect([begun.map(({ name }) => name), stops()]).toEqual([['a', 'b'], 0]);
});

test('who comes when many different scans wait is told so; who asks for one of those is not', async () => {
  const { ask, begun, begins } = setupQueue();
  const waiting = Array.from({ length: 8 }, (_, n) => ask(String(n)));
  expect(await ask('one more')).toBe('busy');
  waiting.push(ask('7'));
  for (let n = 0; n < 8; n += 1) {
    await begins(n + 1);
    begun[n]?.end(numbers);
  }
  expect(await Promise.all(waiting)).toEqual(Array(9).fill(numbers));
  const later = ask('one more');
  await begins(9);
  begun[8]?.end(numbers);
  expect(await later).toBe(numbers);
});

test('a scan that fails fails for those who wait, and the next one begins', async () => {
  const { ask, begun, begins } = setupQueue();
  const [one, other, next] = [ask('a'), ask('a'), ask('b')];
  await begins(1);
  begun[0]?.fail(new Error('no disk'));
  await expect(one).rejects.toThrow('no disk');
  await expect(other).rejects.toThrow('no disk');
  await begins(2);
  begun[1]?.end(numbers);
  expect(await next).toBe(numbers);
});

test('accounts take turns, and who fills every place makes room for who has fewer', async () => {
  const { askAs, begun, begins } = setupQueue();
  const greedy = Array.from({ length: 8 }, (_, n) => askAs('greedy', `greedy ${n}`));
  await begins(1);
  const others = ['one', 'two'].map((account) => askAs(account, account));
  const evicted = greedy.splice(-2);
  expect(await Promise.all(evicted)).toEqual(['busy', 'busy']);
  expect(await askAs('greedy', 'once more')).toBe('busy');
  for (let n = 0; n < 8; n += 1) {
    await begins(n + 1);
    begun[n]?.end(numbers);
  }
  expect(await Promise.all([...greedy, ...others])).toEqual(Array(8).fill(numbers));
  expect(begun.map(({ name }) => name).slice(0, 4)).toEqual(['greedy 0', 'one', 'two', 'greedy 1']);
});

test('where all have as many, who comes then is told to come later', async () => {
  const { askAs, begins } = setupQueue();
  const waiting = Array.from({ length: 8 }, (_, n) => askAs(`account ${n}`, String(n)));
  await begins(1);
  expect(await askAs('late', 'late')).toBe('busy');
  expect(waiting).toHaveLength(8);
});
