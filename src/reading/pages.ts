/**
 * Pages of a dataset as it was committed at one moment, in the order in which the API showed its rows. A moment can be paged
 * through for as long as its order is kept, whatever is written meanwhile.
 */

import type { ListedJob } from '../job-list.ts';
import { type Connection, orderReader } from '../store/read.ts';
import { type Missing, type Moment, openMoments } from './pages/moments.ts';
import { latestFirst } from './pages/new-rows.ts';
import { type Frame, openRowsThen, type RowsThen } from './pages/rows-then.ts';

export type { Missing, Moment } from './pages/moments.ts';
export type { Frame } from './pages/rows-then.ts';

export type Pages = {
  /**
   * The present, unless `seq` is given. Of a dataset that publishes snapshots it is the one that was proven last by then, and
   * `seq` that of its proof.
   */
  momentOf(job: string, seq?: number): Moment | Missing;
  /**
   * The rows from `offset` on, `limit` at most, as JSON with commas between, in their frame; UTF-8. A moment that history no
   * longer reaches may lack rows.
   */
  readPage(moment: Moment, offset: number, limit: number, frame: Frame): Buffer;
  /** The numbers of those rows. */
  numbersOf(moment: Moment, offset: number, limit: number): number[];
  /** The same of the rows that had these numbers. */
  readNumbered(moment: Moment, numbers: Iterable<number>, frame: Frame): Buffer;
  /** The JSON of the row that had each number; undefined where none had. */
  readRows(moment: Moment, numbers: Iterable<number>): (string | undefined)[];
};

/** @param jobs those of them that are lists, which have a history, can be read. */
export function openPages(connection: Connection, jobs: readonly ListedJob[]): Pages {
  const readOrder = orderReader(connection);
  const fronts = new WeakMap<Moment, ReturnType<typeof latestFirst>>();
  const datasets = new Map(
    jobs.flatMap((job) => {
      if (job.history === null) return [];
      const rows = openRowsThen(connection, { ...job, history: job.history });
      return [[job.name, { rows, momentOf: openMoments(connection, job, rows) }] as const];
    }),
  );
  const datasetOf = (job: string) => {
    const dataset = datasets.get(job);
    if (!dataset) throw new Error(`${job} is no list`);
    return dataset;
  };

  function numbersOf(moment: Moment, rows: RowsThen, offset: number, limit: number): number[] {
    const { order, at } = moment;
    if (order === 'by number') return range(offset + 1, Math.min(at.last, offset + limit));
    const came = at.last - at.top;
    const front = fronts.get(moment) ?? latestFirst(rows, at, at);
    fronts.set(moment, front);
    const numbers = offset < came ? front(offset, limit) : [];
    if (!at.list) return numbers;
    const from = Math.max(0, offset - came);
    const left = Math.min(limit - numbers.length, at.list.rows - from);
    return left > 0 ? [...numbers, ...readOrder(moment.job, at.list.seq, from, left)] : numbers;
  }

  const transaction = connection.transaction((read: () => unknown) => read());
  const atOnce = <T>(read: () => T): T => transaction(read) as T;
  const numbers = (moment: Moment, offset: number, limit: number) =>
    numbersOf(moment, datasetOf(moment.job).rows, offset, limit);
  const pageOf = ({ job, at }: Moment, of: Iterable<number>, frame: Frame) =>
    datasetOf(job).rows.pageOf([...of], at, frame);

  return {
    // All that a moment is made of is read at once.
    momentOf: (job, seq) => atOnce(() => datasetOf(job).momentOf(seq)),
    readPage: (moment, offset, limit, frame) =>
      atOnce(() => pageOf(moment, numbers(moment, offset, limit), frame)),
    numbersOf: (moment, offset, limit) => atOnce(() => numbers(moment, offset, limit)),
    readNumbered: (moment, of, frame) => atOnce(() => pageOf(moment, of, frame)),
    readRows: ({ job, at }, of) => atOnce(() => datasetOf(job).rows.jsonOf([...of], at)),
  };
}

const range = (from: number, to: number) =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at);
