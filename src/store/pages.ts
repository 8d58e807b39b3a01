/**
 * The pages of walks: which rows a walk has met, and in what order the API showed them. A page holds the numbers of its rows that no
 * page before it has. The pages of a proof are the order in which `serve` shows the rows, until another proof takes its place.
 */

import type { Job } from '../job.ts';
import { type Connection, valueIn } from './connection.ts';
import type { WalkRow } from './schema.ts';
import { createSequence } from './sequence.ts';
import { quoted } from './sql.ts';

/** Walk ids and pages of one walk share a number: `walk_id << 20 | at + 8`. */
const PAGES_OF_A_WALK = 2 ** 20;
const PAGES_IN_FRONT = 8;

/** Where the end of a walk puts rows that a glance met meanwhile; looks at the head are behind it; held rows come last. */
const GLANCED = -4;
const LOOKS_AT_HEAD = -3;
const HELD = PAGES_OF_A_WALK - PAGES_IN_FRONT - 1;

type Range = { from: number; to: number };

/** The ids of a walk's pages. */
const rangeOf = (walkId: number): Range => ({
  from: walkId * PAGES_OF_A_WALK,
  to: (walkId + 1) * PAGES_OF_A_WALK - 1,
});

const idOf = (walkId: number, at: number) => walkId * PAGES_OF_A_WALK + at + PAGES_IN_FRONT;

/** SQL for the id of the walk that a page belongs to. */
const WALK_OF_PAGE = '_walk_pages.id >> 20';

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
  let next = 0;
  let looks = 0;
  for (const { id, numbers } of all.all(range)) {
    for (const number of JSON.parse(numbers) as number[]) met.add(number);
    const at = id - idOf(walkId, 0);
    if (at < 0) looks += 1;
    else next = at + 1;
  }

  function write(at: number, numbers: readonly number[]): void {
    const rows = numbers.filter((number) => number > 0).length;
    if (numbers.length > 0) insert.run(idOf(walkId, at), rows, JSON.stringify(numbers));
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
      write(next, fresh);
      next += 1;
      return fresh;
    },
    /** Notes a look at the head: its rows are shown in front, and no longer where they were met first. */
    addLook(numbers: readonly number[]): number[] {
      const fresh = numbers.filter((number) => met.add(number));
      const moved = new Set(numbers);
      for (const page of all.all(range)) {
        const before = JSON.parse(page.numbers) as number[];
        if (page.id < idOf(walkId, 0)) for (const number of before) moved.delete(number);
        const left = before.filter((number) => !moved.has(number));
        if (left.length < before.length && page.id >= idOf(walkId, 0))
          replace.run(left.filter((number) => number > 0).length, JSON.stringify(left), page.id);
      }
      write(LOOKS_AT_HEAD + looks, [...moved]);
      looks += 1;
      return fresh;
    },
    /** Two rows turned out to be one. */
    unite(number: number, into: number): void {
      uniteNumbers(connection, number, into);
      if (met.has(number)) met.add(into);
    },
    /** The walk begins anew. */
    clear(): void {
      forgetWalkPages(connection, walkId);
      met = new NumberSet();
      next = 0;
      looks = 0;
    },
    /** The numbers of the rows that were met, in the order in which they are shown. */
    numbers: () => numbersOf(connection, walkId),
    /** Shows rows in front that a glance beside this walk has met and it has not, since they are not absent. */
    addGlanced(job: string): void {
      const glances = `${WALK_OF_PAGE} IN (SELECT id FROM walks WHERE job = ? AND id > ? AND kind = 'glance')`;
      const numbers = connection
        .prepare<[string, number], number>(
          `SELECT DISTINCT value FROM _walk_pages, json_each(numbers) WHERE ${glances} AND value > 0`,
        )
        .pluck()
        .all(job, walkId);
      write(
        GLANCED,
        numbers.filter((number) => met.add(number)),
      );
    },
    /** Shows these rows at the end. */
    addHeld: (numbers: readonly number[]) => write(HELD, numbers),
  };
}

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

function numbersOf(connection: Connection, walkId: number): number[] {
  return connection
    .prepare<[Range], number>(`${NUMBERS} ORDER BY _walk_pages.id, json_each.key`)
    .pluck()
    .all(rangeOf(walkId));
}

const ALL: Range = { from: 0, to: Number.MAX_SAFE_INTEGER };

/** Puts a number in the place of another in pages, or takes that out where the walk has both. Call it in a transaction. */
export function uniteNumbers(connection: Connection, number: number, into: number, range = ALL): void {
  const holding = connection.prepare<[Range & { number: number }], { id: number; numbers: string }>(
    `SELECT id, numbers FROM _walk_pages WHERE id BETWEEN :from AND :to
       AND EXISTS (SELECT 1 FROM json_each(numbers) WHERE value = :number)`,
  );
  const update = connection.prepare<[number, string, number]>(
    'UPDATE _walk_pages SET rows = ?, numbers = ? WHERE id = ?',
  );
  for (const { id, numbers } of holding.all({ ...range, number })) {
    const hasBoth = holding.get({ ...rangeOf(Math.floor(id / PAGES_OF_A_WALK)), number: into }) !== undefined;
    const united = (JSON.parse(numbers) as number[]).flatMap((one) =>
      one !== number ? one : hasBoth ? [] : into,
    );
    update.run(united.filter((one) => one > 0).length, JSON.stringify(united), id);
  }
}

/** A refused row is in the table now: walks that met it have met the row. A proof's order stays: the row is shown as one that has come since. */
export function acceptRefused(connection: Connection, refusedId: number, number: number): void {
  const walks = connection.prepare<[], number>(
    `SELECT DISTINCT ${WALK_OF_PAGE} AS walk FROM _walk_pages WHERE (SELECT order_seq FROM walks WHERE id = walk) IS NULL`,
  );
  for (const walkId of walks.pluck().all()) uniteNumbers(connection, -refusedId, number, rangeOf(walkId));
}

export function forgetWalkPages(connection: Connection, walkId: number): void {
  connection.prepare<[Range]>('DELETE FROM _walk_pages WHERE id BETWEEN :from AND :to').run(rangeOf(walkId));
}

/** Forgets the pages of glances that were made beside a walk, which has ended. */
export function forgetGlances(connection: Connection, job: string, walkId: number): void {
  connection
    .prepare<[string, number]>(
      `DELETE FROM _walk_pages WHERE ${WALK_OF_PAGE} IN (SELECT id FROM walks WHERE job = ? AND id > ? AND kind = 'glance')`,
    )
    .run(job, walkId);
}

/** SQL for the rows of a table that are in none of a walk's pages, and its parameters. */
export const absentFrom = (walkId: number) => ({ sql: `number NOT IN (${NUMBERS})`, range: rangeOf(walkId) });

/** What a proof shows: how many rows, and a part of their numbers. */
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

/** The last proof whose pages show the order of the rows. */
const lastOrder = (connection: Connection, job: string) =>
  connection
    .prepare<[string], Order>(
      `SELECT id, order_seq AS orderSeq, iif(verdict = 'snapshot', generated_at, NULL) AS generatedAt, held
       FROM walks WHERE job = ? AND order_seq IS NOT NULL ORDER BY order_seq DESC, id DESC LIMIT 1`,
    )
    .get(job);

/**
 * Makes the pages of a proof the order of the rows. Of two proofs in a row with the same pages, the later keeps them. Call it in the
 * transaction that ends the walk, after removals.
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
  const hasSamePages = last !== undefined && listOf(connection, last.id) === listOf(connection, walk.id);
  if (hasSamePages) {
    forgetWalkPages(connection, last.id);
    connection
      .prepare('UPDATE walks SET pages_of = ? WHERE id = ? OR pages_of = ?')
      .run(walk.id, last.id, last.id);
  }
  const generatedAt = verdict === 'snapshot' ? walk.generatedAt : null;
  const lastChange =
    valueIn<number>(connection, 'SELECT last_seq FROM _datasets WHERE job = ?', job.name) ?? 0;
  const isSameProof = hasSamePages && last.held === walk.held && last.generatedAt === generatedAt;
  // A published snapshot is served as it was proven: any change makes another one.
  const isSame = isSameProof && (generatedAt === null || lastChange <= last.orderSeq);
  if (isSame) return { orderSeq: last.orderSeq, lastNumber };
  // The rows that this walk has removed have taken a number already.
  const removed = walk.deleted > 0 ? walk.lastSeq : null;
  return { orderSeq: removed ?? createSequence(connection, 'order_seq')(job.name, now), lastNumber };
}

/** The numbers that a walk shows, as text. */
const listOf = (connection: Connection, walkId: number) =>
  connection
    .prepare<[Range], string | null>(
      `SELECT group_concat(value) FROM (${NUMBERS} ORDER BY _walk_pages.id, json_each.key)`,
    )
    .pluck()
    .get(rangeOf(walkId));

/** Forgets the orders of a dataset whose place another proof has taken by this `seq`. */
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
