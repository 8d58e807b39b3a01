/**
 * Volatile values of a contract, such as an age: they are kept current and make no version. They lie in a narrow table. Those that
 * have changed are staged in memory until the walk ends or waits, and written in the order of row numbers: as they come, they would
 * change most pages of the table again and again.
 */

import type { ListedJob, RowValues, SqlValue } from '../job.ts';
import type { Connection } from './connection.ts';
import { quoted } from './sql.ts';

/** The volatile values of the rows of one dataset, by their numbers; undefined where it has none. */
export function openVolatile(
  connection: Connection,
  job: Pick<ListedJob, 'name' | 'volatile' | 'volatileTable'>,
) {
  const table = job.volatileTable;
  if (table === null) return undefined;
  const columns = job.volatile;
  const names = columns.map(quoted);
  const marks = columns.map(() => '?');
  const upsert = connection.prepare<[SqlValue[]]>(
    `INSERT INTO ${quoted(table)} (number, ${names}) VALUES (?, ${marks})
     ON CONFLICT DO UPDATE SET ${names.map((name) => `${name} = excluded.${name}`)}`,
  );
  const note = noteUnversioned(connection, job.name);
  const none = () => ({ numbers: [] as number[], values: columns.map((): SqlValue[] => []) });
  let staged = none();

  return {
    /** SQL over a row named `stored`: whether its values differ from those bound, in the order of `columns`. */
    differ: `coalesce((SELECT (${names}) IS NOT (${marks}) FROM ${quoted(table)} AS narrow WHERE narrow.number = stored.number), 1)`,
    columns,
    /** Writes the values of a row that is written anyway. */
    put(number: number, values: RowValues): void {
      upsert.run([number, ...columns.map((name) => values[name] ?? null)]);
    },
    /** Keeps values in memory until `writeStaged`. Of several for one row, the last count. */
    stage(number: number, values: RowValues): void {
      staged.numbers.push(number);
      for (const [at, name] of columns.entries()) staged.values[at]?.push(values[name] ?? null);
    },
    hasStaged: () => staged.numbers.length > 0,
    /** Call it in a transaction. */
    writeStaged(): void {
      if (staged.numbers.length === 0) return;
      const { numbers, values } = staged;
      const order = Uint32Array.from(numbers.keys()).sort(
        (one, other) => (numbers[one] ?? 0) - (numbers[other] ?? 0) || one - other,
      );
      // A row that was removed since has no values.
      const update = connection.prepare<[SqlValue[]]>(
        `UPDATE ${quoted(table)} SET ${names.map((name) => `${name} = ?`)} WHERE number = ?`,
      );
      order.forEach((at, place) => {
        if (numbers[order[place + 1] ?? -1] !== numbers[at])
          update.run([...values.map((column) => column[at] ?? null), numbers[at] as number]);
      });
      staged = none();
      note();
    },
  };
}

/** Returns what tells readers that rows of the job have changed without a version. */
export function noteUnversioned(connection: Connection, job: string): () => void {
  const note = connection.prepare<[string]>(
    `INSERT INTO _datasets (job, volatile_seq) VALUES (?, 1)
     ON CONFLICT DO UPDATE SET volatile_seq = volatile_seq + 1`,
  );
  return () => void note.run(job);
}
