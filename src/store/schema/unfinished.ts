/** The tables of what unfinished walks have brought so far, beside the rows. */

import { blob, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** The rows that unfinished walks have met so far, one row for each commit. No index, since there are never many. */
export const rowsMet = sqliteTable('rows_met', {
  id: integer().primaryKey(),
  walkId: integer('walk_id').notNull(),
  /** Their rowids in the dataset's table or in `quarantine`, packed. */
  rowids: blob({ mode: 'buffer' }).notNull(),
  /**
   * Where they were met, each in the order in which they were shown: `rows` as the walk read on, `head` as it looked at the
   * beginning again, `refused` in quarantine.
   */
  part: text({ enum: ['rows', 'head', 'refused'] }).notNull(),
});

/**
 * Volatile values that walks have received since the last of them ended, one row for each commit. As the walk ends they go to
 * the table of the dataset that holds such values, in the order of its rows: as they came they would change every page of it
 * again and again.
 */
export const volatileSeen = sqliteTable('volatile_seen', {
  id: integer().primaryKey(),
  job: text().notNull(),
  /** JSON: the numbers of the rows, and the values of each volatile column, in the order of that table. */
  content: text().notNull(),
});
