/** Which rows of a moment filters leave, found by looking at each. */

import type { ServedJob } from '../../job-list.ts';
import { type Connection, quoted } from '../../store/read.ts';
import type { Moment, Pages } from '../pages.ts';
import type { Filters } from './asked.ts';
import { matcherOf, type Wanted } from './matcher.ts';

/** The numbers of rows, compactly. */
export type RowNumbers = Uint32Array | Float64Array;

/** How many rows are looked at before it is asked again whether anybody waits. */
const ROWS_AT_ONCE = 256;

/** Deep lists are read by parts of so many. */
const NUMBERS_AT_ONCE = 10_000;

/** @param isWanted asked now and then. @returns undefined where nobody waits any longer. */
export type Scan = (moment: Moment, filters: Filters, isWanted: () => boolean) => RowNumbers | undefined;

/** All numbers that it gives are those of rows of the moment that match, in its order. */
export function openScan(connection: Connection, jobs: readonly ServedJob[], pages: Pages): Scan {
  const pathOf = connection
    .prepare<[string, string], string>('SELECT path FROM fields WHERE job = ? AND "column" = ?')
    .pluck();

  function wantedBy({ words, fields }: Filters, job: string): Wanted {
    const placesOf = (name: string) => {
      const path = pathOf.get(job, name);
      return [[name], ...(path === undefined ? [] : [namesIn(path)])];
    };
    return {
      words,
      fields: fields.map(([name, value]) => ({
        value,
        places: [...placesOf(name), ...placesOf(pluralOf(name))],
      })),
    };
  }

  const scan: Scan = (moment, filters, isWanted) => {
    const { job, at } = moment;
    const { table, rowJson } = jobs.find(({ name }) => name === job) as ServedJob;
    const rows = connection
      .prepare<[string], [number, string]>(
        `SELECT rowid, ${rowJson} FROM ${quoted(table)} AS row WHERE _changed_at <= ? ORDER BY rowid`,
      )
      .raw();
    const matches = matcherOf(wantedBy(filters, job));
    const order = allNumbers(pages, moment);
    const upwards = order.toSorted();
    const found = new Set<number>();
    const changedSince: number[] = [];
    let next = 0;
    let looked = 0;
    for (const [number, json] of rows.iterate(at.at)) {
      for (; (upwards[next] ?? number) < number; next += 1) changedSince.push(upwards[next] as number);
      if (upwards[next] !== number) continue;
      next += 1;
      looked += 1;
      if (matches(json)) found.add(number);
      if (looked % ROWS_AT_ONCE === 0 && !isWanted()) return undefined;
    }
    const others = [...changedSince, ...upwards.subarray(next)];
    for (let from = 0; from < others.length; from += ROWS_AT_ONCE) {
      if (!isWanted()) return undefined;
      const some = others.slice(from, from + ROWS_AT_ONCE);
      for (const [place, json] of pages.readRows(moment, some).entries())
        if (json !== undefined && matches(json)) found.add(some[place] as number);
    }
    return compact(order.filter((number) => found.has(number)));
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

/** The names that a path such as `$.market."base asset"` leads through. */
function namesIn(path: string): string[] {
  return [...path.matchAll(/\.(\w+|"(?:[^"\\]|\\.)*")/g)].map(([, name = '']) =>
    name.startsWith('"') ? (JSON.parse(name) as string) : name,
  );
}

function pluralOf(name: string): string {
  if (/[^aeiou]y$/.test(name)) return name.replace(/y$/, 'ies');
  return /(s|x|z|ch|sh)$/.test(name) ? `${name}es` : `${name}s`;
}
