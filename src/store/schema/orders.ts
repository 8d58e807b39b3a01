/** The tables that keep the order of rows, and what their numbers meant. */

import { blob, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/**
 * The order in which the API showed the rows of a dataset, one row for each proof that found another one, or other rows.
 * Rows that came since the latest of them have greater rowids than `top`. Kept for seven days, and in a tenth of the database.
 */
export const orders = sqliteTable(
  'orders',
  {
    job: text().notNull(),
    /** From this change on, see `changes`. A proof that changes no row has one of its own here. */
    seq: integer().notNull(),
    /** The walk that proved it (`walks.id`). It may be forgotten, so what is told of it stands here, too. */
    walkId: integer('walk_id').notNull(),
    /** Of that walk, see `walks.verdict`. */
    verdict: text({ enum: ['snapshot', 'verified'] }).notNull(),
    /** When that walk began. */
    completeAsOf: text('complete_as_of').notNull(),
    /** `generatedAt` of the snapshot, as received; null for any other verdict. */
    generatedAt: text('generated_at'),
    /** All rows held then, by their rowids, packed. Null where the list is that of `same_as`. */
    rowids: blob({ mode: 'buffer' }),
    /** The earlier order (`seq`) that has the same list. */
    sameAs: integer('same_as'),
    /** How many these are. */
    rows: integer().notNull(),
    /** So many of them, at the front, did the walk find. The others are held, or came meanwhile. */
    met: integer().notNull(),
    /** How many of those others were held, see `_held_since`. */
    held: integer().notNull(),
    /** The greatest rowid of the table then. */
    top: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.job, table.seq] })],
);

/** The rowids of rows that were removed: another row may have the same one now. */
export const removedRows = sqliteTable(
  'removed_rows',
  {
    job: text().notNull(),
    /** The rowid that it had. */
    number: integer().notNull(),
    /** The change that removed it, see `changes`. */
    until: integer().notNull(),
    /** Its `_key`. */
    key: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.job, table.number, table.until] }),
    index('removed_rows_by_time').on(table.job, table.until),
  ],
);
