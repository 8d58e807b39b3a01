/**
 * Ships one dataset: all changes since its position, and the new position, in one transaction of Postgres. The position is locked before
 * the mirror is read: a second shipper goes on where the first ended, and a lost answer to COMMIT is found in the position. A dataset of
 * which the position does not say what is lacking is loaded anew, in that transaction, too.
 */

import { createHash } from 'node:crypto';
import type { ListedJob } from '../../job/list.ts';
import { touchedAfter } from '../../reading/changes.ts';
import { isHeldColumn } from '../../reading/columns.ts';
import { type Identity, quoted } from '../../store/read.ts';
import { lastWalkOf, type MirrorPosition, positionOf } from '../follow.ts';
import type { Postgres } from './client.ts';
import {
  compareTable,
  fill,
  loadStage,
  noteUnheld,
  putRows,
  removeGone,
  replaceRows,
  type Sides,
  type TableDifference,
} from './load.ts';
import { lockPosition, movePosition, type SinkPosition } from './schema.ts';
import { type JobTables, makeDatasetView, makeTables, type Table, tablesOfJob } from './tables.ts';
import { openUnheld } from './unheld.ts';
import { makeViews } from './views.ts';

export type PostgresLoad = {
  job: string;
  /** `first`: all of it. `changes`: what came after `from`. `loaded anew`: all of it once more. */
  how: 'first' | 'changes' | 'loaded anew';
  /** Numbers of changes, see the view `changes`. */
  from: number | null;
  to: number;
  /** Rows and versions that were sent. */
  sent: number;
  /** What differed, where both sides were compared, and was loaded anew. */
  mended: TableDifference[];
  /** What could not be shipped, in a line each. */
  problems: string[];
  /** What was shipped in other letters. */
  notes: string[];
};

type DatasetParts = Omit<Sides, 'unheld'> & {
  identity: Identity;
  schema: string;
  job: ListedJob;
  now: number;
  /** All jobs, whose views are made. */
  jobs: readonly ListedJob[];
};

/** @param verify compare both sides, whatever the position says. */
export async function loadDataset(parts: DatasetParts, verify: boolean): Promise<PostgresLoad> {
  const sides = { ...parts, unheld: openUnheld() };
  return await parts.postgres.transaction(() =>
    lockAndBeginRead(parts, (there) => loadFrom(there, sides, verify)),
  );
}

/** What differs there from the mirror as it is now. */
export type PostgresCheck = Pick<PostgresLoad, 'job' | 'problems' | 'notes'> & {
  differences: TableDifference[];
};

/** Compares both sides in a transaction that is rolled back: nothing of it stays. */
export async function checkDataset(parts: DatasetParts): Promise<PostgresCheck> {
  const { postgres, job } = parts;
  const sides = { ...parts, unheld: openUnheld() };
  const rolledBack = new Error('rolled back');
  const check: PostgresCheck = { job: job.name, differences: [], problems: [], notes: [] };
  const compare = async () => {
    await lockAndBeginRead(parts, async () => {
      const { tables, problems } = await makeJobTables(sides, job);
      for (const table of listOf(tables)) {
        const difference = await compareTable(sides, table);
        if (difference) check.differences.push(difference);
      }
      check.problems = [...sides.unheld.lines(), ...problems];
      check.notes = sides.unheld.notes();
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
  verify: boolean,
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
    ...{ job: job.name, how: 'changes', from: there.seq, to: here.seq, sent: 0, mended: [], problems: [] },
    notes: [],
  };
  if (there.seq !== null && isReliable) {
    if (here.seq > there.seq) loaded.sent = await loadChanges(parts, tables, there.seq);
    await forgetPruned(postgres, tables, there, here);
    await loadUnversioned(parts, tables, there.volatile !== here.volatile, here.seq > there.seq);
    await loadWalks(parts, tables.walks, there.walksFrom, there.seq);
    for (const table of [tables.fields, tables.datasets]) await replaceRows(parts, table);
    if (wasUnheld) for (const table of listOf(tables)) noteUnheld(parts, table);
    if (verify) loaded.mended = await replaceDiffering(parts, tables);
  } else {
    loaded.how = there.seq === null ? 'first' : 'loaded anew';
    for (const table of [...listOf(tables), tables.volatile]) {
      if (!table) continue;
      const sent = await (isNew(table) ? fill : replaceRows)(parts, table);
      if (table === tables.rows || table === tables.history) loaded.sent += sent;
    }
  }
  loaded.problems = [
    ...unheld.lines(),
    ...problems,
    ...(await makeViews(postgres, connection, parts.jobs, job)),
  ];
  loaded.notes = unheld.notes();
  const { seq, volatile, walksFrom, historyFrom } = here;
  await movePosition(
    postgres,
    { job: job.name, schema, now },
    {
      ...{ seq, volatile, walksFrom, historyFrom, epoch: identity.epoch },
      lastWalk: lastWalkOf(connection, job.name),
      shape: unheld.isEmpty() ? shape : `${shape}${UNHELD}`,
    },
  );
  return loaded;
}

/** Behind the shape of a position where Postgres could not hold all. */
const UNHELD = ' unheld';

/** The tables that are compared: volatile values go with each shipment. */
const listOf = ({ rows, history, walks, fields, datasets }: JobTables): Table[] =>
  [history, rows, walks, fields, datasets].filter((table) => table !== undefined);

/** Makes the tables of the job, with the columns that the mirror has now as far as Postgres lets it, and the view over two of them. */
async function makeJobTables(sides: Omit<Sides, 'unheld'>, job: ListedJob) {
  const { shown, ...wanted } = tablesOfJob(sides.connection, job);
  const all = Object.values(wanted).filter((table) => table !== undefined);
  const made = await makeTables(sides.postgres, all);
  const isNew = ({ name }: Table) => made.some((one) => one.isNew && one.table.name === name);
  const tables = Object.fromEntries(
    Object.entries(wanted).map(([name, table]) => [name, table && made[all.indexOf(table)]?.table]),
  ) as JobTables;
  const { rows, volatile } = tables;
  if (volatile) await makeDatasetView(sides.postgres, shown, { rows, volatile });
  const columns = Object.values(tables).map((table) =>
    table?.columns.map(({ name, from, type }) => [name, from, type]),
  );
  const shape = createHash('sha256').update(JSON.stringify(columns)).digest('hex');
  const isChanged = made.some((one) => one.isChanged);
  return { tables, shape, isNew, isChanged, problems: made.flatMap((one) => one.problems) };
}

/** Rows that came or changed, and versions that ended. @returns how many. */
async function loadChanges(
  parts: DatasetParts & Sides,
  { rows, history }: JobTables,
  seq: number,
): Promise<number> {
  const touched = touchedAfter(parts.connection, parts.job, seq);
  let sent = 0;
  if (history) {
    await removeGone(parts, rows, history, touched.versions);
    sent += await putRows(parts, history, touched.versions);
  }
  return sent + (await putRows(parts, rows, touched.rows));
}

/** Removes there what the mirror has forgotten. */
async function forgetPruned(
  postgres: Postgres,
  { rows, history }: JobTables,
  there: SinkPosition,
  { historyFrom }: MirrorPosition,
): Promise<void> {
  if (historyFrom === there.historyFrom) return;
  const [table, column] = history ? [history, '_valid_to'] : [rows, '_fetched_at'];
  await postgres.run(`DELETE FROM ${quoted(table.name)} WHERE ${quoted(column)} <= $1`, [historyFrom]);
}

/** What makes no version: volatile values, which rows are held, and fields within a body that move by themselves. */
async function loadUnversioned(
  sides: Sides,
  { rows, history, volatile }: JobTables,
  isMoved: boolean,
  isChanged: boolean,
): Promise<void> {
  if (volatile && (isMoved || isChanged)) await replaceRows(sides, volatile);
  if (!isMoved || !history) return;
  await loadHeld(sides, rows);
  // No change tells of such a field: the digest does.
  if (await compareTable(sides, rows)) await replaceRows(sides, rows);
}

/** Few rows are held, so only those are written anew. */
async function loadHeld({ postgres, ...sides }: Sides, rows: Table): Promise<void> {
  const held = rows.columns.filter(({ name }) => isHeldColumn(name));
  const columns = rows.columns.filter(({ name }) => rows.key.includes(name) || isHeldColumn(name));
  await loadStage({ postgres, ...sides }, { ...rows, columns }, '_held_since IS NOT NULL');
  const list = (of: string) => held.map(({ name }) => `${of}${quoted(name)}`).join(', ');
  await postgres.run(
    `UPDATE ${quoted(rows.name)} SET ${held.map(({ name }) => `${quoted(name)} = NULL`).join(', ')}
     WHERE _held_since IS NOT NULL AND _number NOT IN (SELECT _number FROM stage)`,
  );
  await postgres.run(
    `UPDATE ${quoted(rows.name)} AS kept SET ${held.map(({ name }) => `${quoted(name)} = stage.${quoted(name)}`).join(', ')}
     FROM stage WHERE stage._number = kept._number AND (${list('stage.')}) IS DISTINCT FROM (${list('kept.')})`,
  );
}

/**
 * Sends the walks from `from` on, and earlier ones with a change after `seq`: a quarantined row that fits at last counts for the walk that
 * brought it. Other walks that have ended stay as they are.
 */
async function loadWalks(sides: Sides, walks: Table, from: number, seq: number): Promise<void> {
  await putRows(sides, walks, `id >= ${from} OR last_seq > ${seq}`);
  const [there] = await sides.postgres.query<{ rows: string }>(
    'SELECT count(*) AS rows FROM walks WHERE job = $1',
    [walks.job],
  );
  const here = sides.connection.prepare<[string], number>('SELECT count(*) FROM walks WHERE job = ?').pluck();
  if (Number(there?.rows) !== here.get(walks.job ?? '')) await replaceRows(sides, walks);
}

/** Loads the tables anew that differ. @returns how they differed. */
async function replaceDiffering(sides: Sides, tables: JobTables): Promise<TableDifference[]> {
  const differences: TableDifference[] = [];
  if (tables.volatile) await replaceRows(sides, tables.volatile);
  for (const table of listOf(tables)) {
    const difference = await compareTable(sides, table);
    if (!difference) continue;
    await replaceRows(sides, table);
    differences.push(difference);
  }
  return differences;
}
