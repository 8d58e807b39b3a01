/** Which datasets a statement reads, and what is proven of them. */

import { type Connection, PROOF } from '../../store/read.ts';
import type { Params } from './statement.ts';

/** Times are ISO 8601 UTC. For a question about the past, what was proven by then. */
export type Source = {
  job: string;
  table: string;
  /** When the last walk that proved the dataset complete began, or null. */
  completeAsOf: string | null;
  verdict: 'snapshot' | 'verified' | null;
  walkId: number | null;
  /** When its first walk ever began, or null. */
  firstWalkAt: string | null;
};

/** @param tables the mirrored tables with their jobs. */
export function sourcesOf(
  connection: Connection,
  sql: string,
  params: Params,
  tables: Readonly<Record<string, string>>,
  asOf: string | null,
): Source[] {
  const proof = connection.prepare<[string, string], Pick<Source, 'completeAsOf' | 'verdict' | 'walkId'>>(
    `SELECT started_at AS completeAsOf, verdict, id AS walkId FROM walks
     WHERE job = ? AND ${PROOF} AND finished_at <= ? ORDER BY id DESC LIMIT 1`,
  );
  const firstWalk = connection
    .prepare<[string], string>('SELECT started_at FROM walks WHERE job = ? ORDER BY id LIMIT 1')
    .pluck();
  const read = new Set(tablesRead(connection, sql, params).map((table) => table.replace(/_history$/, '')));
  return Object.entries(tables)
    .filter(([table]) => read.has(table))
    .map(([table, job]) => ({
      job,
      table,
      ...(proof.get(job, asOf ?? '9999') ?? { completeAsOf: null, verdict: null, walkId: null }),
      firstWalkAt: firstWalk.get(job) ?? null,
    }));
}

/** The program that SQLite made of the statement names every b-tree it opens, through whatever views. */
function tablesRead(connection: Connection, sql: string, params: Params): string[] {
  const program = connection.prepare<[Params], { opcode: string; p2: number; p3: number }>(`EXPLAIN ${sql}`);
  const roots = program
    .all(params)
    .filter(({ opcode, p3 }) => (opcode === 'OpenRead' || opcode === 'ReopenIdx') && p3 === 0)
    .map(({ p2 }) => p2);
  return connection
    .prepare<[string], string>(
      'SELECT tbl_name FROM sqlite_master WHERE rootpage IN (SELECT value FROM json_each(?))',
    )
    .pluck()
    .all(JSON.stringify(roots));
}
