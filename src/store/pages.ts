/**
 * The list of the rows that a walk has met, in their order: page by page in `_walk_pages`, each row once, by its number. A look at the head
 * moves rows that were met before to the front.
 *
 * That of the last full proof is the order in which `serve` shows the rows. As such a walk ends, it holds, from the top: rows that only a
 * glance beside it has met (`addGlanced`), its looks at the head (`addLook`), its pages as it read them (`add`), the held rows (`addHeld`);
 * `keepOrder` gives the walk its `order_seq`, from which on readers see it; rows above its `last_number` have come since, and are shown in
 * front. Where the proof before had the same
 * order, the later one keeps the list, and the earlier points to it (`pages_of`). An order stays until another one takes its place, and a
 * day longer for who reads the past (`prune.ts`). The list of a walk that proves nothing goes as it ends, that of a glance with the walk
 * beside it; a renewal has none.
 */

import type { Job } from '../job.ts';
import { MAX_HEAD_PAGES } from '../walk/anchored.ts';
import { type Connection, valueIn } from './connection.ts';
import type { WalkRow } from './schema.ts';
import { createSequence } from './sequence.ts';
import { quoted } from './sql.ts';

/** The id of a page is `walk_id << 20 | slot`. */
const PAGES_OF_A_WALK = 2 ** 20;

/** The slots of a walk's pages, in the order in which their rows are shown. */
const slots = {
  /** Rows that a glance met meanwhile, and the walk did not. */
  glanced: 0,
  /** The looks at the head that a walk takes after its last page, since rows may have come: from the top down. */
  firstLook: 1,
  /** The pages up to its last one, as it read them. */
  firstPage: 1 + MAX_HEAD_PAGES,
  /** Rows that are held. */
  held: PAGES_OF_A_WALK - 1,
};

type Range = { from: number; to: number };

/** The ids of a walk's pages. */
const rangeOf = (walkId: number): Range => ({
  from: walkId * PAGES_OF_A_WALK,
  to: (walkId + 1) * PAGES_OF_A_WALK - 1,
});

const idOf = (walkId: number, slot: number) => walkId * PAGES_OF_A_WALK + slot;

/** SQL for the id of the walk that a page belongs to. */
const WALK_OF_PAGE = '_walk_pages.id >> 20';

/** SQL for whether a page is of a glance beside a walk; its parameters are the job and the id of the walk. */
const OF_GLANCES_BESIDE = `${WALK_OF_PAGE} IN (SELECT id FROM walks WHERE job = ? AND id > ? AND kind = 'glance')`;

/** SQL for the numbers of the rows in a walk's pages; its parameters are those of `rangeOf`. */
const NUMBERS = `SELECT value FROM _walk_pages, json_each(numbers)
  WHERE _walk_pages.id BETWEEN :from AND :to AND value > 0`;

export type WalkPages = ReturnType<typeof openWalkPages>;

/** The pages of an open walk, and in memory a bit for each number that it has met. Its functions belong into transactions. */
export function openWalkPages(connection: Connection, walkId: number) {
  const range = rangeOf(walkId);
  const insert = connection.prepare<[number, number, string]>(
    'INSERT INTO _walk_pages (id, rows, numbers) VALUES (?, ?, ?)',
  );
  const replace = connection.prepare<[number, string, number]>(
    'UPDATE _walk_pages SET rows = ?, numbers = ? WHERE id = ?',
  );
  const all = connection.prepare<[Range], { id: number; numbers: string }>(
    'SELECT id, numbers FROM _walk_pages WHERE id BETWEEN :from AND :to ORDER BY id',
  );
  let met = new NumberSet();
  let nextPage = slots.firstPage;
  let nextLook = slots.firstLook;
  for (const { id, numbers } of all.all(range)) {
    for (const number of JSON.parse(numbers) as number[]) met.add(number);
    const slot = id - range.from;
    if (slot < slots.firstPage) nextLook = slot + 1;
    else nextPage = slot + 1;
  }

  function write(slot: number, numbers: readonly number[]): void {
    if (numbers.length > 0) insert.run(idOf(walkId, slot), countRows(numbers), JSON.stringify(numbers));
  }

  return {
    has: (number: number) => met.has(number),
    /** How many different rows were met, refused ones included. */
    get size() {
      return met.size;
    },
    /** Notes a page's rows, in its order. @returns those that were not met before. */
    add(numbers: readonly number[]): number[] {
      const fresh = numbers.filter((number) => met.add(number));
      write(nextPage, fresh);
      nextPage += 1;
      return fresh;
    },
    /** Notes a look at the head: its rows are shown in front, and no longer where they were met first. */
    addLook(numbers: readonly number[]): number[] {
      const fresh = numbers.filter((number) => met.add(number));
      const atHead = new Set(numbers);
      const firstPage = idOf(walkId, slots.firstPage);
      for (const page of all.all(range)) {
        const before = JSON.parse(page.numbers) as number[];
        // An earlier look shows them further up.
        if (page.id < firstPage) for (const number of before) atHead.delete(number);
        const left = before.filter((number) => !atHead.has(number));
        if (left.length < before.length && page.id >= firstPage)
          replace.run(countRows(left), JSON.stringify(left), page.id);
      }
      write(nextLook, [...atHead]);
      nextLook += 1;
      return fresh;
    },
    /** Where the key of the list is found (`keys.ts`), some rows turn out to be others. */
    unite(job: string, numbers: Iterable<number>, intoOf: IntoOf): void {
      uniteNumbers(connection, job, intoOf);
      for (const number of numbers) if (met.delete(number)) met.add(intoOf(number));
    },
    /** The walk restarts at the first page: what a glance beside it has met until now may be gone. */
    clear(job: string): void {
      forgetWalkPages(connection, walkId);
      forgetGlances(connection, job, walkId);
      met = new NumberSet();
      nextPage = slots.firstPage;
      nextLook = slots.firstLook;
    },
    /** The numbers of the rows that were met, page by page, in the order in which they are shown. */
    byPage: () =>
      all.all(range).map((page) => (JSON.parse(page.numbers) as number[]).filter((one) => one > 0)),
    /** Lists in front the rows that a glance beside this walk has met and it has not: they are not absent. */
    addGlanced(job: string): void {
      const numbers = connection
        .prepare<[string, number], number>(
          `SELECT value FROM _walk_pages, json_each(numbers) WHERE ${OF_GLANCES_BESIDE} AND value > 0
           ORDER BY ${WALK_OF_PAGE} DESC, _walk_pages.id, json_each.key`,
        )
        .pluck()
        .all(job, walkId);
      write(
        slots.glanced,
        numbers.filter((number) => met.add(number)),
      );
    },
    /** Lists these rows at the end. */
    addHeld: (numbers: readonly number[]) => write(slots.held, numbers),
  };
}

/** How many of a page's numbers are rows of the table, not refused ones. */
const countRows = (numbers: readonly number[]) => numbers.filter((number) => number > 0).length;

/** Positive numbers are those of rows, negative ones of refused rows. */
class NumberSet {
  #bits = new Uint8Array(1_024);
  readonly #refused = new Set<number>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(number: number): boolean {
    return number < 0
      ? this.#refused.has(number)
      : ((this.#bits[number >> 3] ?? 0) & (1 << (number & 7))) !== 0;
  }

  /** Returns false where it was not there. */
  delete(number: number): boolean {
    if (!this.has(number)) return false;
    this.#size -= 1;
    if (number < 0) this.#refused.delete(number);
    else this.#bits[number >> 3] = (this.#bits[number >> 3] ?? 0) & ~(1 << (number & 7));
    return true;
  }

  /** Returns false where it was there already. */
  add(number: number): boolean {
    if (this.has(number)) return false;
    this.#size += 1;
    if (number < 0) {
      this.#refused.add(number);
      return true;
    }
    const at = number >> 3;
    if (at >= this.#bits.length) {
      const longer = new Uint8Array(Math.max(at + 1, 2 * this.#bits.length));
      longer.set(this.#bits);
      this.#bits = longer;
    }
    this.#bits[at] = (this.#bits[at] ?? 0) | (1 << (number & 7));
    return true;
  }
}

/** Which row a number is now; mostly the same. */
export type IntoOf = (number: number) => number;

/** Puts other numbers in the places of some in the pages of a job's walks. Call it in a transaction. */
export function uniteNumbers(connection: Connection, job: string, intoOf: IntoOf): void {
  replaceNumbers(connection, intoOf, '(SELECT job FROM walks WHERE id = walk) = ?', job);
}

/** Where a walk has both numbers, one goes. */
function replaceNumbers(connection: Connection, intoOf: IntoOf, ofWalks: string, ...bound: string[]): void {
  const walks = connection.prepare<string[], number>(
    `SELECT DISTINCT ${WALK_OF_PAGE} AS walk FROM _walk_pages WHERE ${ofWalks}`,
  );
  const pagesOf = connection.prepare<[Range], { id: number; numbers: string }>(
    'SELECT id, numbers FROM _walk_pages WHERE id BETWEEN :from AND :to ORDER BY id',
  );
  const update = connection.prepare<[number, string, number]>(
    'UPDATE _walk_pages SET rows = ?, numbers = ? WHERE id = ?',
  );
  for (const walkId of walks.pluck().all(...bound)) {
    const pages = pagesOf
      .all(rangeOf(walkId))
      .map(({ id, numbers }) => ({ id, numbers: JSON.parse(numbers) as number[] }));
    const has = new Set(pages.flatMap(({ numbers }) => numbers.filter((one) => intoOf(one) === one)));
    for (const { id, numbers } of pages) {
      if (numbers.every((one) => intoOf(one) === one)) continue;
      const united = numbers.filter((one) => intoOf(one) === one || !has.has(intoOf(one))).map(intoOf);
      const once = [...new Set(united)];
      for (const one of once) has.add(one);
      update.run(countRows(once), JSON.stringify(once), id);
    }
  }
}

/**
 * A refused row is in the table now: walks that met it have met the row. A proof's order stays: the row is shown in front, as one that has
 * come since.
 */
export function acceptRefused(connection: Connection, refusedId: number, number: number): void {
  const intoOf = (one: number) => (one === -refusedId ? number : one);
  replaceNumbers(connection, intoOf, '(SELECT order_seq FROM walks WHERE id = walk) IS NULL');
}

export function forgetWalkPages(connection: Connection, walkId: number): void {
  connection.prepare<[Range]>('DELETE FROM _walk_pages WHERE id BETWEEN :from AND :to').run(rangeOf(walkId));
}

/** Forgets the pages of glances that were made beside a walk, which has ended or begins anew. */
export function forgetGlances(connection: Connection, job: string, walkId: number): void {
  connection.prepare<[string, number]>(`DELETE FROM _walk_pages WHERE ${OF_GLANCES_BESIDE}`).run(job, walkId);
}

/** SQL for the rows of a table that no page of a walk lists, and its parameters. */
export const absentFrom = (walkId: number) => ({ sql: `number NOT IN (${NUMBERS})`, range: rangeOf(walkId) });

/** What the pages of a walk list: how many rows, and a part of their numbers. Ask for those of `pages_of`, where a later proof has them. */
export function orderReader(connection: Connection) {
  // The sizes of the pages say where a row stands: SQL that sums them up takes five times as long.
  const sizes = connection
    .prepare<[Range], string>(
      'SELECT json_group_array(rows) FROM (SELECT rows FROM _walk_pages WHERE id BETWEEN :from AND :to ORDER BY id)',
    )
    .pluck();
  const pages = connection
    .prepare<[Range & { skipped: number; most: number }], string>(
      'SELECT numbers FROM _walk_pages WHERE id BETWEEN :from AND :to ORDER BY id LIMIT :most OFFSET :skipped',
    )
    .pluck();
  const count = connection
    .prepare<[Range], number | null>('SELECT sum(rows) FROM _walk_pages WHERE id BETWEEN :from AND :to')
    .pluck();
  return {
    countRows: (walkId: number): number => count.get(rangeOf(walkId)) ?? 0,
    readNumbers(walkId: number, offset: number, limit: number): number[] {
      const range = rangeOf(walkId);
      const rows = JSON.parse(sizes.get(range) ?? '[]') as number[];
      let [skipped, first] = [0, 0];
      for (; skipped < rows.length && first + (rows[skipped] ?? 0) <= offset; skipped += 1)
        first += rows[skipped] ?? 0;
      let [most, end] = [0, first];
      for (; skipped + most < rows.length && end < offset + limit; most += 1)
        end += rows[skipped + most] ?? 0;
      const shown = pages
        .all({ ...range, skipped, most })
        .flatMap((numbers) => (JSON.parse(numbers) as number[]).filter((number) => number > 0));
      return shown.slice(offset - first, offset - first + limit);
    },
  };
}

type Order = { id: number; orderSeq: number; generatedAt: string | null; held: number };

/** The last proof whose pages are an order. */
const lastOrder = (connection: Connection, job: string) =>
  connection
    .prepare<[string], Order>(
      `SELECT id, order_seq AS orderSeq, iif(verdict = 'snapshot', generated_at, NULL) AS generatedAt, held
       FROM walks WHERE job = ? AND order_seq IS NOT NULL ORDER BY order_seq DESC, id DESC LIMIT 1`,
    )
    .get(job);

/**
 * Makes the pages of a proof the order of the rows. Of two proofs in a row with the same order, the later keeps the pages, and the earlier
 * points to it (`pages_of`). Call it in the transaction that ends the walk, after removals.
 * @returns `orderSeq`: the `seq` from which on readers see this order; that of the last proof where they see the same as before.
 */
export function keepOrder(
  connection: Connection,
  job: Job,
  walk: Pick<WalkRow, 'id' | 'generatedAt' | 'held' | 'deleted' | 'lastSeq'>,
  verdict: 'snapshot' | 'verified',
  now: number,
): Pick<WalkRow, 'orderSeq' | 'lastNumber'> {
  const lastNumber = valueIn<number>(connection, `SELECT max(number) FROM ${quoted(job.rows)}`) ?? 0;
  const last = lastOrder(connection, job.name);
  const isSameOrder = last !== undefined && listOf(connection, last.id) === listOf(connection, walk.id);
  if (isSameOrder) {
    forgetWalkPages(connection, last.id);
    connection
      .prepare('UPDATE walks SET pages_of = ? WHERE id = ? OR pages_of = ?')
      .run(walk.id, last.id, last.id);
  }
  const generatedAt = verdict === 'snapshot' ? walk.generatedAt : null;
  const lastChange =
    valueIn<number>(connection, 'SELECT last_seq FROM _datasets WHERE job = ?', job.name) ?? 0;
  // A published snapshot is served as it was proven: any change makes another one.
  const isSameSnapshot =
    last?.generatedAt === generatedAt && (generatedAt === null || lastChange <= last.orderSeq);
  if (isSameOrder && isSameSnapshot && last.held === walk.held)
    return { orderSeq: last.orderSeq, lastNumber };
  // The rows that this walk has removed have taken a `seq` already.
  const removed = walk.deleted > 0 ? walk.lastSeq : null;
  return { orderSeq: removed ?? createSequence(connection, 'reordered_seq')(job.name, now), lastNumber };
}

/** The numbers that a walk's pages list, as text. */
const listOf = (connection: Connection, walkId: number) =>
  connection
    .prepare<[Range], string | null>(
      `SELECT group_concat(value) FROM (${NUMBERS} ORDER BY _walk_pages.id, json_each.key)`,
    )
    .pluck()
    .get(rangeOf(walkId));

/** Forgets the orders of a dataset whose place another one has taken by this `seq`: that of a day ago. */
export function pruneOrders(connection: Connection, job: string, until: number): void {
  const superseded = connection
    .prepare<[string, number], { id: number; next: number }>(
      `SELECT id, next FROM (
         SELECT id, lead(order_seq) OVER (ORDER BY order_seq, id) AS next FROM walks
         WHERE job = ? AND order_seq IS NOT NULL
       ) WHERE next <= ? ORDER BY next`,
    )
    .all(job, until);
  const last = superseded.at(-1);
  if (!last) return;
  const forget = connection.prepare<[number]>(
    'UPDATE walks SET order_seq = NULL, pages_of = NULL WHERE id = ?',
  );
  for (const { id } of superseded) {
    forgetWalkPages(connection, id);
    forget.run(id);
  }
  connection
    .prepare<[string, number]>(
      `INSERT INTO _datasets (job, orders_from) VALUES (?, ?)
       ON CONFLICT DO UPDATE SET orders_from = max(excluded.orders_from, coalesce(orders_from, 0))`,
    )
    .run(job, last.next);
}
