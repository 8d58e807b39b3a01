/** The views that make the mirror pleasant to report on: those of the jobs, and those over all datasets. */

import { getTableConfig } from 'drizzle-orm/sqlite-core';
import type { Job, View } from '../job.ts';
import type { Connection } from './db/connection.ts';
import { ensureObject } from './db/ensure-object.ts';
import { freshness } from './freshness.ts';
import { seqOf } from './sql.ts';

/** Every view that the mirror of these jobs has. */
export function viewsOf(jobs: readonly Job[]): View[] {
  return [freshness(jobs), changes(jobs), ...jobs.flatMap((job) => job.views)];
}

export function ensureViews(connection: Connection, jobs: readonly Job[]): void {
  for (const { name, sql } of viewsOf(jobs))
    ensureObject(connection, 'view', name, `CREATE VIEW "${name}" AS\n${sql}`);
}

function changes(jobs: readonly Job[]): View {
  return {
    name: 'changes',
    about:
      'Every row that came, changed or went, over all datasets. `seq` grows with every commit, and all changes of one commit share it: whoever has read up to some `seq` goes on with greater ones and misses none. `change` is `insert`, `update` or `delete`; `walk_id` is the walk that found it.',
    sql: jobs.flatMap(changesOf).join('\nUNION ALL\n'),
    example: `SELECT seq, at, job, change, count(*) AS rows
FROM changes WHERE seq > 0 GROUP BY seq, job, change ORDER BY seq DESC LIMIT 20`,
  };
}

function changesOf(job: Job): string[] {
  const table = getTableConfig(job.table).name;
  const from = (change: string, at: string, walk: string, source: string, where = '') =>
    `SELECT ${seqOf(at)} AS seq, ${at} AS at, '${job.name}' AS job, '${table}' AS "table", _key AS key,
  ${change} AS change, ${walk} AS walk_id FROM ${source}${where}`;
  if (!job.history) return [from(`'insert'`, '_changed_at', '_walk_id', `"${table}"`)];
  const history = `"${table}_history"`;
  const begun = (at: string) =>
    `CASE WHEN EXISTS (SELECT 1 FROM ${history} AS before WHERE before._key = version._key
    AND before._valid_to = version.${at} AND before._ended_by = 'update') THEN 'update' ELSE 'insert' END`;
  const closing = `(SELECT id FROM walks WHERE last_seq = ${seqOf('_valid_to')})`;
  return [
    from(begun('_changed_at'), '_changed_at', '_walk_id', `"${table}" AS version`),
    from(begun('_valid_from'), '_valid_from', '_walk_id', `${history} AS version`),
    from(`'delete'`, '_valid_to', closing, history, ` WHERE _ended_by = 'delete'`),
  ];
}
