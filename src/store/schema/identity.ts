/** The table that says which mirror it is, wherever its file goes. */

import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** Which mirror this is: one row. Whoever follows it from elsewhere knows it by this. */
export const identity = sqliteTable('identity', {
  /** Always 1. */
  id: integer().primaryKey(),
  /** It stays through backups and wherever the file moves. */
  name: text().notNull(),
  /** Another one in every backup: a mirror that was restored from one has lost changes that others may have seen. */
  epoch: text().notNull(),
});
