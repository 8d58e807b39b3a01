/** The texts of a dataset's rows as they are now, folded and kept in memory: words are found in them without reading a row. */

import type { ListedJob } from '../../job-list.ts';
import type { Connection } from '../../store/read.ts';
import type { Moment, Pages } from '../pages.ts';
import { ROWS_AT_ONCE } from './look.ts';
import { foldedText } from './matcher.ts';

/**
 * Reads what has changed since it was asked last.
 * @returns the text of each row by its number; undefined where they are too long, where the moment is not the present, or
 * where nobody waits any longer.
 */
export type Texts = (moment: Moment, isWanted: () => boolean) => ReadonlyMap<number, string> | undefined;

/** @param mostBytes of texts; of a longer dataset none are kept. */
export function keepTexts(connection: Connection, job: ListedJob, pages: Pages, mostBytes: number): Texts {
  const changed = connection
    .prepare<[string], [number, string]>(
      `SELECT rowid, ${job.rowJson} FROM ${job.numbered} AS row WHERE _changed_at > ? ORDER BY rowid`,
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

  function keep(number: number, text: string): void {
    bytes += Buffer.byteLength(text) - Buffer.byteLength(texts.get(number) ?? '');
    texts.set(number, text);
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
    let looked = 0;
    for (const [number, json] of changed.iterate(upTo)) {
      keep(number, foldedText(json));
      looked += 1;
      if (bytes > mostBytes) {
        tooManyRows = moment.total;
        forget();
        return undefined;
      }
      if (looked % ROWS_AT_ONCE === 0 && !isWanted()) return undefined;
    }
    upTo = moment.at.at;
    return texts;
  };
}
