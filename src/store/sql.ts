/** SQL that several rooms share; apart from the schema, so that readers load no Drizzle. */

import { STOPPED, TOO_LARGE } from '../api/response.ts';

/** SQL over `walks`: those that proved the dataset complete. */
export const PROOF = `status = 'complete' AND verdict IN ('snapshot', 'verified')`;

/** The same of a verdict that was read. */
export const isProof = (verdict: string | null) => verdict === 'snapshot' || verdict === 'verified';

/** SQL over `walks`: walks and glances that ended well. Rows that came by then are here; those that went may be, too. */
export const SEEN = `status = 'complete'`;

/** SQL over `walks`: proofs that read the whole dataset, not its first page alone. */
export const FULL_PROOF = `${PROOF} AND renewal_of IS NULL`;

/** SQL over `requests`: calls that tell whether the API can be reached, unlike one that we stopped. */
export const NOT_STOPPED_BY_US = `error_code IS NOT '${STOPPED}'`;

/** SQL over those: no answer came, or a failing gateway or server gave it. A 503 is the API's own answer. */
export const NO_ANSWER = `(status IS NULL AND error_code IS NOT '${TOO_LARGE}' OR coalesce(status, 0) >= 500 AND status <> 503)`;

/** SQL for their status or error code. */
export const ERROR_OF_NO_ANSWER = `iif(coalesce(status, 0) >= 500 AND status <> 503, 'HTTP ' || status, error_code)`;

/** SQL for the `seq` (see `sequence.ts`) of a change at the time in `at`, a column. */
export const seqOf = (at: string) => `CAST(round((julianday(${at}) - 2440587.5) * 86400000) AS INTEGER)`;

/** A name of a table or column, whatever it is made of. */
export const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/**
 * SQL for the view `freshness`, on SQLite and on Postgres alike.
 * @param datasets with the table whose rows are counted.
 * @param ageOf SQL for the age in seconds of the time in a column; null for a time ahead of the clock, which has none.
 * @param more further columns, and the join that brings them; and the table of the datasets.
 */
export function freshnessSql(
  datasets: readonly { name: string; rows: string }[],
  ageOf: (at: string) => string,
  { ofDatasets = '_datasets', ...more }: { columns: string; join: string; ofDatasets?: string } = {
    columns: '',
    join: '',
  },
): string {
  const counts = datasets.map(
    ({ name, rows }) => `SELECT '${name}' AS job, (SELECT count(*) FROM ${quoted(rows)}) AS rows,
    (SELECT count(*) FROM ${quoted(rows)} WHERE _held_since IS NOT NULL) AS held`,
  );
  return `WITH counted AS (${counts.join(' UNION ALL ')})
SELECT counted.job, counted.rows, counted.held,
  proof.started_at AS complete_as_of,
  ${ageOf('proof.started_at')} AS age_seconds,
  proof.verdict,
  coalesce(walk.status, 'never') AS status,
  walk.error AS last_error,
  datasets.next_due_at,
  CASE WHEN ${ageOf('seen.started_at')} IS NOT NULL THEN seen.started_at END AS seen_as_of,
  ${ageOf('seen.started_at')} AS seen_age_seconds${more.columns}
FROM counted
LEFT JOIN walks AS proof
  ON proof.id = (SELECT id FROM walks WHERE job = counted.job AND ${PROOF} ORDER BY id DESC LIMIT 1)
LEFT JOIN walks AS walk
  ON walk.id = (SELECT id FROM walks WHERE job = counted.job AND kind = 'walk' ORDER BY id DESC LIMIT 1)
LEFT JOIN walks AS seen
  ON seen.id = (SELECT id FROM walks WHERE job = counted.job AND ${SEEN} ORDER BY id DESC LIMIT 1)
LEFT JOIN ${ofDatasets} AS datasets ON datasets.job = counted.job${more.join}`;
}

/** A dataset as SQL names it. */
type InSql = { name: string; table: string; history: string | null };

/**
 * SQL for the view `changes`, on SQLite and on Postgres alike.
 * @param numberOf SQL for the `seq` of the time in a column, as `seqOf` gives it.
 */
export function changesSql(datasets: readonly InSql[], numberOf: (at: string) => string): string {
  return datasets.flatMap((dataset) => changesOf(dataset, numberOf)).join('\nUNION ALL\n');
}

function changesOf(dataset: InSql, numberOf: (at: string) => string): string[] {
  const { name: job, table } = dataset;
  return changeSources(dataset).map(({ change, at, source, where }) => {
    // A retry of refused rows may have changed something of that walk since.
    const remover = `(SELECT id FROM walks WHERE last_seq >= ${numberOf(at)} AND first_seq <= ${numberOf(at)}
    AND job = '${job}' AND kind = 'walk' ORDER BY last_seq LIMIT 1)`;
    const walk = at === '_valid_to' ? remover : '_walk_id';
    return `SELECT ${numberOf(at)} AS seq, ${at} AS at, '${job}' AS job, '${table}' AS "table", _key AS key,
  ${change} AS change, ${walk} AS walk_id FROM ${source}${where === null ? '' : ` WHERE ${where}`}`;
  });
}

/** SQL for rows or versions of which each is a change: `insert`, `update` or `delete`, at the time in a column. */
export type ChangeSource = {
  change: string;
  at: '_changed_at' | '_valid_from' | '_valid_to';
  source: string;
  where: string | null;
};

/** All changes of a dataset: its rows, the versions that began, and the removed rows. */
export function changeSources({ table, history: past }: Omit<InSql, 'name'>): ChangeSource[] {
  if (past === null) return [{ change: `'insert'`, at: '_changed_at', source: quoted(table), where: null }];
  const history = quoted(past);
  const begun = (at: '_changed_at' | '_valid_from', of: string): ChangeSource => ({
    change: `CASE WHEN EXISTS (SELECT 1 FROM ${history} AS before WHERE before._key = version._key
    AND before._valid_to = version.${at} AND before._ended_by = 'update') THEN 'update' ELSE 'insert' END`,
    at,
    source: `${of} AS version`,
    where: null,
  });
  return [
    begun('_changed_at', quoted(table)),
    begun('_valid_from', history),
    { change: `'delete'`, at: '_valid_to', source: history, where: `_ended_by = 'delete'` },
  ];
}
