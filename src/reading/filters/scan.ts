/** Which rows of a moment filters leave: by the text cache of the present, else by reading every row. */

import type { ListedJob } from '../../job-list.ts';
import { type Connection, openReadOnly, storeFailure } from '../../store/read.ts';
import { type Moment, openPages, type Pages } from '../pages.ts';
import { type Filters, matcherOf, normalizedText, openFieldPaths } from './match.ts';

export type ScanRequest = {
  /** The mirror: the same in every call of a thread, as are the jobs. */
  file: string;
  jobs: readonly ListedJob[];
  moment: Moment;
  filters: Filters;
  id: number;
  /** Shared with the thread: holds the id of the scan that a client waits for. */
  wanted: Int32Array;
};

/** Compactly. */
export type RowNumbers = Uint32Array | Float64Array;

/** @param isWanted called now and then. @returns undefined where no client waits any longer, or the moment is gone. */
type Scan = (moment: Moment, filters: Filters, isWanted: () => boolean) => RowNumbers | undefined;

/** Deep lists are read by parts of so many. */
const ROWIDS_AT_ONCE = 10_000;

/** For each dataset: the texts of some 100,000 rows. */
const MAX_TEXT_BYTES = 64 * 1024 ** 2;

/** @returns what finds the numbers of the rows of a moment that match, in its order. */
export function openScan(
  connection: Connection,
  jobs: readonly ListedJob[],
  pages: Pages,
  maxTextBytes = MAX_TEXT_BYTES,
): Scan {
  const pathsOf = openFieldPaths(connection);
  const datasets = new Map(
    jobs
      .filter(({ filters }) => Object.keys(filters).length > 0)
      .map((job) => [job.name, { job, textCache: openTextCache(connection, job, pages, maxTextBytes) }]),
  );

  const scan: Scan = (moment, filters, isWanted) => {
    const dataset = datasets.get(moment.job);
    if (!dataset) throw new Error(`${moment.job} has no filters`);
    const { job, textCache } = dataset;
    // History may have been forgotten since the moment was found.
    if (typeof pages.momentOf(job.name, moment.seq) === 'string') return undefined;
    const { words } = filters;
    const fields = filters.fields.map(([name, value]) => ({ value, paths: pathsOf(job.name, name) }));
    const order = allRowNumbers(pages, moment);
    const keep = (found: Set<number> | undefined) =>
      found && compact(order.filter((number) => found.has(number)));
    const texts = words.length > 0 ? textCache(moment, isWanted) : undefined;
    if (!texts)
      return keep(
        scanTable(connection, job, pages, order, { moment, isWanted, matches: matcherOf({ words, fields }) }),
      );
    const withWords = order.filter((number) => words.every((word) => texts.get(number)?.includes(word)));
    if (fields.length === 0) return compact(withWords);
    return keep(
      scanRowNumbers(pages, withWords, { moment, isWanted, matches: matcherOf({ words: [], fields }) }),
    );
  };
  // The rows and the fields are those of one state of the mirror.
  return (...request) => connection.transaction(() => scan(...request))();
}

function allRowNumbers(pages: Pages, moment: Moment): Float64Array {
  const numbers = new Float64Array(moment.total);
  const atOnce = moment.order === 'proven' ? ROWIDS_AT_ONCE : moment.total;
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

type RowScan = {
  moment: Moment;
  matches(json: string): boolean;
  /** Where it says no, nothing is found: `undefined`. */
  isWanted(): boolean;
};

/** How many rows are read before `isWanted` is called again. */
const ROWS_AT_ONCE = 256;

/**
 * Reads the rows as they are now one after the other, which is much faster, and those that have changed since the moment as
 * they were then.
 * @param numbers of all rows of the moment, in any order.
 */
function scanTable(
  connection: Connection,
  { fromWithNumber, rowJson }: ListedJob,
  pages: Pages,
  numbers: Float64Array,
  rowScan: RowScan,
): Set<number> | undefined {
  const { moment, matches, isWanted } = rowScan;
  const rows = connection
    .prepare<[string], [number, string]>(
      `SELECT _number, ${rowJson} FROM ${fromWithNumber} AS row WHERE _changed_at <= ? ORDER BY _number`,
    )
    .raw();
  const upwards = numbers.toSorted();
  const found = new Set<number>();
  const changedSince: number[] = [];
  let next = 0;
  let scanned = 0;
  for (const [number, json] of rows.iterate(moment.at.at)) {
    for (; (upwards[next] ?? number) < number; next += 1) changedSince.push(upwards[next] as number);
    if (upwards[next] !== number) continue;
    next += 1;
    scanned += 1;
    if (matches(json)) found.add(number);
    if (scanned % ROWS_AT_ONCE === 0 && !isWanted()) return undefined;
  }
  return scanRowNumbers(pages, [...changedSince, ...upwards.subarray(next)], rowScan, found);
}

/** @param found what is found is added to it. */
function scanRowNumbers(
  pages: Pages,
  numbers: readonly number[] | Float64Array,
  { moment, matches, isWanted }: RowScan,
  found = new Set<number>(),
): Set<number> | undefined {
  for (let from = 0; from < numbers.length; from += ROWS_AT_ONCE) {
    if (!isWanted()) return undefined;
    const some = numbers.slice(from, from + ROWS_AT_ONCE);
    for (const [at, json] of pages.readRows(moment, some).entries())
      if (json !== undefined && matches(json)) found.add(some[at] as number);
  }
  return found;
}

/**
 * The normalized texts of a dataset's rows now, in memory. A call reads what has changed since the last one.
 * @returns texts by number; undefined where they are too long, the moment is not the present, or no client waits any longer.
 */
type TextCache = (moment: Moment, isWanted: () => boolean) => ReadonlyMap<number, string> | undefined;

/** @param maxBytes of texts; of a longer dataset none are kept. */
function openTextCache(connection: Connection, job: ListedJob, pages: Pages, maxBytes: number): TextCache {
  const changed = connection
    .prepare<[string], [number, string]>(
      `SELECT _number, ${job.rowJson} FROM ${job.fromWithNumber} AS row WHERE _changed_at > ? ORDER BY _number`,
    )
    .raw();
  const texts = new Map<number, string>();
  let bytes = 0;
  let upTo = '';
  /** From so many rows on it is not tried again. */
  let tooManyRows = Number.POSITIVE_INFINITY;

  /** Of a published snapshot rows may have changed since its proof, and a volatile value changes without its row. */
  function isPresent({ seq, generatedAt }: Moment): boolean {
    const present = pages.momentOf(job.name);
    const isNow = typeof present !== 'string' && present.seq === seq;
    return isNow && generatedAt === null && job.volatile.length === 0;
  }

  function forget(): void {
    texts.clear();
    bytes = 0;
    upTo = '';
  }

  return (moment, isWanted) => {
    if (moment.total >= tooManyRows || !isPresent(moment)) return undefined;
    if (upTo === moment.at.at) return texts;
    // Rows that were removed since stay in it.
    if (texts.size > 2 * moment.total) forget();
    let scanned = 0;
    for (const [number, json] of changed.iterate(upTo)) {
      const text = normalizedText(json);
      bytes += Buffer.byteLength(text) - Buffer.byteLength(texts.get(number) ?? '');
      texts.set(number, text);
      scanned += 1;
      if (bytes > maxBytes) {
        tooManyRows = moment.total;
        forget();
        return undefined;
      }
      if (scanned % ROWS_AT_ONCE === 0 && !isWanted()) return undefined;
    }
    upTo = moment.at.at;
    return texts;
  };
}

/** The connection stays open, and must never keep others out. */
const LOCK_WAIT_MS = 5_000;

let scan: Scan | undefined;

/** What the thread runs: a connection of its own, one scan at a time. */
export function scanRows({ file, jobs, moment, filters, id, wanted }: ScanRequest): RowNumbers | undefined {
  try {
    if (!scan) {
      const connection = openReadOnly(file, LOCK_WAIT_MS);
      scan = openScan(connection, jobs, openPages(connection, jobs));
    }
    return scan(moment, filters, () => Atomics.load(wanted, 0) === id);
  } catch (thrown) {
    throw storeFailure(thrown, file);
  }
}
