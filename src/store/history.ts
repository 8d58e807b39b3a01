/** Superseded and removed versions of rows, kept by triggers: no writer can forget them. */

import { getTableColumns } from 'drizzle-orm';
import { getTableConfig } from 'drizzle-orm/sqlite-core';
import type { Job } from '../job.ts';
import type { Connection } from './db/connection.ts';
import { ensureObject } from './db/ensure-object.ts';

const bookkeeping = ['_key', '_first_seen_at', '_changed_at', '_walk_id'];

/** Makes the triggers of a job's table those of its declaration. */
export function ensureHistory(connection: Connection, job: Job): void {
  if (!job.history) return;
  const table = getTableConfig(job.table).name;
  const columns = Object.keys(getTableColumns(job.table));
  const stable = columns.filter(
    (name) => !bookkeeping.includes(name) && !job.contract?.volatile.includes(name),
  );
  const changed = `(${stable.map((name) => `OLD."${name}"`)}) IS NOT (${stable.map((name) => `NEW."${name}"`)})`;
  const removedAt = `coalesce((SELECT removed_at FROM absences WHERE job = '${job.name}' AND key = OLD._key), strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`;
  const keepOld = (validTo: string, endedBy: 'update' | 'delete') =>
    `BEGIN INSERT INTO "${table}_history" (${columns.map((name) => `"${name}"`)}, _valid_from, _valid_to, _ended_by) ` +
    `VALUES (${columns.map((name) => `OLD."${name}"`)}, OLD._changed_at, ${validTo}, '${endedBy}'); END`;

  ensureObject(
    connection,
    'trigger',
    `${table}_superseded`,
    `CREATE TRIGGER "${table}_superseded" AFTER UPDATE ON "${table}" WHEN ${changed} ${keepOld('NEW._changed_at', 'update')}`,
  );
  ensureObject(
    connection,
    'trigger',
    `${table}_removed`,
    `CREATE TRIGGER "${table}_removed" AFTER DELETE ON "${table}" ${keepOld(removedAt, 'delete')}`,
  );
}
