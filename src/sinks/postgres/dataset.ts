/**
 * Ships one dataset: all changes since its position, and the new position, in one transaction of Postgres. The position is locked before
 * the mirror is read: a second shipper goes on where the first ended, and a lost answer to COMMIT is found in the position.
 */

import { createHash } from 'node:crypto';
import type { ListedJob } from '../../job-list.ts';
import { isHeldColumn } from '../../reading/columns.ts';
import { type Identity, quoted } from '../../store/read.ts';
import { type Changed, changedAfter, lastWalkOf, type MirrorPosition, positionOf } from '../follow.ts';
import type { Postgres } from './client.ts';
import {
  compareTable,
  fillNewTable,
  load,
  loadStage,
  mendTable,
  putStaged,
  type RowFilter,
  removeGone,
  type Sides,
  type TableDifference,
} from './mend.ts';
import { lockPosition, movePosition, type SinkPosition } from './schema.ts';
import {
  addSql,
  makeDatasetView,
  makeTables,
  ownTables,
  type SplitTables,
  splitVolatile,
  type Table,
  tablesOfJob,
  updateSql,
} from './tables.ts';
import { openUnheld } from './unheld.ts';

export type PostgresLoad = {
  job: string;
  /** `first`: all of it. `changes`: what came after `from`. `compared`: both sides, range by range. */
  how: 'first' | 'changes' | 'compared';
  /** Numbers of changes, see the view `changes`. */
  from: number | null;
  to: number;
  /** Rows and versions that were sent. */
  sent: number;
  /** What differed, where both sides were compared. */
  mended: TableDifference[];
  /** What could not be shipped, in a line each. */
  problems: string[];
};

type DatasetParts = Omit<Sides, 'unheld'> & {
  identity: Identity;
  schema: string;
  job: ListedJob;
  now: number;
};

/** @param compare both sides, whatever the position says. */
export async function loadDataset(parts: DatasetParts, compare: boolean): Promise<PostgresLoad> {
  const sides = { ...parts, unheld: openUnheld() };
  return await parts.postgres.transaction(() =>
    lockAndBeginRead(parts, (there) => loadFrom(there, sides, compare)),
  );
}

/** What differs there from the mirror as it is now. */
export type PostgresCheck = Pick<PostgresLoad, 'job' | 'problems'> & { differences: TableDifference[] };

/** Compares both sides in a transaction that is rolled back: nothing of it stays. */
export async function checkDataset(parts: DatasetParts): Promise<PostgresCheck> {
  const { postgres, job } = parts;
  const sides = { ...parts, unheld: openUnheld() };
  const rolledBack = new Error('rolled back');
  const check: PostgresCheck = { job: job.name, differences: [], problems: [] };
  const compare = async () => {
    await lockAndBeginRead(parts, async () => {
      const { tables, problems } = await makeJobTables(sides, job);
      for (const table of Object.values(tables))
        if (table) check.differences.push(await compareTable(sides, table));
      check.problems = [...sides.unheld.lines(), ...problems];
    });
    throw rolledBack;
  };
  await postgres.transaction(compare).catch((thrown) => {
    if (thrown !== rolledBack) throw thrown;
  });
  return check;
}

/** Locks the position, and only then begins to read the mirror, which stays at one moment until `work` is done. */
async function lockAndBeginRead<T>(
  { postgres, connection, job }: DatasetParts,
  work: (there: SinkPosition) => Promise<T>,
): Promise<T> {
  const there = await lockPosition(postgres, job.name);
  connection.exec('BEGIN');
  try {
    return await work(there);
  } finally {
    if (connection.inTransaction) connection.exec('ROLLBACK');
  }
}

async function loadFrom(
  there: SinkPosition,
  parts: DatasetParts & Sides,
  compare: boolean,
): Promise<PostgresLoad> {
  const { postgres, connection, identity, schema, job, now, unheld } = parts;
  const here = positionOf(connection, job);
  const { tables, shape, isNew, isChanged, problems } = await makeJobTables(parts, job);
  // What Postgres could not hold then is looked for anew, and named again.
  const wasUnheld = there.shape === `${shape}${UNHELD}`;
  // Whether the changes after the position are all in which both sides differ.
  const isReliable =
    !isChanged &&
    there.epoch === identity.epoch &&
    (there.shape === shape || wasUnheld) &&
    here.knows(there.seq) &&
    there.lastWalk === lastWalkOf(connection, job.name, there.lastWalk);
  const loaded: PostgresLoad = {
    job: job.name,
    how: 'changes',
    from: there.seq,
    to: here.seq,
    sent: 0,
    mended: [],
    problems: [],
  };
  if (there.seq !== null && isReliable) {
    const changed = here.seq > there.seq ? changedAfter(connection, job, there.seq) : undefined;
    if (changed) loaded.sent = await loadChanges(parts, tables, changed);
    await forgetPruned(postgres, tables, there, here);
    const isMoved = there.volatile !== here.volatile;
    if (tables.volatile && isMoved) await loadVolatile(parts, tables.volatile);
    else if (tables.volatile && changed) await loadVolatile(parts, tables.volatile, { where: changed.rows });
    if (isMoved && job.history !== null) await loadHeld(parts, tables.rows);
    await loadWalks(parts, tables.walks, there.walksFrom, there.seq);
    for (const table of [tables.fields, tables.datasets]) await replace(parts, table);
  } else loaded.how = there.seq === null ? 'first' : 'compared';
  // What Postgres cannot hold must not stay there as it was before.
  if (loaded.how !== 'changes' || compare || wasUnheld || !unheld.isEmpty()) {
    const all = [tables.history, tables.rows, tables.volatile, tables.walks, tables.fields, tables.datasets];
    for (const table of all)
      if (table) loaded.mended.push(await (isNew(table) ? fillNewTable : mendTable)(parts, table));
    const ofDataset = loaded.mended.filter(({ table }) =>
      [tables.rows.name, tables.history?.name].includes(table),
    );
    loaded.sent += ofDataset.reduce((sum, { missing, changed }) => sum + missing + changed, 0);
  }
  loaded.problems = [...unheld.lines(), ...problems];
  const { seq, volatile, walksFrom, historyFrom } = here;
  const lastWalk = lastWalkOf(connection, job.name);
  const { epoch } = identity;
  const reached = { seq, epoch, volatile, walksFrom, lastWalk, historyFrom };
  await movePosition(
    postgres,
    { job: job.name, schema, now },
    { ...reached, shape: unheld.isEmpty() ? shape : `${shape}${UNHELD}` },
  );
  return loaded;
}

/** Behind the shape of a position where Postgres could not hold all. */
const UNHELD = ' unheld';

type Tables = SplitTables & { history: Table | undefined; walks: Table; fields: Table; datasets: Table };

/** Makes the tables of the job, with the columns that the mirror has now as far as Postgres lets it, and the view over two of them. */
async function makeJobTables(sides: Omit<Sides, 'unheld'>, job: ListedJob) {
  const { rows: shown, history } = tablesOfJob(sides.connection, job);
  const wanted = { ...splitVolatile(job, shown), history, ...ownTables(sides.connection, job.name) };
  const all = Object.values(wanted).filter((table) => table !== undefined);
  const made = await makeTables(sides.postgres, all);
  const isNew = ({ name }: Table) => made.some((one) => one.isNew && one.table.name === name);
  const isChanged = made.some((one) => one.isChanged);
  const problems = made.flatMap((one) => one.problems);
  const tables = Object.fromEntries(
    Object.entries(wanted).map(([name, table]) => [name, table && made[all.indexOf(table)]?.table]),
  ) as Tables;
  const { rows, volatile } = tables;
  if (volatile) await makeDatasetView(sides.postgres, shown, { rows, volatile });
  const columns = Object.values(tables).map((table) =>
    table?.columns.map(({ name, from, type }) => [name, from, type]),
  );
  const shape = createHash('sha256').update(JSON.stringify(columns)).digest('hex');
  return { tables, shape, isNew, isChanged, problems };
}

/** Rows that came or changed, and versions that ended. @returns how many. */
async function loadChanges(
  sides: Sides,
  { rows, volatile, history }: Tables,
  changed: Changed,
): Promise<number> {
  let sent = 0;
  if (history) {
    const versions = await loadStage(sides, history, { where: changed.versions });
    for (const table of volatile ? [rows, volatile] : [rows]) await removeGone(sides.postgres, table);
    await putStaged(sides.postgres, history, versions);
    sent += versions;
  }
  const staged = await loadStage(sides, rows, { where: changed.rows });
  await putStaged(sides.postgres, rows, staged);
  return sent + staged;
}

/** Removes there what the mirror has forgotten. */
async function forgetPruned(
  postgres: Postgres,
  { rows, history }: Tables,
  there: SinkPosition,
  { historyFrom }: MirrorPosition,
): Promise<void> {
  if (historyFrom === there.historyFrom) return;
  const [table, column] = history ? [history, '_valid_to'] : [rows, '_fetched_at'];
  await postgres.run(`DELETE FROM ${quoted(table.name)} WHERE ${quoted(column)} <= $1`, [historyFrom]);
}

/** Values that make no version: of all rows after a walk has changed them, else of the rows that came or changed. */
async function loadVolatile(sides: Sides, volatile: Table, which: RowFilter = {}): Promise<void> {
  await loadStage(sides, volatile, which);
  await sides.postgres.run(updateSql(volatile));
  await sides.postgres.run(addSql(volatile));
}

/** Which rows are held is known with the volatile values. Few rows are, so only those are written anew. */
async function loadHeld(sides: Sides, rows: Table): Promise<void> {
  const columns = rows.columns.filter(({ name }) => name === '_key' || isHeldColumn(name));
  const held = columns.flatMap(({ name }) => (name === '_key' ? [] : [quoted(name)]));
  await loadStage(sides, { ...rows, columns }, { where: '_held_since IS NOT NULL' });
  await sides.postgres.run(
    `UPDATE ${quoted(rows.name)} SET ${held.map((name) => `${name} = NULL`).join(', ')}
     WHERE _held_since IS NOT NULL AND _key NOT IN (SELECT _key FROM stage)`,
  );
  await sides.postgres.run(updateSql({ ...rows, columns }));
}

/**
 * Sends the walks from `from` on, and earlier ones with a change after `seq`: a quarantined row that fits at last counts for the walk that
 * brought it. Other walks that have ended stay as they are. Those that the mirror forgets go when both sides are compared.
 */
async function loadWalks(sides: Sides, walks: Table, from: number, seq: number): Promise<void> {
  const staged = await loadStage(sides, walks, { where: `id >= ${from} OR last_seq > ${seq}` });
  await putStaged(sides.postgres, walks, staged);
  const [there] = await sides.postgres.query<{ rows: string }>(
    'SELECT count(*) AS rows FROM walks WHERE job = $1',
    [walks.job],
  );
  const here = sides.connection.prepare<[string], number>('SELECT count(*) FROM walks WHERE job = ?').pluck();
  if (Number(there?.rows) !== here.get(walks.job ?? '')) await mendTable(sides, walks);
}

/** A few rows that change in place. */
async function replace(sides: Sides, table: Table): Promise<void> {
  await sides.postgres.run(`DELETE FROM ${quoted(table.name)} WHERE job = $1`, [table.job]);
  await load(sides, table, table.name);
}
