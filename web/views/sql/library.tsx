/** Beside the editor: examples, tables, saved queries, and queries that were run. */

import { useState } from 'preact/hooks';
import type { Schema } from '../../../src/serve/page/wire.ts';
import { useAnswer } from '../../ask.ts';
import { count, number } from '../../formats.ts';
import { Ago } from '../../parts/time.tsx';
import { name, type Sql } from '../../sql.ts';
import { type Change, type PastQuery, readSavedFile, type SavedQuery, savedFile, withSaved } from './kept.ts';

type Open = (query: Sql) => void;

const kinds = {
  dataset: 'Datasets',
  history: 'Earlier versions',
  view: 'Views',
  bookkeeping: 'What the mirror notes',
};

export const withoutParams = (sql: string): Sql => ({ sql, params: {} });
const plainOrQuoted = (table: string) => (/^[a-z_][a-z0-9_]*$/.test(table) ? table : name(table));

type ExamplesProps = {
  tables: Schema['tables'];
  /** Whether an earlier moment is shown. */
  isPast: boolean;
  open: Open;
};

export function Examples({ tables, isPast, open }: ExamplesProps) {
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

/** Each with its rows; opened, with its columns. */
export function Tables({ tables, open }: { tables: Schema['tables']; open: Open }) {
  const counted = tables.filter(({ kind }) => kind !== 'view');
  const sql = counted
    .map(({ name: table }, at) => `SELECT ${at}, count(*) FROM ${name(table)}`)
    .join(' UNION ALL ');
  const { value } = useAnswer(counted.length === 0 ? null : { sql, limit: counted.length });
  const rows = new Map(value?.rows.map(([at, rows]) => [counted[Number(at)]?.name, Number(rows)]));
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

type SavedProps = {
  saved: readonly SavedQuery[];
  open: Open;
  change(change: Change<SavedQuery>): void;
};

/** Queries with a name, which go to another browser as a file. */
export function Saved({ saved, open, change }: SavedProps) {
  const [problem, setProblem] = useState<string | null>(null);
  const read = async (file: File | undefined) => {
    const queries = file ? readSavedFile(await file.text()) : [];
    setProblem(queries ? null : `${file?.name} holds no saved queries`);
    if (queries) change((list) => withSaved(list, queries));
  };
  return (
    <details open={saved.length > 0}>
      <summary>Saved ({number(saved.length)})</summary>
      <ul>
        {saved.map((query) => (
          <li key={query.name} class="with-button">
            <button type="button" class="quiet" title={query.sql} onClick={() => open(query)}>
              {query.name}
            </button>
            <button
              type="button"
              class="small"
              aria-label={`Delete ${query.name}`}
              onClick={() => change((list) => list.filter(({ name }) => name !== query.name))}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
      <p class="note">In this browser alone.</p>
      <div class="tools">
        <button type="button" disabled={saved.length === 0} onClick={() => saveFile(savedFile(saved))}>
          Export
        </button>
        <label class="button">
          Import
          <input
            type="file"
            class="unseen"
            accept=".json,application/json"
            onChange={(event) => read(event.currentTarget.files?.[0])}
          />
        </label>
      </div>
      {problem && <p role="alert">{problem}</p>}
    </details>
  );
}

function saveFile(text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  link.download = 'market-mirror-queries.json';
  link.click();
  URL.revokeObjectURL(link.href);
}

type HistoryProps = {
  past: readonly PastQuery[];
  open: Open;
  /** Not given: all of them. */
  forget(query?: Sql): void;
};

/** The queries that were run in this browser, to be opened again or forgotten. */
export function History({ past, open, forget }: HistoryProps) {
  if (past.length === 0) return null;
  return (
    <details>
      <summary>History ({number(past.length)})</summary>
      <ul>
        {past.map((query) => (
          <li key={query.sql + JSON.stringify(query.params)} class="with-button">
            <button type="button" class="quiet" onClick={() => open(query)} title={query.sql}>
              <code>{query.sql.replace(/\s+/g, ' ').trim()}</code>
              <span class="note">
                <Ago at={query.ranAt} /> · {query.rows === null ? 'no answer' : count(query.rows, 'row')}
              </span>
            </button>
            <button type="button" class="small" aria-label="Forget this query" onClick={() => forget(query)}>
              ×
            </button>
          </li>
        ))}
      </ul>
      <button type="button" onClick={() => forget()}>
        Forget all
      </button>
    </details>
  );
}

type Example = { title: string; sql: string };

/** Each with the table and columns that it needs. `isOfNow`: it can only be asked of the present. */
const examples: readonly (Example & { table: string; columns: readonly string[]; isOfNow?: true })[] = [
  {
    title: 'Which datasets are fresh',
    isOfNow: true,
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
    isOfNow: true,
    table: 'quarantine',
    columns: ['job', 'problems', 'resolved_at'],
    sql: `SELECT job, problem.value ->> 'path' AS path, problem.value ->> 'expected' AS expected, count(*) AS rows
FROM quarantine, json_each(problems) AS problem
WHERE resolved_at IS NULL
GROUP BY job, path, expected
ORDER BY rows DESC`,
  },
];

function examplesFor(tables: Schema['tables'], isPast: boolean): Example[] {
  const has = (table: string, columns: readonly string[]) => {
    const known = tables.find(({ name }) => name === table)?.columns.map(({ name }) => name);
    return known !== undefined && columns.every((column) => known.includes(column));
  };
  return examples.filter(({ table, columns, isOfNow }) => has(table, columns) && !(isPast && isOfNow));
}
