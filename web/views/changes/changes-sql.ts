/** The queries of the view of changes. */

import type { PageQuestion, Schema } from '../../../src/serve/ui/wire.ts';
import { DAY_MS, HOUR_MS } from '../../formats.ts';
import { name, type Sql } from '../../sql.ts';

export const spans = { '1h': HOUR_MS, '24h': DAY_MS, '7d': 7 * DAY_MS } as const;
export type Span = keyof typeof spans;

export type ChangeKind = 'insert' | 'update' | 'delete';

/** Which changes are shown, as the address has it. Times are ISO 8601 UTC. */
export type ChangesRequest = {
  job: string | null;
  kind: ChangeKind | null;
  /** A column of the dataset, whose value became another. */
  field: string | null;
  walk: number | null;
  /** Null: of any time. */
  from: string | null;
  until: string;
};

export const PAGE_ROWS = 200;

export type DatasetTables = Schema['jobs'][number];

/**
 * The changes, the latest first: seq, at, job, key, change, walk_id.
 * @param datasets those that may have changed in that time: the others are not looked at.
 */
export function changesSql(request: ChangesRequest, datasets: readonly DatasetTables[]): Sql {
  const { where, params } = conditionsOf(request, datasets);
  return {
    sql: `SELECT seq, at, job, key, change, walk_id\nFROM changes\n${where}\nORDER BY at DESC, job, key`,
    params,
  };
}

/** How many there are of each kind. */
export function countsSql(request: ChangesRequest, datasets: readonly DatasetTables[]): PageQuestion {
  const { where, params } = conditionsOf(request, datasets);
  return { sql: `SELECT change, count(*)\nFROM changes\n${where}\nGROUP BY change`, params, limit: 10 };
}

/** How many came after what is shown. */
export function newerSql(request: ChangesRequest, datasets: readonly DatasetTables[]): PageQuestion {
  const { where, params } = conditionsOf({ ...request, from: request.until, until: '9999' }, datasets);
  return { sql: `SELECT count(*)\nFROM changes\n${where}`, params, limit: 1 };
}

function conditionsOf(
  { job, kind, field, walk, from, until }: ChangesRequest,
  datasets: readonly DatasetTables[],
) {
  const chosen = datasets.filter((dataset) => job === null || dataset.name === job);
  const names = Object.fromEntries(chosen.map((dataset, at) => [`job${at}`, dataset.name]));
  const [only] = chosen;
  const terms = [
    `job IN (${Object.keys(names)
      .map((param) => `:${param}`)
      .join(', ')})`,
    ...(from === null ? [] : ['at > :from']),
    'at <= :until',
    ...(kind === null ? [] : ['change = :kind']),
    ...(walk === null
      ? []
      : [
          'seq BETWEEN (SELECT first_seq FROM walks WHERE id = :walk) AND (SELECT last_seq FROM walks WHERE id = :walk)',
          'walk_id = :walk',
        ]),
    ...(field !== null && chosen.length === 1 && only ? fieldTerms(only, field) : []),
  ];
  const params = {
    ...names,
    until,
    ...(from !== null && { from }),
    ...(kind !== null && { kind }),
    ...(walk !== null && { walk }),
  };
  return { where: `WHERE ${terms.join('\n  AND ')}`, params };
}

function fieldTerms({ table, history }: DatasetTables, field: string): string[] {
  if (history === null) return ['false'];
  const [value, now, past] = [name(field), name(table), name(history)];
  return [
    `change = 'update'`,
    `(SELECT ${value} FROM ${past} WHERE _key = changes.key AND _valid_to = changes.at AND _ended_by = 'update')
    IS NOT (SELECT ${value} FROM ${past} WHERE _key = changes.key AND _valid_from = changes.at
      UNION ALL SELECT ${value} FROM ${now} WHERE _key = changes.key AND _changed_at = changes.at LIMIT 1)`,
  ];
}

/** A row that changed at some time. */
export type ChangedRow = { job: string; key: string; at: string };

/**
 * The versions before and after each change, as JSON lists of the values of `columnsOf`: job, key, at, before, after. Null where
 * no dataset has one.
 */
export function versionsSql(
  changed: readonly ChangedRow[],
  datasets: readonly DatasetTables[],
  columnsOf: (dataset: DatasetTables) => readonly string[],
): PageQuestion | null {
  const params: Record<string, string> = {};
  const arms = datasets.flatMap((dataset) => {
    const { name: job, table, history } = dataset;
    const rows = changed.filter((row) => row.job === job);
    if (rows.length === 0 || history === null) return [];
    const param = `rows${Object.keys(params).length}`;
    params[param] = JSON.stringify(rows.map(({ key, at }) => [key, at]));
    const values = `json_array(${columnsOf(dataset).map(name).join(', ')})`;
    const [now, past] = [name(table), name(history)];
    return [
      `SELECT '${job}' AS job, wanted.key, wanted.at,
  (SELECT ${values} FROM ${past} WHERE _key = wanted.key AND _valid_to = wanted.at AND _ended_by = 'update') AS before,
  coalesce((SELECT ${values} FROM ${past} WHERE _key = wanted.key AND _valid_from = wanted.at),
    (SELECT ${values} FROM ${now} WHERE _key = wanted.key AND _changed_at = wanted.at)) AS after
FROM (SELECT value ->> 0 AS key, value ->> 1 AS at FROM json_each(:${param})) AS wanted`,
    ];
  });
  return arms.length === 0 ? null : { sql: arms.join('\nUNION ALL\n'), params, limit: changed.length };
}
