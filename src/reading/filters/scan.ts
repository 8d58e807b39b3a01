/** Which rows of a moment filters leave: by the texts that are kept of the present, else by looking at every row. */

import type { ListedJob } from '../../job-list.ts';
import type { Connection } from '../../store/read.ts';
import type { Moment, Pages } from '../pages.ts';
import type { Filters } from './asked.ts';
import { lookAt, lookAtAll } from './look.ts';
import { matcherOf } from './matcher.ts';
import { openPlaces } from './places.ts';
import { keepTexts } from './texts.ts';

/** The numbers of rows, compactly. */
export type RowNumbers = Uint32Array | Float64Array;

/** @param isWanted asked now and then. @returns undefined where nobody waits any longer, or the moment is gone. */
export type Scan = (moment: Moment, filters: Filters, isWanted: () => boolean) => RowNumbers | undefined;

/** Deep lists are read by parts of so many. */
const NUMBERS_AT_ONCE = 10_000;

/** For each dataset: the texts of some 100,000 rows. */
const MOST_TEXT_BYTES = 64 * 1024 ** 2;

/** All numbers that it gives are those of rows of the moment that match, in its order. */
export function openScan(
  connection: Connection,
  jobs: readonly ListedJob[],
  pages: Pages,
  mostTextBytes = MOST_TEXT_BYTES,
): Scan {
  const placesOf = openPlaces(connection);
  const datasets = new Map(
    jobs
      .filter(({ filters }) => Object.keys(filters).length > 0)
      .map((job) => [job.name, { job, textsAt: keepTexts(connection, job, pages, mostTextBytes) }]),
  );

  const scan: Scan = (moment, filters, isWanted) => {
    const { job, textsAt } = datasets.get(moment.job) ?? fail(moment.job);
    // History may have been forgotten since the moment was found.
    if (typeof pages.momentOf(job.name, moment.seq) === 'string') return undefined;
    const { words } = filters;
    const fields = filters.fields.map(([name, value]) => ({ value, places: placesOf(job.name, name) }));
    const order = allNumbers(pages, moment);
    const lookFor = (look: Parameters<typeof matcherOf>[0]) => ({
      moment,
      isWanted,
      matches: matcherOf(look),
    });

    const texts = words.length > 0 ? textsAt(moment, isWanted) : undefined;
    if (!texts) {
      const found = lookAtAll(connection, job, pages, order, lookFor({ words, fields }));
      return found && compact(order.filter((number) => found.has(number)));
    }
    const withWords = order.filter((number) => {
      const text = texts.get(number);
      return text !== undefined && words.every((word) => text.includes(word));
    });
    if (fields.length === 0) return compact(withWords);
    const found = lookAt(pages, [...withWords], lookFor({ words: [], fields }));
    return found && compact(withWords.filter((number) => found.has(number)));
  };
  // The rows and the fields are those of one state of the mirror.
  return (...given) => connection.transaction(() => scan(...given))();
}

function allNumbers(pages: Pages, moment: Moment): Float64Array {
  const numbers = new Float64Array(moment.total);
  const atOnce = moment.order === 'proven' ? NUMBERS_AT_ONCE : moment.total;
  let read = 0;
  while (read < moment.total) {
    const part = pages.numbersOf(moment, read, atOnce);
    if (part.length === 0) break;
    numbers.set(part, read);
    read += part.length;
  }
  return numbers.subarray(0, read);
}

const compact = (numbers: Float64Array): RowNumbers =>
  numbers.every((number) => number < 2 ** 32) ? new Uint32Array(numbers) : numbers;

function fail(job: string): never {
  throw new Error(`${job} has no filters`);
}
