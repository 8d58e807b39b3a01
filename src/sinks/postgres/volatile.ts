/**
 * Values that make no version lie in a narrow table beside that of the rows, as in the mirror, and a view by the dataset's name
 * shows both: such values change with every walk, and Postgres writes a row anew of which one value changes.
 */

import type { ListedJob } from '../../job-list.ts';
import { quoted } from '../../store/read.ts';
import type { Postgres } from './client.ts';
import { columnNames } from './make-tables.ts';
import type { Table } from './tables.ts';

export type Apart = { rows: Table; volatile: Table | undefined };

/** The tables behind the one that is shown. */
export function apart(job: ListedJob, shown: Table): Apart {
  if (job.volatile.length === 0) return { rows: shown, volatile: undefined };
  const volatile = new Set(job.volatile.map(quoted));
  const { columns } = shown;
  return {
    rows: {
      ...shown,
      name: job.rows,
      of: job.rows,
      columns: columns.filter(({ plain }) => !volatile.has(plain)),
    },
    volatile: {
      ...shown,
      name: `${job.table}_volatile`,
      columns: columns.filter(({ name, plain }) => name === '_key' || volatile.has(plain)),
      isRewritten: true,
    },
  };
}

/** Makes the view, or gives it the columns that it lacks: those that it has keep their places, for views of others may rest on it. */
export async function showTogether(
  postgres: Postgres,
  shown: Table,
  tables: { rows: Table; volatile: Table },
): Promise<void> {
  const present = await columnNames(postgres, shown.name);
  const ofVolatile = new Set(tables.volatile.columns.map(({ name }) => name));
  const columns = shown.columns
    .map(({ name }) => name)
    .filter((name) => ofVolatile.has(name) || tables.rows.columns.some((column) => column.name === name));
  const added = columns.filter((name) => !present.includes(name));
  if (added.length === 0) return;
  const isVolatile = (name: string) => name !== '_key' && ofVolatile.has(name);
  const list = [...present, ...added].map(
    (name) => `${isVolatile(name) ? 'aging' : 'stored'}.${quoted(name)}`,
  );
  // Where nobody asks for what is volatile, Postgres leaves the join out.
  await postgres.run(
    `CREATE OR REPLACE VIEW ${quoted(shown.name)} AS SELECT ${list.join(', ')} FROM ${quoted(tables.rows.name)} AS stored
     LEFT JOIN ${quoted(tables.volatile.name)} AS aging USING (_key)`,
  );
}

/** Brings the values of a stage to rows that have others: two statements, for one that does both probes the index for every row. */
export function updateSql({ name, columns }: Table): string {
  const names = columns.map((column) => quoted(column.name)).filter((column) => column !== quoted('_key'));
  const list = (from: string) => names.map((column) => `${from}.${column}`).join(', ');
  return (
    `UPDATE ${quoted(name)} AS kept SET ${names.map((column) => `${column} = staged.${column}`).join(', ')} ` +
    `FROM stage AS staged WHERE staged._key = kept._key AND (${list('staged')}) IS DISTINCT FROM (${list('kept')})`
  );
}

/** Brings what is missing. */
export function addSql({ name, columns }: Table): string {
  const list = columns.map((column) => quoted(column.name)).join(', ');
  return (
    `INSERT INTO ${quoted(name)} (${list}) SELECT ${list} FROM stage AS staged ` +
    `WHERE NOT EXISTS (SELECT 1 FROM ${quoted(name)} AS kept WHERE kept._key = staged._key)`
  );
}
