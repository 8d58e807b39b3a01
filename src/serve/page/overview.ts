/** The mirror as a whole, for the page: status, plan, the last day, tables. A process of the pool reads it, each response as of one moment. */

import { DAY_MS, HOUR_MS, isoTime } from '../../base/clock.ts';
import type { Dataset, ListedJob } from '../../job/list.ts';
import { planJson, planOf } from '../../plan.ts';
import { kindsOf } from '../../reading/columns.ts';
import { statusOf } from '../../reading/status.ts';
import { type Connection, readMirror, storeFailure } from '../../store/read.ts';
import { meaningsOf, sharedMeanings } from '../answers/column-meanings.ts';
import type { DatasetDay, Overview, Schema, WalkMark } from './wire.ts';

export type OverviewParts = {
  readonly dir: string;
  readonly jobs: readonly ListedJob[];
  readonly datasets: readonly Dataset[];
  /** Of market-mirror. */
  readonly version: string;
  readonly access: Overview['access'];
};

export type OverviewRequest = {
  readonly what: 'overview' | 'schema';
  readonly parts: OverviewParts;
  readonly now: number;
  readonly commit: Overview['commit'];
};

/** @returns an Overview or a Schema, as JSON. */
export function readForPage({ what, parts, now, commit }: OverviewRequest): string {
  try {
    const read = readMirror(parts.dir, (connection) =>
      what === 'overview' ? overviewOf(connection, parts, now, commit) : schemaOf(connection, parts.jobs),
    );
    return JSON.stringify(read);
  } catch (thrown) {
    throw storeFailure(thrown, parts.dir);
  }
}

function overviewOf(
  connection: Connection,
  { dir, jobs, datasets, version, access }: OverviewParts,
  now: number,
  commit: Overview['commit'],
): Overview {
  const plan = planOf(connection, datasets, now);
  return {
    version,
    access,
    commit,
    at: isoTime(now),
    status: statusOf(connection, dir, datasets, now),
    plan: planJson(plan),
    datasets: readDays(
      connection,
      jobs.map(({ name }) => name),
      now,
    ),
  };
}

/** As many as can be told apart on a small screen. */
const SHOWN_WALKS = 24;

type Counts = { inserted: number; updated: number; deleted: number };

function readDays(connection: Connection, jobs: readonly string[], now: number): DatasetDay[] {
  const walks = connection.prepare<[string, number], WalkMark>(
    `SELECT id, status, verdict, started_at AS startedAt, finished_at AS finishedAt, "rows", api_calls AS apiCalls, error
     FROM walks WHERE job = ? AND kind = 'walk' ORDER BY id DESC LIMIT ?`,
  );
  const hours = hoursUntil(now);
  // A walk counts in the hour of its latest change. By job, SQLite would look at every walk that there was.
  const changed = connection
    .prepare<[number], Counts & { job: string; hour: string }>(
      `SELECT job, strftime('%Y-%m-%dT%H:00:00.000Z', last_seq / 1000, 'unixepoch') AS hour,
         sum(inserted) AS inserted, sum(updated) AS updated, sum(deleted) AS deleted
       FROM walks INDEXED BY walks_by_seq WHERE last_seq >= ? GROUP BY 1, 2`,
    )
    .all(Date.parse(hours[0] ?? ''));
  const counts = new Map(changed.map(({ job, hour, ...counts }) => [`${job} ${hour}`, counts]));
  return jobs.map((job) => ({
    job,
    walks: walks.all(job, SHOWN_WALKS).reverse(),
    changes: hours.map((hour) => ({
      hour,
      ...(counts.get(`${job} ${hour}`) ?? { inserted: 0, updated: 0, deleted: 0 }),
    })),
  }));
}

/** The beginnings of 24 hours, the present one last. */
function hoursUntil(now: number): string[] {
  const last = now - (now % HOUR_MS);
  return Array.from({ length: DAY_MS / HOUR_MS }, (_, at) => isoTime(last - DAY_MS + (at + 1) * HOUR_MS));
}

function schemaOf(connection: Connection, jobs: readonly ListedJob[]): Schema {
  const tables = connection
    .prepare<[], { name: string; type: 'table' | 'view' }>(
      `SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')
         AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE '\\_\\_%' ESCAPE '\\' ORDER BY name`,
    )
    .all();
  const columns = connection.prepare<[string], { name: string; type: string }>(
    'SELECT name, type FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid',
  );
  const from = connection
    .prepare<[], { job: string; historyFrom: string | null }>(
      'SELECT job, history_from AS historyFrom FROM _datasets',
    )
    .all();
  const known = new Map(from.map(({ job, historyFrom }) => [job, historyFrom]));
  return {
    jobs: jobs.map(({ name, table, history, columns: own, volatile, shown }) => ({
      name,
      table,
      history,
      isSpecified: !own.includes('_body'),
      volatile,
      shown,
    })),
    tables: tables.map(({ name, type }) => ({
      name,
      kind: kindOf(name, type, jobs),
      columns: columns.all(name).map(
        describeColumns(
          connection,
          jobs.find(({ table, history }) => table === name || history === name),
        ),
      ),
    })),
    historyFrom: Object.fromEntries(jobs.map(({ name }) => [name, known.get(name) ?? null])),
  };
}

/** What is known of the columns of a dataset and its history beyond the types that they are declared with. */
function describeColumns(connection: Connection, job: ListedJob | undefined) {
  if (!job) return (column: { name: string; type: string }) => column;
  const kinds = kindsOf(connection, job);
  const meanings = job.schemas ? meaningsOf(job) : meaningsOfFields(connection, job.name);
  return ({ name, type }: { name: string; type: string }): Schema['tables'][number]['columns'][number] => ({
    name,
    type,
    kind: kinds.get(name),
    about: meanings.get(name) ?? sharedMeanings[name],
  });
}

/** Of a dataset whose fields were discovered: where a field stands in the row, and its types so far. */
function meaningsOfFields(connection: Connection, job: string): Map<string, string> {
  const fields = connection
    .prepare<[string], { column: string; path: string; types: string }>(
      'SELECT "column", path, types FROM fields WHERE job = ?',
    )
    .all(job);
  return new Map(
    fields.map(({ column, path, types }) => {
      const found = (JSON.parse(types) as string[]).join(' or ');
      return [column, `\`${path}\`: ${found || 'null'} so far`];
    }),
  );
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
