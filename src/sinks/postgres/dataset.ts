/**
 * Shipping one dataset: all that happened since it was last shipped moves in one transaction of Postgres, with the place
 * that says how far it has come. The place is locked before the mirror is looked at, so of two shippers the second goes on
 * where the first has ended, and what is lost on the way, even the answer to COMMIT, is asked of the place.
 */

import { createHash } from 'node:crypto';
import type { ListedJob } from '../../job-list.ts';
import { isHeldColumn } from '../../reading/columns.ts';
import { type Connection, type Identity, quoted } from '../../store/read.ts';
import { type Changed, changedAfter, lastWalkOf, type Standing, standingOf } from '../follow.ts';
import type { Postgres } from './client.ts';
import {
  fillTable,
  load,
  loadStage,
  type Mended,
  mendTable,
  putStaged,
  removeGone,
  type Which,
} from './mend.ts';
import { lockPlace, movePlace, type Place } from './schema.ts';
import {
  type Apart,
  addSql,
  apart,
  followTables,
  ownTables,
  showTogether,
  type Table,
  tablesOfJob,
  updateSql,
} from './tables.ts';

export type Shipped = {
  job: string;
  /** `first`: all of it. `changes`: what came after `from`. `compared`: both sides, range by range. */
  how: 'first' | 'changes' | 'compared';
  /** Numbers of changes, see the view `changes`. */
  from: number | null;
  to: number;
  /** Rows and versions that were sent. */
  sent: number;
  /** What differed, where both sides were compared. */
  mended: Mended[];
  /** What could not be shipped, in a line each. */
  problems: string[];
};

export type DatasetParts = {
  postgres: Postgres;
  connection: Connection;
  identity: Identity;
  schema: string;
  job: ListedJob;
  now: number;
  /** Compare both sides, whatever the place says. */
  compare: boolean;
};

export async function shipDataset(parts: DatasetParts): Promise<Shipped> {
  const { postgres, connection, job } = parts;
  return await postgres.transaction(async () => {
    const place = await lockPlace(postgres, job.name);
    connection.exec('BEGIN');
    try {
      return await shipFrom(place, standingOf(connection, job), parts);
    } finally {
      if (connection.inTransaction) connection.exec('ROLLBACK');
    }
  });
}

async function shipFrom(place: Place, standing: Standing, parts: DatasetParts): Promise<Shipped> {
  const { postgres, connection, identity, schema, job, now, compare } = parts;
  const followed = await followAll(postgres, connection, job);
  const { tables, shape, isNew, isChanged, problems } = followed;
  const isReliable =
    !isChanged &&
    place.epoch === identity.epoch &&
    place.shape === shape &&
    standing.knows(place.seq) &&
    place.lastWalk === lastWalkOf(connection, job.name, place.lastWalk);
  const ended: Shipped = {
    job: job.name,
    how: 'changes',
    from: place.seq,
    to: standing.seq,
    sent: 0,
    mended: [],
    problems,
  };
  if (place.seq !== null && isReliable) {
    const changed = standing.seq > place.seq ? changedAfter(connection, job, place.seq) : undefined;
    if (changed) ended.sent = await shipChanges(parts, tables, changed);
    await forgetPruned(postgres, tables, place, standing);
    const isMoved = place.volatile !== standing.volatile;
    if (tables.volatile && isMoved) await shipVolatile(postgres, connection, tables.volatile);
    else if (tables.volatile && changed)
      await shipVolatile(postgres, connection, tables.volatile, { where: changed.rows });
    if (isMoved && job.history !== null) await shipHeld(postgres, connection, tables.rows);
    await shipWalks(postgres, connection, tables.walks, place.walksFrom);
    for (const table of [tables.fields, tables.datasets]) await replace(postgres, connection, table);
  } else ended.how = place.seq === null ? 'first' : 'compared';
  if (ended.how !== 'changes' || compare) {
    const all = [tables.history, tables.rows, tables.volatile, tables.walks, tables.fields, tables.datasets];
    for (const table of all)
      if (table) ended.mended.push(await (isNew(table) ? fillTable : mendTable)(postgres, connection, table));
    const ofDataset = ended.mended.filter(({ table }) =>
      [tables.rows.name, tables.history?.name].includes(table),
    );
    ended.sent += ofDataset.reduce((sum, { missing, changed }) => sum + missing + changed, 0);
  }
  const { seq, volatile, walksFrom, historyFrom } = standing;
  const lastWalk = lastWalkOf(connection, job.name);
  const { epoch } = identity;
  const reached = { seq, epoch, shape, volatile, walksFrom, lastWalk, historyFrom };
  await movePlace(postgres, { job: job.name, schema, now }, reached);
  return ended;
}

type Tables = Apart & { history: Table | undefined; walks: Table; fields: Table; datasets: Table };

/** Makes every table what the mirror's is, as far as that can be done. */
async function followAll(postgres: Postgres, connection: Connection, job: ListedJob) {
  const { rows: shown, history } = tablesOfJob(connection, job);
  const wanted = { ...apart(job, shown), history, ...ownTables(connection, job.name) };
  const all = Object.values(wanted).filter((table) => table !== undefined);
  const followed = await followTables(postgres, all);
  const isNew = ({ name }: Table) => followed.some((one) => one.isNew && one.table.name === name);
  const isChanged = followed.some((one) => one.isChanged);
  const problems = followed.flatMap((one) => one.problems);
  const tables = Object.fromEntries(
    Object.entries(wanted).map(([name, table]) => [name, table && followed[all.indexOf(table)]?.table]),
  ) as Tables;
  const { rows, volatile } = tables;
  if (volatile) await showTogether(postgres, shown, { rows, volatile });
  const columns = Object.values(tables).map((table) =>
    table?.columns.map(({ name, from, type }) => [name, from, type]),
  );
  const shape = createHash('sha256').update(JSON.stringify(columns)).digest('hex');
  return { tables, shape, isNew, isChanged, problems };
}

/** Rows that came or changed, and versions that ended. @returns how many. */
async function shipChanges(
  { postgres, connection }: DatasetParts,
  { rows, volatile, history }: Tables,
  changed: Changed,
): Promise<number> {
  let sent = 0;
  if (history) {
    const versions = await loadStage(postgres, connection, history, { where: changed.versions });
    for (const table of volatile ? [rows, volatile] : [rows]) await removeGone(postgres, table);
    await putStaged(postgres, history, versions);
    sent += versions;
  }
  const staged = await loadStage(postgres, connection, rows, { where: changed.rows });
  await putStaged(postgres, rows, staged);
  return sent + staged;
}

/** What the mirror keeps no longer goes there, too. */
async function forgetPruned(
  postgres: Postgres,
  { rows, history }: Tables,
  place: Place,
  { historyFrom }: Standing,
): Promise<void> {
  if (historyFrom === place.historyFrom) return;
  const [table, column] = history ? [history, '_valid_to'] : [rows, '_fetched_at'];
  await postgres.run(`DELETE FROM ${quoted(table.name)} WHERE ${quoted(column)} <= $1`, [historyFrom]);
}

/** Values that make no version come as of a proof for all rows at once, and with rows that came. */
async function shipVolatile(
  postgres: Postgres,
  connection: Connection,
  volatile: Table,
  which: Which = {},
): Promise<void> {
  await loadStage(postgres, connection, volatile, which);
  await postgres.run(updateSql(volatile));
  await postgres.run(addSql(volatile));
}

/** Which rows are held comes with the volatile values: few are, so that they alone are written anew. */
async function shipHeld(postgres: Postgres, connection: Connection, rows: Table): Promise<void> {
  const columns = rows.columns.filter(({ name }) => name === '_key' || isHeldColumn(name));
  const held = columns.flatMap(({ name }) => (name === '_key' ? [] : [quoted(name)]));
  const table = quoted(rows.name);
  await loadStage(postgres, connection, { ...rows, columns }, { where: '_held_since IS NOT NULL' });
  await postgres.run(
    `UPDATE ${table} SET ${held.map((name) => `${name} = NULL`).join(', ')}
     WHERE _held_since IS NOT NULL AND _key NOT IN (SELECT _key FROM stage)`,
  );
  const values = (of: string) => held.map((name) => `${of}.${name}`).join(', ');
  await postgres.run(
    `UPDATE ${table} AS kept SET ${held.map((name) => `${name} = staged.${name}`).join(', ')} FROM stage AS staged
     WHERE staged._key = kept._key AND (${values('staged')}) IS DISTINCT FROM (${values('kept')})`,
  );
}

/** Walks that have ended stay as they are; those that the mirror forgets go when both sides are compared. */
async function shipWalks(
  postgres: Postgres,
  connection: Connection,
  walks: Table,
  from: number,
): Promise<void> {
  const staged = await loadStage(postgres, connection, walks, { where: `id >= ${from}` });
  await putStaged(postgres, walks, staged);
  const [there] = await postgres.query<{ rows: string }>(
    'SELECT count(*) AS rows FROM walks WHERE job = $1',
    [walks.job],
  );
  const here = connection.prepare<[string], number>('SELECT count(*) FROM walks WHERE job = ?').pluck();
  if (Number(there?.rows) !== here.get(walks.job ?? '')) await mendTable(postgres, connection, walks);
}

/** A few rows that change in place. */
async function replace(postgres: Postgres, connection: Connection, table: Table): Promise<void> {
  await postgres.run(`DELETE FROM ${quoted(table.name)} WHERE job = $1`, [table.job]);
  await load(postgres, connection, table, table.name);
}
