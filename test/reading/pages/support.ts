/** Pages as a reader of the mirror gets them. */

import { onTestFinished } from 'vitest';
import { listed } from '../../../src/job.ts';
import { type Moment, openPages, type Pages } from '../../../src/reading/pages.ts';
import { type Connection, openReadOnly } from '../../../src/store/connection.ts';
import type { Bench } from '../../helpers/mirror-bench.ts';
import { setup } from '../../helpers/setup.ts';

export type Row = Record<string, unknown>;

export type Reader = Pages & { connection: Connection; close(): void };

export function pagesOf(bench: Pick<Bench, 'store' | 'jobs'>): Reader {
  const connection = openReadOnly(bench.store.file);
  return { ...openPages(connection, bench.jobs.map(listed)), connection, close: () => connection.close() };
}

export function setupPages(bench: Bench): Pages {
  const pages = pagesOf(bench);
  onTestFinished(pages.close);
  return pages;
}

/** @throws where there is no such moment. */
export function momentOf(pages: Pages, job: string, seq?: number): Moment {
  const moment = pages.momentOf(job, seq);
  if (typeof moment === 'string') throw new Error(`${job} at ${seq}: ${moment}`);
  return moment;
}

/** All rows of the moment, some a page; each as it comes. */
export function textsOf(pages: Pages, moment: Moment, sizes: readonly number[] = [100]): string[] {
  const all: string[] = [];
  for (let page = 0; all.length < moment.total; page += 1) {
    const limit = sizes[page % sizes.length] ?? 1;
    const rows = pages
      .readRows(moment, pages.numbersOf(moment, all.length, limit))
      .filter((row) => row !== undefined);
    if (rows.length === 0) throw new Error(`page ${page} is empty before its end`);
    const text = pages.readPage(moment, all.length, limit, (count) => [`${count} [`, ']']).toString();
    if (text !== `${rows.length} [${rows.join(',')}]`)
      throw new Error(`page ${page} is not made of its rows`);
    all.push(...rows);
  }
  if (pages.numbersOf(moment, moment.total, 10).length > 0) throw new Error('rows come behind the end');
  return all;
}

export const rowsOf = (pages: Pages, moment: Moment, sizes?: readonly number[]): Row[] =>
  textsOf(pages, moment, sizes).map((text) => JSON.parse(text) as Row);

/** What a reader is shown now, by the field that identifies a row upstream. */
export function keysNow(bench: Bench, pages: Pages, job: string, seq?: number): string[] {
  const { idField } = bench.upstream(job);
  return rowsOf(pages, momentOf(pages, job, seq)).map((row) => String(row[idField]));
}

/** Of three pages. */
export const ROWS = 250;

/** Another time of publication. */
export const ANEW = '2026-01-02T03:04:05Z';

export const upstreamKeys = (bench: Bench, job: string) => {
  const { rows, idField } = bench.upstream(job);
  return rows.map((row) => String(row[idField]));
};

/** A bench whose dataset has been read, and its pages. */
export async function setupRead(job: string, rows = ROWS) {
  const bench = await setup({ rows });
  await bench.mirror(job);
  const pages = setupPages(bench);
  const now = () => momentOf(pages, job);
  const keys = (seq?: number) => keysNow(bench, pages, job, seq);
  return { bench, pages, dataset: bench.upstream(job), now, keys };
}
