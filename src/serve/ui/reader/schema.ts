/** What there is to ask for: tables, views and their columns, and how far back each dataset goes. */

import type { ListedJob } from '../../../job-list.ts';
import type { Connection } from '../../../store/read.ts';
import type { Schema } from '../wire.ts';

export function schemaOf(connection: Connection, jobs: readonly ListedJob[]): Schema {
  const tables = connection
    .prepare<[], { name: string; type: 'table' | 'view' }>(
      `SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')
         AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_\\_%' ESCAPE '\\' ORDER BY name`,
    )
    .all();
  const columns = connection.prepare<[string], Schema['tables'][number]['columns'][number]>(
    'SELECT name, type FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid',
  );
  const from = connection
    .prepare<[], { job: string; historyFrom: string | null }>(
      'SELECT job, history_from AS historyFrom FROM datasets',
    )
    .all();
  const known = new Map(from.map(({ job, historyFrom }) => [job, historyFrom]));
  return {
    jobs: jobs.map(({ name, table, history, columns: own }) => ({
      name,
      table,
      history,
      isSpecified: !own.includes('_body'),
    })),
    tables: tables.map(({ name, type }) => ({
      name,
      kind: kindOf(name, type, jobs),
      columns: columns.all(name),
    })),
    historyFrom: Object.fromEntries(jobs.map(({ name }) => [name, known.get(name) ?? null])),
  };
}

function kindOf(
  table: string,
  type: 'table' | 'view',
  jobs: readonly ListedJob[],
): Schema['tables'][number]['kind'] {
  if (jobs.some((job) => job.table === table)) return 'dataset';
  if (jobs.some(({ history }) => history === table)) return 'history';
  return type === 'view' ? 'view' : 'bookkeeping';
}
