/**
 * Which stored row is a row that came. With a contract its key says so. Elsewhere two different rows may turn out to have one key: both
 * are kept, and the key is found anew as the walk ends (`keys.ts`).
 */

import type { Job } from '../job.ts';
import type { DiscoveredIdentity, DiscoveredShape, Row } from '../validate/checked.ts';
import { digestOf, keyedRow, textKeyOf } from '../validate/keys.ts';
import type { Connection } from './connection.ts';
import type { Comparison, Table } from './rows.ts';
import { quoted } from './sql.ts';

export type Match = {
  /** The key under which the row is stored, or is to be. */
  key: string;
  /** Undefined for a new row. */
  stored: Comparison | undefined;
  /** Another row has its key in the same moment. */
  isContradiction: boolean;
};

/** Keys under which a walk met different rows one after the other, with their digests. */
export type Twins = Map<string, readonly string[]>;

/** The key of one of the rows that differ in their ages alone, by its place among them on their page. */
export const nthKey = (key: string, nth: number) => (nth === 1 ? key : `${key}#${nth}`);

/** A list that repeats so many of its keys has none. */
const MAX_TWINS = 1_000;

/** @param hasMet whether this pass of the walk has met the row of a number. `rekeyed`: called where a stored row gets another key. */
export function createMatcher(
  connection: Connection,
  job: Job,
  table: Table,
  { twins, hasMet, rekeyed }: { twins: Twins; hasMet: (number: number) => boolean; rekeyed: () => void },
) {
  const rename = connection.prepare<[string, number]>(
    `UPDATE ${quoted(job.rows)} SET _key = ? WHERE number = ?`,
  );
  const renameVersions =
    job.versions === null
      ? undefined
      : connection.prepare<[string, number]>(`UPDATE ${quoted(job.versions)} SET _key = ? WHERE _row = ?`);
  const onPage = new Set<number>();
  let isPublished = false;

  function matchDiscovered(row: Row, { textKey, digest }: DiscoveredIdentity, shape: DiscoveredShape): Match {
    const found = (key: string, stored: Comparison | undefined): Match => ({
      key,
      stored,
      isContradiction: false,
    });
    const asText = textKey && table.compare(row, textKey);
    const [key, stored] = asText ? [textKey, asText] : [row.key, table.compare(row, row.key)];
    const isBeside = stored !== undefined && isOther(stored.number);
    if (isBeside && stored.change !== 'none' && (stored.change === 'aged' || shape.key === null))
      return matchNth(row, key, shape);
    if (stored?.change !== 'changed') return found(key, stored);
    const apart = `${key}#${digest()}`;
    const other = table.compare(row, apart);
    if (other?.change === 'aged' && isOther(other.number)) return matchNth(row, apart, shape);
    if (other) return found(apart, other);
    if (!isBeside && !hasMet(stored.number)) return found(key, stored);

    // This pass has met another row under the key.
    const before = keyedRow(stored.unspecified ?? '{}');
    const storedText = textKeyOf(before, shape.key ?? []);
    if (textKey && !storedText) return found(textKey, undefined);
    if (storedText && !textKey) {
      rename.run(storedText, stored.number);
      renameVersions?.run(storedText, stored.number);
      rekeyed();
      return found(key, undefined);
    }
    const digests = [digestOf(before, shape.ages), digest()];
    if (isBeside || wereTwins(shape, key, digests))
      return { key: apart, stored: undefined, isContradiction: true };
    // On another page of a list that changes meanwhile, it may be the same row, changed since.
    if (twins.size < MAX_TWINS || twins.has(key))
      twins.set(key, [...new Set([...(twins.get(key) ?? []), ...digests])]);
    return found(key, stored);
  }

  /** Whether a row of this number stands beside the one that came, in the same moment. */
  const isOther = (number: number) => onPage.has(number) || (isPublished && hasMet(number));

  /** Nothing but its place tells this row from another one: of those on its page, it is the next that is not the very same. */
  function matchNth(row: Row, first: string, shape: DiscoveredShape): Match {
    for (let nth = 2; ; nth += 1) {
      const key = nthKey(first, nth);
      const stored = table.compare(row, key);
      const isItsOwn = stored?.change === 'changed' && shape.key !== null;
      if (stored && (isItsOwn || (isOther(stored.number) && stored.change !== 'none'))) continue;
      return { key, stored, isContradiction: shape.key !== null && stored === undefined };
    }
  }

  return {
    /** @param published whether the page is of the published snapshot that this pass reads, where no row changes. */
    beginPage(published: boolean): void {
      onPage.clear();
      isPublished = published;
    },
    match(row: Row, shape: DiscoveredShape): Match {
      if (row.discovered) return matchDiscovered(row, row.discovered, shape);
      return { key: row.key, stored: table.compare(row, row.key), isContradiction: false };
    },
    /** The row is in the table now, under this number. */
    wrote(number: number): void {
      if (!job.contract) onPage.add(number);
    },
    /** Without a contract: whether the same row stands further up on this page. */
    isOnPage: (number: number) => onPage.has(number),
  };
}

/** Whether the last walk met both of these rows under the key: then neither is the other, changed. */
function wereTwins({ twins }: DiscoveredShape, key: string, digests: readonly string[]): boolean {
  const last = twins.find(([twin]) => twin === key)?.[1];
  return last !== undefined && digests.every((digest) => last.includes(digest));
}
