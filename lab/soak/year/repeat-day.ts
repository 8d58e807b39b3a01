/** A day of a mirror once more: all that the day before has left, with later times, numbers and walks. */

import type { Bench } from '../../../test/helpers/mirror-bench.ts';

const DAY_MS = 24 * 3_600_000;

/**
 * @param from when the day began that is repeated, in epoch milliseconds.
 * @param lived the job whose day is lived again instead.
 */
export function repeatDay(bench: Bench, from: number, lived: string): void {
  const began = new Date(from).toISOString();
  const [walks] = bench.sql<{ first: number; count: number }>(
    `SELECT min(id) AS first, max(id) - min(id) + 1 AS count FROM walks
     WHERE id > coalesce((SELECT id FROM walks WHERE started_at < ? ORDER BY id DESC LIMIT 1), 0)`,
    began,
  );
  if (!walks?.count) throw new Error(`no walk since ${began}`);
  const { first, count } = walks;

  const later = (column: string) =>
    `CASE WHEN ${column} >= '${began}' THEN strftime('%Y-%m-%dT%H:%M:%fZ', ${column}, '+1 day') ELSE ${column} END`;
  const next = (column: string) =>
    `CASE WHEN ${column} >= ${first} THEN ${column} + ${count} ELSE ${column} END`;
  const copy = (table: string, changed: Record<string, string>, where: string) => {
    const columns = bench
      .sql<{ name: string; hidden: number }>(`SELECT name, hidden FROM pragma_table_xinfo('${table}')`)
      .filter(({ name, hidden }) => hidden === 0 && changed[name] !== '');
    const values = columns.map(({ name }) => changed[name] ?? `"${name}"`);
    return `INSERT INTO ${table} (${columns.map(({ name }) => `"${name}"`)}) SELECT ${values} FROM ${table} WHERE ${where};`;
  };
  const histories = bench.jobs.flatMap(({ name, history }) =>
    history && name !== lived ? `${name.replaceAll('-', '_')}_history_rows` : [],
  );

  bench.tamper(
    [
      'PRAGMA synchronous = off; BEGIN;',
      copy(
        'walks',
        {
          id: `id + ${count}`,
          started_at: later('started_at'),
          finished_at: later('finished_at'),
          renewal_of: next('renewal_of'),
          first_seq: `first_seq + ${DAY_MS}`,
          last_seq: `last_seq + ${DAY_MS}`,
        },
        `id >= ${first} AND job <> '${lived}'`,
      ),
      copy(
        'requests',
        { id: '', at: later('at'), walk_id: next('walk_id') },
        `at >= '${began}' AND job <> '${lived}'`,
      ),
      ...histories.map((history) =>
        copy(
          history,
          {
            _changed_at: later('_changed_at'),
            _valid_from: later('_valid_from'),
            _valid_to: later('_valid_to'),
            _walk_id: next('_walk_id'),
          },
          `_valid_to >= '${began}' ORDER BY rowid`,
        ),
      ),
      copy(
        'usage_rows',
        {
          _key: `${later('_fetched_at')} || ' ' || ${next('_walk_id')}`,
          _fetched_at: later('_fetched_at'),
          _first_seen_at: later('_first_seen_at'),
          _changed_at: later('_changed_at'),
          _walk_id: next('_walk_id'),
        },
        `_fetched_at >= '${began}'`,
      ),
      `UPDATE quarantine SET walk_id = ${next('walk_id')}, last_seen_at = ${later('last_seen_at')} WHERE job <> '${lived}';`,
      `UPDATE drift SET last_seen_at = ${later('last_seen_at')} WHERE job <> '${lived}';`,
      `UPDATE fields SET walk_id = ${next('walk_id')}, last_seen_at = ${later('last_seen_at')} WHERE job <> '${lived}';`,
      `UPDATE datasets SET last_seq = last_seq + ${DAY_MS}, calls_saved = calls_saved + (SELECT coalesce(sum(calls_saved), 0)
         FROM walks WHERE walks.job = datasets.job AND walks.id >= ${first + count}) WHERE job <> '${lived}';`,
      'COMMIT;',
    ].join('\n'),
  );
}
