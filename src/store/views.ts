/**
 * Views and triggers. They follow the declarations of `jobs/`, so the code keeps them, not the migrations: the views that
 * make the mirror pleasant to report on, and the triggers that keep superseded and removed versions of rows, so that no
 * writer can forget them.
 */

import { CLOCK_TOLERANCE_MS } from '../clock.ts';
import {
  bookkeeping,
  historyOf,
  type Job,
  listed,
  ownColumnsOf,
  rowsOf,
  stableColumnsOf,
  tableOf,
  type View,
  volatileOf,
} from '../job.ts';
import type { Connection } from './db/connection.ts';
import { changesSql, freshnessSql, quoted, seqOf } from './sql.ts';

/** Every view that the mirror of these jobs has. */
export function viewsOf(jobs: readonly Job[]): View[] {
  return [freshness(jobs), changes(jobs), ...jobs.flatMap((job) => job.views)];
}

/** By this the views of the jobs are told from those that a user made. */
const OURS = '/* declared by market-mirror */';

export function ensureViews(connection: Connection, jobs: readonly Job[]): void {
  const views = viewsOf(jobs);
  for (const { name, sql } of views)
    ensureObject(connection, 'view', name, `CREATE VIEW ${quoted(name)} AS ${OURS}\n${sql}`);
  const declared = new Set(views.map(({ name }) => name));
  const ours = connection
    .prepare<[string], string>(`SELECT name FROM sqlite_master WHERE type = 'view' AND instr(sql, ?) > 0`)
    .pluck()
    .all(OURS);
  for (const name of ours) if (!declared.has(name)) connection.exec(`DROP VIEW ${quoted(name)}`);
}

/**
 * Makes the view that shows the rows of a job with their volatile values, where these lie apart. They are looked up by
 * subqueries: SQLite leaves out those that nobody asks for, and takes the view apart wherever a query joins it, as it does
 * not with a join within. And a column of one keeps its type.
 */
export function ensureShown(connection: Connection, job: Job): void {
  const volatile = volatileOf(job);
  if (volatile === undefined) return;
  const name = tableOf(job);
  const columns = [...ownColumnsOf(job), ...bookkeeping].map((column) =>
    job.contract?.volatile.includes(column)
      ? `${shownValue(volatile, column, 'stored.rowid')} AS ${quoted(column)}`
      : `stored.${quoted(column)}`,
  );
  const sql = `SELECT ${columns.join(', ')}\nFROM ${quoted(rowsOf(job))} AS stored`;
  ensureObject(connection, 'view', name, `CREATE VIEW ${quoted(name)} AS\n${sql}`);
}

/** SQL for the volatile value of the row of a number. */
const shownValue = (volatile: string, column: string, number: string) =>
  `(SELECT ${quoted(column)} FROM ${quoted(volatile)} WHERE _number = ${number})`;

/** Makes the triggers of a job's table those of its declaration. */
export function ensureHistory(connection: Connection, job: Job): void {
  if (!job.history) return;
  const name = tableOf(job);
  const table = rowsOf(job);
  const volatile = volatileOf(job);
  const columns = [...ownColumnsOf(job), ...bookkeeping];
  const stable = stableColumnsOf(job);
  const changed = `(${stable.map((name) => `OLD."${name}"`)}) IS NOT (${stable.map((name) => `NEW."${name}"`)})`;
  const removedAt = `coalesce((SELECT removed_at FROM absences WHERE job = '${job.name}' AND key = OLD._key), strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`;
  const old = columns.map((column) =>
    volatile !== undefined && job.contract?.volatile.includes(column)
      ? shownValue(volatile, column, 'OLD.rowid')
      : `OLD."${column}"`,
  );
  const keepOld = (validTo: string, endedBy: 'update' | 'delete', more = '') =>
    `BEGIN INSERT INTO "${name}_history" (${columns.map((name) => `"${name}"`)}, _valid_from, _valid_to, _ended_by) ` +
    `VALUES (${old}, OLD._changed_at, ${validTo}, '${endedBy}'); ${more}END`;
  // Another row may get its number, by which orders know it.
  const keepNumber = `INSERT INTO removed_rows (job, number, until, key) VALUES ('${job.name}', OLD.rowid, ${seqOf(removedAt)}, OLD._key); `;
  const forgetVolatile =
    volatile === undefined ? '' : `DELETE FROM ${quoted(volatile)} WHERE _number = OLD.rowid; `;

  ensureObject(
    connection,
    'trigger',
    `${name}_superseded`,
    `CREATE TRIGGER "${name}_superseded" AFTER UPDATE ON "${table}" WHEN ${changed} ${keepOld('NEW._changed_at', 'update')}`,
  );
  ensureObject(
    connection,
    'trigger',
    `${name}_removed`,
    `CREATE TRIGGER "${name}_removed" AFTER DELETE ON "${table}" ${keepOld(removedAt, 'delete', keepNumber + forgetVolatile)}`,
  );
}

/** Creates the view or trigger, or replaces one of that name whose definition differs. */
function ensureObject(
  connection: Connection,
  type: 'view' | 'trigger',
  name: string,
  definition: string,
): void {
  const present = connection
    .prepare<[string, string], string>('SELECT sql FROM sqlite_master WHERE type = ? AND name = ?')
    .pluck()
    .get(type, name);
  if (present === definition) return;
  connection.exec(`DROP ${type} IF EXISTS ${quoted(name)}; ${definition}`);
}

/** A time ahead of the clock has no age: a negative one would pass for fresh. */
const ageOf = (at: string) => {
  const since = `round((julianday('now') - julianday(${at})) * 86400, 1)`;
  return `CASE WHEN ${since} >= ${-CLOCK_TOLERANCE_MS / 1_000} THEN max(0.0, ${since}) END`;
};

/** One row a dataset that tells a report whether to trust the rest. */
function freshness(jobs: readonly Job[]): View {
  return {
    name: 'freshness',
    about:
      'Whether to trust the rest: when the last walk that proved a dataset complete began, its age and verdict, how the latest walk stands and when the next is due; and when new rows were last looked for, which proves nothing.',
    sql: freshnessSql(jobs.map(listed), ageOf),
    example: 'SELECT job, rows, complete_as_of, verdict FROM freshness WHERE age_seconds < 600',
  };
}

function changes(jobs: readonly Job[]): View {
  return {
    name: 'changes',
    about:
      'Every row that came, changed or went, over all datasets. `seq` grows with every commit, and all changes of one commit share it: whoever has read up to some `seq` goes on with greater ones and misses none. `change` is `insert`, `update` or `delete`; `walk_id` is the walk that found it.',
    sql: changesSql(
      jobs.map((job) => ({ name: job.name, table: tableOf(job), history: historyOf(job) ?? null })),
      seqOf,
    ),
    example: `SELECT seq, at, job, change, count(*) AS rows
FROM changes WHERE seq > 0 GROUP BY seq, job, change ORDER BY seq DESC LIMIT 20`,
  };
}
