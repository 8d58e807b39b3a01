/** Queries to begin with: of each table, and a few that answer what is asked most. */

import type { Schema } from '../../../src/serve/ui/wire.ts';
import { name } from '../../sql.ts';

type Props = { tables: Schema['tables']; open(sql: string): void };

const kinds = {
  dataset: 'Datasets',
  history: 'Their past',
  view: 'Views',
  bookkeeping: 'What the mirror noted',
};

export function Tables({ tables, open }: Props) {
  return (
    <details class="menu">
      <summary>Tables</summary>
      <div class="menu-box wide">
        {(Object.keys(kinds) as (keyof typeof kinds)[]).map((kind) => (
          <section key={kind}>
            <h2>{kinds[kind]}</h2>
            <ul>
              {tables
                .filter((table) => table.kind === kind)
                .map(({ name: table, columns }) => (
                  <li key={table}>
                    <details>
                      <summary>
                        {table} <span class="note">{columns.length}</span>
                      </summary>
                      <button
                        type="button"
                        onClick={(event) => {
                          closeMenu(event);
                          open(`SELECT *\nFROM ${plainOrQuoted(table)}\nLIMIT 100`);
                        }}
                      >
                        Open
                      </button>
                      <ul class="columns">
                        {columns.map((column) => (
                          <li key={column.name}>
                            <code>{column.name}</code> <span class="note">{column.type.toLowerCase()}</span>
                          </li>
                        ))}
                      </ul>
                    </details>
                  </li>
                ))}
            </ul>
          </section>
        ))}
      </div>
    </details>
  );
}

export function Examples({ tables, open }: Props) {
  return (
    <details class="menu">
      <summary>Examples</summary>
      <div class="menu-box">
        {examplesFor(tables).map(({ title, sql }) => (
          <button
            key={title}
            type="button"
            onClick={(event) => {
              closeMenu(event);
              open(sql);
            }}
          >
            {title}
          </button>
        ))}
      </div>
    </details>
  );
}

const plainOrQuoted = (table: string) => (/^[a-z_][a-z0-9_]*$/.test(table) ? table : name(table));

function closeMenu(event: Event): void {
  (event.currentTarget as HTMLElement).closest<HTMLDetailsElement>('.menu')?.removeAttribute('open');
}

/** Queries that answer what is asked most, as far as the mirror has what they ask for. */

type Example = { title: string; sql: string };

/** Each with the table and columns that it needs. */
const examples: readonly (Example & { table: string; columns: readonly string[] })[] = [
  {
    title: 'Which datasets are fresh',
    table: 'freshness',
    columns: ['job', 'rows', 'verdict', 'complete_as_of', 'age_seconds'],
    sql: `SELECT job, rows, verdict, complete_as_of, age_seconds
FROM freshness
ORDER BY age_seconds DESC`,
  },
  {
    title: 'What changed since yesterday',
    table: 'changes',
    columns: ['at', 'job', 'change'],
    sql: `SELECT job, change, count(*) AS rows
FROM changes
WHERE at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day')
GROUP BY job, change
ORDER BY rows DESC`,
  },
  {
    title: 'Signals by day',
    table: 'ai_signals',
    columns: ['timestamp'],
    sql: `SELECT substr("timestamp", 1, 10) AS day, count(*) AS signals
FROM ai_signals
GROUP BY day
ORDER BY day`,
  },
  {
    title: 'Signals of one asset',
    table: 'ai_signals',
    columns: ['timestamp', 'asset', 'action', 'confidence', 'entry_price'],
    sql: `SELECT "timestamp", action, confidence, entry_price
FROM ai_signals
WHERE asset = :asset
ORDER BY "timestamp"`,
  },
  {
    title: 'Calls by hour',
    table: 'requests',
    columns: ['at', 'status'],
    sql: `SELECT strftime('%Y-%m-%dT%H:00:00Z', at) AS hour, count(*) AS calls, sum(status = 429) AS refused
FROM requests
GROUP BY hour
ORDER BY hour`,
  },
  {
    title: 'How long walks take',
    table: 'walks',
    columns: ['started_at', 'finished_at', 'rows', 'api_calls', 'job'],
    sql: `SELECT started_at, job, api_calls AS calls,
  round((julianday(finished_at) - julianday(started_at)) * 86400, 1) AS seconds
FROM walks
WHERE finished_at IS NOT NULL
ORDER BY started_at`,
  },
  {
    title: 'Why rows were refused',
    table: 'quarantine',
    columns: ['job', 'problems', 'resolved_at'],
    sql: `SELECT job, problem.value ->> 'path' AS path, problem.value ->> 'expected' AS expected, count(*) AS rows
FROM quarantine, json_each(problems) AS problem
WHERE resolved_at IS NULL
GROUP BY job, path, expected
ORDER BY rows DESC`,
  },
];

function examplesFor(tables: Schema['tables']): Example[] {
  const has = (table: string, columns: readonly string[]) => {
    const known = tables.find(({ name }) => name === table)?.columns.map(({ name }) => name);
    return known !== undefined && columns.every((column) => known.includes(column));
  };
  return examples.filter(({ table, columns }) => has(table, columns));
}
