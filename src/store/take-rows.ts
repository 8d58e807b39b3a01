/**
 * Takes in the rows of a page: one that fits is inserted, changed or left as it is; a refused one goes to the quarantine. And says of each
 * what it is to the walk: whether this pass had met it, whether the mirror knew it, whether it stands twice on its page.
 */

import type { Job } from '../job.ts';
import type { CheckedPage, CheckedRow, DiscoveredShape, FieldPath, Row } from '../validate/checked.ts';
import { keyedRow } from '../validate/keys.ts';
import { type Change, type MotionOfWalk, observe } from '../validate/motion.ts';
import type { Connection } from './connection.ts';
import type { Origin } from './drift.ts';
import { keepKeysSeq } from './keys.ts';
import { createMatcher, type Match, type Twins } from './matching.ts';
import type { WalkPages } from './pages.ts';
import { openQuarantine } from './quarantine.ts';
import type { Table } from './rows.ts';

/** What a transaction did. */
export type Counts = { inserted: number; updated: number; quarantined: number; drifted: number };

/** How the open transaction counts what changes, and dates it. */
export type Bookkeeping = {
  count(what: keyof Counts): void;
  /**
   * Takes the `seq` of the transaction with its first change, and another where a row changes once more that it has written already.
   * @returns it as the time that changed rows get.
   */
  takeSeq(number?: number): string;
  /** The row of this number has changed under the last `seq`. */
  changed(number: number): void;
};

/** What a walk keeps of the rows that it met. */
type WalkMemory = { twins: Twins; motion: MotionOfWalk };

/**
 * A row of a page. `number`: minus its id in the quarantine where the table lacks it. `isMet`: this pass had met it before. `isKnown`: the
 * mirror had it from a walk that ended well.
 */
export type PageRow = {
  key: string | null;
  number: number;
  isMet: boolean;
  isKnown: boolean;
  /** Whether the very same row stands further up on the page. */
  isDoubled: boolean;
};

type Refused = Extract<CheckedRow, { row?: undefined }>;

/** What the mirror has under the key of a refused row. */
type FoundUnderKey = {
  stored?: { number: number; walkId: number; isHeld: 0 | 1 } | undefined;
  refused?: { id: number; walkId: number; body: string } | undefined;
};

/** The page of a refused row: the numbers of its rows that fit, and the keys of those that were refused before. */
type PageOfRefused = { isPublished: boolean; fitting: ReadonlySet<number | undefined>; refused: Set<string> };

/**
 * Returns what takes in the rows of one page. Call it in a transaction.
 * @param walk `sinceComplete`: the ids of this walk and of those since the last complete one that are not complete.
 * @param parts `leftOut`: fields that are no part of what a row without a key is.
 */
export function rowTaker(
  connection: Connection,
  job: Job,
  walk: { id: number; sinceComplete: ReadonlySet<number>; memory: WalkMemory },
  { table, pages, leftOut }: { table: Table; pages: WalkPages; leftOut: readonly FieldPath[] },
  { count, takeSeq, changed }: Bookkeeping,
) {
  const matcher = createMatcher(connection, job, table, {
    twins: walk.memory.twins,
    hasMet: pages.has,
    rekeyed: () => keepKeysSeq(connection, job, Date.parse(takeSeq())),
  });
  const quarantine = openQuarantine(connection, job, leftOut);

  function writeRow({ key, stored }: Match, { values }: Row, cameBefore: boolean): number {
    if (!stored) {
      count('inserted');
      const number = table.insert(key, values, walk.id, takeSeq());
      changed(number);
      return number;
    }
    const { number, change, isHeld } = stored;
    if (isHeld) table.endHold(number);
    if (change === 'changed') {
      count('updated');
      table.update(number, values, walk.id, takeSeq(number));
      changed(number);
    } else if (change === 'aged') table.keepCurrent(stored, values);
    else if (cameBefore) table.replaceStaged(number, values);
    return number;
  }

  /** A refused row is still there upstream: what the mirror has under its key must not look gone. */
  function keepRefused({ key: readKey, refused }: Refused, page: PageOfRefused, origin: Origin): PageRow {
    const found = readKey === null ? {} : { stored: table.find(readKey), refused: quarantine.find(readKey) };
    const isTwin = readKey !== null && isOfAnotherRow(readKey, refused.body, found, page);
    if (readKey !== null) page.refused.add(readKey);
    // Without a contract nothing says that it is its key.
    const isOwnKey = !isTwin || Boolean(job.contract);
    const key = isOwnKey ? readKey : null;
    const { stored, refused: refusedBefore }: FoundUnderKey = isOwnKey ? found : {};
    const id = quarantine.keep({ ...refused, key }, isTwin, origin);
    count('quarantined');
    if (stored?.isHeld) table.endHold(stored.number);
    const number = stored?.number ?? -id;
    const isKnown = [refusedBefore, stored].some((one) => one !== undefined && isOfCompleteWalk(one));
    return { key, number, isMet: key !== null && pages.has(number), isKnown, isDoubled: false };
  }

  /**
   * Whether the key of a refused row is that of another one, which this pass has met. A row that another page shows may be the same
   * row, changed since; but in a published snapshot no row changes.
   */
  function isOfAnotherRow(
    key: string,
    body: string,
    { stored, refused: before }: FoundUnderKey,
    { isPublished, fitting, refused }: PageOfRefused,
  ): boolean {
    if (stored && fitting.has(stored.number)) return true;
    if (before && (refused.has(key) || pages.has(stored?.number ?? -before.id)))
      return (isPublished || refused.has(key)) && before.body !== body;
    // Without a contract, one that fits is not known by that key alone.
    return stored !== undefined && (isPublished || !job.contract) && pages.has(stored.number);
  }

  /** Whether this pass has met the row. Without a contract it may have met a refused one under the key, which need not be this one. */
  const hasMet = (number: number, key: string) =>
    pages.has(number) && (Boolean(job.contract) || quarantine.find(key)?.walkId !== walk.id);

  const isOfCompleteWalk = ({ walkId }: { walkId: number }) => !walk.sinceComplete.has(walkId);

  /**
   * Takes in the rows of a page in its order, then the refused ones. The key of a row may be another than it seemed (`matching.ts`).
   * @returns `contradicted`: keys under which two different rows stand upstream.
   */
  return (
    { rows }: CheckedPage,
    shape: DiscoveredShape,
    isPublished: boolean,
    origin: Origin,
  ): { pageRows: PageRow[]; contradicted: string[] } => {
    const pageRows: PageRow[] = [];
    const contradicted: string[] = [];
    const texts: [before: string | null, after: string | null][] = [];
    // Of two rows under one key the mirror holds either, so what it had says nothing of how the other moves.
    const shared = new Set(shape.twins.map(([key]) => key));
    matcher.beginPage(isPublished);
    rows.forEach(({ row: came }, at) => {
      if (!came) return;
      const match = matcher.match(came, shape);
      const { key, stored } = match;
      if (match.isContradiction) contradicted.push(came.key);
      const isMet = stored !== undefined && hasMet(stored.number, key);
      if (stored && !isMet && !shared.has(came.key))
        texts.push([stored.unspecified, unspecifiedOf(job, came)]);
      const isDoubled = stored !== undefined && matcher.isOnPage(stored.number);
      const number = writeRow(match, came, isMet || isDoubled);
      matcher.wrote(number);
      quarantine.resolve(key, origin.now);
      pageRows[at] = {
        ...{ key, number, isMet, isDoubled },
        isKnown: stored !== undefined && isOfCompleteWalk(stored),
      };
    });
    const page = {
      isPublished,
      fitting: new Set(pageRows.map((one) => one?.number)),
      refused: new Set<string>(),
    };
    rows.forEach((one, at) => {
      if (one.refused) pageRows[at] = keepRefused(one, page, origin);
    });
    observe(walk.memory.motion, changesOf(texts));
    return { pageRows, contradicted };
  };
}

/** Where a row may have ages: its body, or the properties that its contract does not list. */
const unspecifiedOf = ({ contract }: Job, { values }: Row) =>
  (values[contract ? 'extra' : '_body'] ?? null) as string | null;

/** Mostly nothing has changed on a page, and nothing needs to be parsed. */
function changesOf(texts: readonly (readonly [string | null, string | null])[]): readonly Change[] {
  if (texts.every(([before, after]) => before === after)) return texts;
  const recordOf = (text: string | null) => (text === null ? null : keyedRow(text).record);
  return texts.map(([before, after]) => {
    const record = recordOf(before);
    return [record, before === after ? record : recordOf(after)];
  });
}
