/**
 * Views, and the triggers that keep superseded and removed rows whoever writes. They follow the declarations of `jobs/`, so the
 * code makes them, not the migrations.
 */

import { CLOCK_TOLERANCE_MS } from '../base/clock.ts';
import { storedName } from '../base/properties.ts';
import { bookkeeping, type Job, type View, validity, versioned } from '../job.ts';
import { analystViewsOf, OURS } from './analysts.ts';
import { type Connection, valueIn } from './connection.ts';
import { changesSql, freshnessSql, quoted, seqOf } from './sql.ts';

/** Every view that the mirror of these jobs has. */
export function viewsOf(jobs: readonly Job[]): View[] {
  return [freshness(jobs), changes(jobs), ...jobs.flatMap((job) => job.views)];
}

export function ensureViews(connection: Connection, jobs: readonly Job[]): void {
  const declared = new Set<string>();
  for (const { name, sql } of viewsOf(jobs)) {
    ensureObject(connection, 'view', name, `CREATE VIEW ${quoted(name)} AS ${OURS} */\n${sql}`);
    declared.add(name);
  }
  for (const job of jobs) for (const name of ensureAnalystViews(connection, job)) declared.add(name);
  const ours = connection
    .prepare<[string], string>(`SELECT name FROM sqlite_master WHERE type = 'view' AND instr(sql, ?) > 0`)
    .pluck()
    .all(OURS);
  for (const name of ours) if (!declared.has(name)) connection.exec(`DROP VIEW ${quoted(name)}`);
}

/** Makes the analysts' views of a dataset those of its columns. @returns their names. */
export function ensureAnalystViews(connection: Connection, job: Job): string[] {
  return analystViewsOf(connection, job).map(({ name, sql }) => {
    ensureObject(connection, 'view', name, `CREATE VIEW ${quoted(name)} AS ${sql}`);
    return name;
  });
}

/**
 * Makes the views that queries name: the dataset, and its history. Columns of the dataset come first, those that begin with `_`
 * last: the table itself can only take discovered ones at its end. Volatile values are subqueries, not a join: SQLite leaves out
 * those that nobody asks for, flattens the view into a query's join, and keeps the type of a column.
 */
export function ensureShown(connection: Connection, job: Job): void {
  const { columns, volatile, rows, volatileTable } = job;
  const show = (view: string, table: string, ours: readonly string[]) => {
    const shown = [
      ...columns.filter((column) => !column.startsWith('_')),
      ...discoveredIn(connection, table),
      ...ours,
      ...columns.filter((column) => column.startsWith('_')),
    ].map((column) => {
      if (volatileTable !== null && table === rows && volatile.includes(column))
        return `${volatileValueSql(volatileTable, column, 'stored.number')} AS ${quoted(column)}`;
      const name = storedName(column);
      return name === column ? `stored.${quoted(name)}` : `stored.${quoted(name)} AS ${quoted(column)}`;
    });
    const sql = `SELECT ${shown.join(', ')}\nFROM ${quoted(table)} AS stored`;
    ensureObject(connection, 'view', view, `CREATE VIEW ${quoted(view)} AS\n${sql}`);
  };
  show(job.table, rows, bookkeeping);
  if (job.history !== null && job.versions !== null)
    show(job.history, job.versions, [...versioned, ...validity]);
}

/** The columns that read fields from `_body`, in the order in which they were found, as the view names them. */
function discoveredIn(connection: Connection, table: string): string[] {
  const names = connection
    .prepare<[string], string>('SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 2 ORDER BY cid')
    .pluck()
    .all(table);
  return names.map((name) => (name === storedName(name.slice(0, -1)) ? name.slice(0, -1) : name));
}

/** SQL for a volatile value of the row that has the number. */
const volatileValueSql = (table: string, column: string, number: string) =>
  `(SELECT ${quoted(storedName(column))} FROM ${quoted(table)} WHERE number = ${number})`;

/** Makes the triggers of a job's rows those of its declaration. A version ends where `_changed_at` changes: ages and volatile values leave that. */
export function ensureTriggers(connection: Connection, job: Job): void {
  const { name, table, rows, versions, volatile, volatileTable } = job;
  if (versions === null) return;
  const columns = [...job.columns, ...versioned];
  const old = columns.map((column) =>
    volatileTable !== null && volatile.includes(column)
      ? volatileValueSql(volatileTable, column, 'OLD.number')
      : `OLD.${quoted(storedName(column))}`,
  );
  const keepOld = (validTo: string, endedBy: 'update' | 'delete') =>
    `INSERT INTO ${quoted(versions)} (${columns.map(storedName).map(quoted)}, ${validity}, _row) ` +
    `VALUES (${old}, OLD._changed_at, ${validTo}, '${endedBy}', OLD.number); `;
  const ensureTrigger = (trigger: string, when: string, body: string) =>
    ensureObject(
      connection,
      'trigger',
      trigger,
      `CREATE TRIGGER ${quoted(trigger)} AFTER ${when} BEGIN ${body}END`,
    );
  ensureTrigger(
    `${table}_superseded`,
    `UPDATE ON ${quoted(rows)} WHEN OLD._changed_at IS NOT NEW._changed_at`,
    keepOld('NEW._changed_at', 'update'),
  );
  // A walk that removes rows has just taken a `seq`. A removal by hand takes none, and has that of the last change.
  const removedBy = `coalesce((SELECT last_seq FROM _datasets WHERE job = '${name}'), ${seqOf("'now'")})`;
  const forgetVolatile =
    volatileTable === null ? '' : `DELETE FROM ${quoted(volatileTable)} WHERE number = OLD.number; `;
  ensureTrigger(
    `${table}_removed`,
    `DELETE ON ${quoted(rows)}`,
    keepOld(timeOf(removedBy), 'delete') + forgetVolatile,
  );
}

/** SQL for the time of a change, given its `seq`. */
const timeOf = (seq: string) => `strftime('%Y-%m-%dT%H:%M:%fZ', ${seq} / 1000.0, 'unixepoch')`;

/** Creates the view or trigger, or replaces one of that name whose definition differs. */
function ensureObject(
  connection: Connection,
  type: 'view' | 'trigger',
  name: string,
  definition: string,
): void {
  const present = valueIn(
    connection,
    'SELECT sql FROM sqlite_master WHERE type = ? AND name = ?',
    type,
    name,
  );
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
    sql: freshnessSql(jobs, ageOf),
    example: 'SELECT job, rows, complete_as_of, verdict FROM freshness WHERE age_seconds < 600',
  };
}

function changes(jobs: readonly Job[]): View {
  return {
    name: 'changes',
    about:
      'Every row that came, changed or went, over all datasets. `seq` grows with every commit, and all changes of one commit share it: whoever has read up to some `seq` goes on with greater ones and misses none. `change` is `insert`, `update` or `delete`; `walk_id` is the walk that found it.',
    sql: changesSql(jobs, seqOf),
    example: `SELECT seq, at, job, change, count(*) AS rows
FROM changes WHERE seq > 0 GROUP BY seq, job, change ORDER BY seq DESC LIMIT 20`,
  };
}
