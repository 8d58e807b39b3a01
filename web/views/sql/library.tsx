/** Beside the editor: examples and tables. */

import type { Schema } from '../../../src/serve/page/wire.ts';
import { count } from '../../formats.ts';
import { useLive } from '../../live.ts';
import { quoted, type Sql } from '../../question.ts';

type Open = (query: Sql) => void;

const kinds = {
  dataset: 'Datasets',
  history: 'Earlier versions',
  view: 'Views',
  bookkeeping: 'Mirror metadata',
};

export const withoutParams = (sql: string): Sql => ({ sql, params: {} });
const plainOrQuoted = (table: string) => (/^[a-z_][a-z0-9_]*$/.test(table) ? table : quoted(table));

/** @param isPast whether an earlier moment is shown. */
export function Examples({
  tables,
  isPast,
  open,
}: {
  tables: Schema['tables'];
  isPast: boolean;
  open: Open;
}) {
  return (
    <details open>
      <summary>Examples</summary>
      <ul>
        {examplesFor(tables, isPast).map(({ title, sql }) => (
          <li key={title}>
            <button type="button" class="quiet" onClick={() => open(withoutParams(sql))}>
              {title}
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Datasets with their rows; opened, with their columns. */
export function Tables({ tables, open }: { tables: Schema['tables']; open: Open }) {
  const datasets = useLive().overview?.status.datasets ?? [];
  const rows = new Map(datasets.map((dataset) => [dataset.table, dataset.rows]));
  return (
    <details open>
      <summary>Tables</summary>
      {(Object.keys(kinds) as (keyof typeof kinds)[]).map((kind) => (
        <details key={kind} open={kind === 'dataset'}>
          <summary>{kinds[kind]}</summary>
          <ul>
            {tables
              .filter((table) => table.kind === kind)
              .map(({ name: table, columns }) => (
                <li key={table}>
                  <details>
                    <summary>
                      {table}{' '}
                      {rows.has(table) && <span class="note">{count(rows.get(table) ?? 0, 'row')}</span>}
                    </summary>
                    <button
                      type="button"
                      onClick={() => open(withoutParams(`SELECT *\nFROM ${plainOrQuoted(table)}\nLIMIT 100`))}
                    >
                      Open
                    </button>
                    <ul class="lines">
                      {columns.map((column) => (
                        <li key={column.name} title={column.about?.replaceAll('`', '')}>
                          <code>{column.name}</code> <span class="note">{column.type.toLowerCase()}</span>
                        </li>
                      ))}
                    </ul>
                  </details>
                </li>
              ))}
          </ul>
        </details>
      ))}
    </details>
  );
}

/** Each with the tables that it needs. `isOfNow`: it can only be asked of the present. */
type Example = { title: string; tables: readonly string[]; sql: string; isOfNow?: true };

const examples: readonly Example[] = [
  {
    title: 'Which datasets are fresh',
    isOfNow: true,
    tables: ['freshness'],
    sql: `SELECT job, rows, verdict, complete_as_of, age_seconds
FROM freshness
ORDER BY age_seconds DESC`,
  },
  {
    title: 'What changed since yesterday',
    tables: ['changes'],
    sql: `SELECT job, change, count(*) AS rows
FROM changes
WHERE at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day')
GROUP BY job, change
ORDER BY rows DESC`,
  },
  {
    title: 'Signals by day',
    tables: ['ai_signals'],
    sql: `SELECT substr("timestamp", 1, 10) AS day, count(*) AS signals
FROM ai_signals
GROUP BY day
ORDER BY day`,
  },
  {
    title: 'Signals of one asset',
    tables: ['ai_signals'],
    sql: `SELECT "timestamp", action, confidence, entry_price
FROM ai_signals
WHERE asset = :asset
ORDER BY "timestamp"`,
  },
  {
    title: 'News on assets with an A signal',
    tables: ['ai_signals_current', 'news_symbols', 'news_current'],
    sql: `SELECT news.published_at, news.headline, signal.asset, signal.action
FROM news_symbols AS symbol
JOIN news_current AS news ON news._key = symbol._key
JOIN ai_signals_current AS signal ON signal.asset = symbol.value AND signal.quality_grade = 'A'
ORDER BY news.published_at DESC
LIMIT 100`,
  },
  {
    title: 'Calls by hour',
    tables: ['requests'],
    sql: `SELECT strftime('%Y-%m-%dT%H:00:00Z', at) AS hour, count(*) AS calls, sum(status = 429) AS refused
FROM requests
GROUP BY hour
ORDER BY hour`,
  },
  {
    title: 'How long walks take',
    tables: ['walks'],
    sql: `SELECT started_at, job, api_calls AS calls,
  round((julianday(finished_at) - julianday(started_at)) * 86400, 1) AS seconds
FROM walks
WHERE finished_at IS NOT NULL
ORDER BY started_at`,
  },
  {
    title: 'Why rows were refused',
    isOfNow: true,
    tables: ['quarantine'],
    sql: `SELECT job, problem.value ->> 'path' AS path, problem.value ->> 'expected' AS expected, count(*) AS rows
FROM quarantine, json_each(problems) AS problem
WHERE resolved_at IS NULL
GROUP BY job, path, expected
ORDER BY rows DESC`,
  },
];

function examplesFor(tables: Schema['tables'], isPast: boolean): Example[] {
  const known = tables.map(({ name }) => name);
  return examples.filter(
    (one) => one.tables.every((table) => known.includes(table)) && !(isPast && one.isOfNow),
  );
}
