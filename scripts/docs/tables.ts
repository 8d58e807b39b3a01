/** `docs/tables.md`: the tables and views of a new mirror. Meanings come from comments of the schema and contracts of jobs; other texts are at the end. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getTableColumns, is } from 'drizzle-orm';
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { loadJobs } from '../../src/job/load.ts';
import { type Job, type View, validity } from '../../src/job.ts';
import { sharedMeanings as datasetMeanings, meaningsOf } from '../../src/serve/answers/column-meanings.ts';
import { analystViewsOf } from '../../src/store/analysts.ts';
import { openReadOnly } from '../../src/store/connection.ts';
import * as schema from '../../src/store/schema.ts';
import { viewsOf } from '../../src/store/views.ts';
import { openStore } from '../../src/store.ts';

type Column = { name: string; type: string; notnull: number; pk: number };
type Meaning = (column: string) => string | undefined;
type Section = { name: string; about: string; columns: Column[]; meaning: Meaning; example?: string };

/** The page as Markdown. @throws Error that names a table or column whose meaning is written nowhere. */
export async function renderTables(): Promise<string> {
  const jobs = await loadJobs();
  const { present, analystViews } = await readMirror(jobs);
  const general = viewsOf(jobs).filter((view) => !jobs.some(({ views }) => views.includes(view)));
  const parts: Record<string, Section[]> = {
    'Over all datasets': general.map((view) => viewSection(view, present, new Map())),
    Datasets: jobs.flatMap((job) => datasetSections(job, present)),
    'Views of every dataset': analystSections(present),
    'What the mirror keeps about itself': ownSections(present),
  };
  const own = Object.values(parts).flatMap((sections) => sections.map(({ name }) => name));
  const told = new Set([...own, ...analystViews]);
  for (const name of present.keys()) if (!told.has(name)) throw new Error(`${name}: no word on what it is`);
  const blocks = Object.entries(parts).flatMap(([title, sections]) => [
    `## ${title}`,
    ...sections.map(render),
  ]);
  return `${[introduction, ...blocks].join('\n\n')}\n`;
}

/** The table, its history and its views. */
function datasetSections(job: Job, present: Map<string, Column[]>): Section[] {
  const name = job.table;
  const tables = [job.rows, job.volatileTable, job.versions].flatMap((table) => table ?? []);
  const stored = tables.flatMap((table) => present.get(table) ?? []);
  // A view does not say which of its columns may be null.
  const shown = (view: string) =>
    (present.get(view) ?? []).map((column) => ({
      ...column,
      ...stored.find((one) => one.name === column.name),
    }));
  const columns = shown(name);
  const meanings = meaningsOf(job);
  const table = {
    name,
    about: `${job.about} From \`${job.path}\`, by the job \`${job.name}\`.`,
    columns,
    meaning: (column: string) => meanings.get(column),
  };
  const history = {
    name: `${name}_history`,
    about: historyOf(name),
    columns: shown(`${name}_history`).filter(({ name }) => validity.includes(name)),
    meaning: () => undefined,
  };
  const views = job.views.map((view) => viewSection(view, present, meanings));
  return [table, ...(job.history ? [history] : []), ...storedSections(job, present, meanings), ...views];
}

/** The tables whose rows the dataset and its history show. */
function storedSections(job: Job, present: Map<string, Column[]>, meanings: Map<string, string>): Section[] {
  const name = job.table;
  const [volatile, versions] = [job.volatileTable, job.versions];
  const none = { columns: [], meaning: () => undefined };
  return [
    { name: job.rows, about: rowsApart(name), ...none },
    ...(versions === null ? [] : [{ name: versions, about: rowsApart(`${name}_history`), ...none }]),
    ...(volatile === null
      ? []
      : [
          {
            name: volatile,
            about: volatileApart(name),
            columns: present.get(volatile) ?? [],
            meaning: (column: string) => meanings.get(column),
          },
        ]),
  ];
}

/** @param meanings of the columns of the table that the view shows. */
function viewSection(
  { name, about, example }: View,
  present: Map<string, Column[]>,
  meanings: Map<string, string>,
): Section {
  const earlier = (column: string) =>
    column.startsWith('previous_')
      ? `\`${column.replace('previous_', '')}\` of the version before.`
      : undefined;
  return {
    name,
    about,
    example,
    columns: present.get(name)?.map(withoutGuess) ?? [],
    meaning: (column) =>
      viewMeanings[name]?.[column] ?? sharedViewMeanings[column] ?? meanings.get(column) ?? earlier(column),
  };
}

/** SQLite names the type of a column that a view computes by how it would compare. */
function withoutGuess(column: Column): Column {
  return { ...column, type: /^(text|integer|real)$/i.test(column.type) ? column.type : '' };
}

function ownSections(present: Map<string, Column[]>): Section[] {
  return readComments().map(({ table, about, columns }) => ({
    name: table,
    about,
    columns: present.get(table) ?? [],
    meaning: (column) => columns.get(column),
  }));
}

function render({ name, about, columns, meaning, example = examples[name] }: Section): string {
  const rows = columns.map((column) => {
    const text = meaning(column.name) ?? datasetMeanings[column.name] ?? sharedMeanings[column.name];
    if (!text) throw new Error(`${name}.${column.name}: no word on what it means (see CONTRIBUTING.md)`);
    const nullable = column.notnull || column.pk ? 'no' : 'yes';
    return `| \`${column.name}\` | ${column.type.toLowerCase() || 'any'} | ${nullable} | ${text.replaceAll('|', '\\|')} |`;
  });
  return [
    `### ${name}`,
    about,
    ...(rows.length > 0
      ? [['| column | type | null | meaning |', '|---|---|---|---|', ...rows].join('\n')]
      : []),
    ...(example ? [`\`\`\`sql\n${example.replace(/;?$/, ';')}\n\`\`\``] : []),
  ].join('\n\n');
}

/** The views that each dataset has, by the examples of one. */
function analystSections(present: Map<string, Column[]>): Section[] {
  const section = (view: string, shown: string, columns: Column[]): Section => ({
    name: view,
    about: analysts[shown]?.about ?? '',
    columns: columns.map(withoutGuess),
    meaning: (column) => analysts[shown]?.columns[column],
    example: analysts[shown]?.example ?? '',
  });
  return [
    section('`<dataset>_current`', 'current', []),
    section('`<dataset>_changes`', 'changes', present.get('ai_signals_changes') ?? []),
    section('`<dataset>_<column>`', 'lists', present.get('ai_signals_quality_checks') ?? []),
  ];
}

/** The columns of every table and view, by name, and the names of the views that each dataset has. */
async function readMirror(jobs: readonly Job[]) {
  const folder = mkdtempSync(join(tmpdir(), 'mirror-docs-'));
  const store = openStore(folder, jobs, () => 0);
  const database = openReadOnly(store.file);
  try {
    const names = database
      .prepare<[], string>(
        `SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite@_%' ESCAPE '@'
         AND name <> '__drizzle_migrations' ORDER BY name`,
      )
      .pluck()
      .all();
    const columns = database.prepare<[string], Column>('SELECT * FROM pragma_table_xinfo(?) ORDER BY cid');
    return {
      present: new Map(names.map((name) => [name, columns.all(name)])),
      analystViews: jobs.flatMap((job) => analystViewsOf(database, job).map(({ name }) => name)),
    };
  } finally {
    database.close();
    store.close();
    rmSync(folder, { recursive: true });
  }
}

const source = new URL('../../src/store/schema.ts', import.meta.url);

/** Of a table, and of those of its columns that have one, by their names in SQL. */
type Comments = { table: string; about: string; columns: Map<string, string> };

/** Those of every table, in the order of the file. */
function readComments(): Comments[] {
  const tables: Record<string, unknown> = schema;
  return readFileSync(source, 'utf8')
    .split(/^(?=\/\*\*)/m)
    .flatMap((declaration) => {
      const name = /^export const (\w+) = /m.exec(declaration)?.[1] ?? '';
      const table = tables[name];
      return is(table, SQLiteTable) ? [commentsOf(table, name, declaration)] : [];
    });
}

function commentsOf(table: SQLiteTable, name: string, declaration: string): Comments {
  const columns = Object.entries(getTableColumns(table)).flatMap(([property, column]) => {
    const comment = commentBefore(declaration, new RegExp(`^ +${property}: `, 'm'));
    return comment ? [[column.name, comment] as const] : [];
  });
  return {
    table: getTableConfig(table).name,
    about: commentBefore(declaration, new RegExp(`^export const ${name} = `, 'm')) ?? '',
    columns: new Map(columns),
  };
}

function commentBefore(text: string, line: RegExp): string | undefined {
  const before = text.slice(0, text.search(line)).trimEnd();
  if (!before.endsWith('*/')) return undefined;
  return before
    .slice(before.lastIndexOf('/**') + 3, -2)
    .replace(/^\s*\*/gm, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** The texts of `docs/tables.md` that no declaration holds: introduction, columns of views and shared columns, examples. */

const introduction = `# Tables and views

Generated from the schema by \`npm run docs\`; a test fails if it is out of date. Every SQL statement on this page
runs as it is written, in any SQLite tool, while the daemon is running.

- \`SELECT * FROM <dataset>\` shows the rows that the API showed at the last full read and since, and the held ones: rows that
  this read did not show, and that go if the next one does not show them either. \`_held_since\` tells them apart;
  \`WHERE _held_since IS NULL\` leaves them out. One row of [\`freshness\`](#freshness) says whether to trust a dataset, as of
  when, and how many of its rows are held.
- Times made by the mirror are ISO 8601 UTC text with milliseconds, so they compare and sort as text. Times from the API
  are kept exactly as received.
- Booleans are 0 or 1. Arrays and objects are JSON text: read them with \`->>\`, or a list by [its view](#views-of-every-dataset).
- A dataset whose record shape is not specified is kept as received in \`_body\`. \`fields\` lists what was found in it. Member
  names are written without escapes that JSON does not need. A row in which an object has one name twice is in \`quarantine\`.
- A value outside the values or the range named here is stored all the same, and noted in \`drift\`. A row that breaks its
  contract in another way is kept in \`quarantine\`, and the version before it stays.`;

type Words = Record<string, string>;

const historyOf = (table: string) =>
  `Every version of a row of \`${table}\` that was replaced or removed: the columns of that table, but for what is held, and these.`;

/** @param table what shows them. */
const rowsApart = (table: string) =>
  `Internal storage of \`${table}\`, with the rows' numbers. Query \`${table}\` instead.`;

const volatileApart = (table: string) =>
  `The volatile values that \`${table}\` shows, apart from the rows, since they change while these do not. A walk brings them up to date as it ends.`;

type AnalystWords = { about: string; columns: Words; example: string };

/** The analysts' views, see `src/store/analysts.ts`. */
const analysts: Record<string, AnalystWords> = {
  current: {
    about: 'The rows of the dataset that are not held, in its columns: `WHERE _held_since IS NULL`.',
    columns: {},
    example: 'SELECT count(*) AS rows FROM news_current',
  },
  changes: {
    about:
      'What changed: one line for each column of a row that changed, and one line for each row that came or went. Values that make no version are left out.',
    columns: {
      seq: 'Number of the commit, as in `changes`.',
      at: 'When the change came into the mirror.',
      kind: '`first`: the row came with the first walk of the dataset. `new`, `changed`, `gone`: what became of it since.',
      _key: "The row's key.",
      column: 'The column that changed. Null for a row that came or went.',
      old: 'Its value before.',
      new: 'Its value since.',
      walk_id: 'The walk or glance that found it (`walks.id`).',
    },
    example: `SELECT at, kind, _key, "column", old, new FROM ai_signals_changes
WHERE kind <> 'first' ORDER BY seq DESC LIMIT 20`,
  },
  lists: {
    about:
      'The elements of the lists that a column holds, such as `ai_signals_quality_checks` or `news_symbols`: one line each. A view comes with the first list that is found (`array` in `types` of [`fields`](#fields)). A name that is taken ends in `_list`.',
    columns: {
      _key: "The row's key.",
      position: 'The position of the element, from 0.',
      value: 'The element. Lists and objects within it are JSON text.',
    },
    example: `SELECT value AS quality_check, count(*) AS signals
FROM ai_signals_quality_checks GROUP BY value ORDER BY signals DESC`,
  },
};

/** Columns that mean the same in every view that has them. */
const sharedViewMeanings: Words = {
  position: 'Its position in the list, from 0.',
  version: 'Its number, from 1.',
  valid_from: 'From when the mirror held this version.',
  valid_to: 'Until when. Null for the current version.',
  ended_by: '`update` or `delete`. Null for the current version.',
};

/** Columns that one view computes. */
const viewMeanings: Record<string, Words> = {
  ai_signal_checks: { check_name: 'The check, one of `quality.checks`.' },
  ai_signal_reason_codes: { reason_code: 'The code, one of `validator.reasonCodes`.' },
  changes: {
    seq: 'Grows with every commit; all changes of one commit share it.',
    at: 'When the change came into the mirror.',
    table: 'The table of the dataset.',
    key: "The row's `_key`.",
    change: '`insert`, `update` or `delete`.',
    walk_id: 'The walk or glance that found it (`walks.id`).',
  },
  freshness: {
    rows: 'Rows in the table of the dataset now.',
    held: 'Those of them that the last proof did not find, and that stay for now: see `_held_reason`.',
    complete_as_of: 'When the last walk that proved the dataset complete began. Null if none has yet.',
    age_seconds:
      'How long ago that was, by the clock of this machine. Null if that time is in the future: the clock was set back since then, and nobody knows how old the rows are.',
    verdict: 'What that walk proves: `snapshot` or `verified`, see `walks`.',
    status:
      'Status of the latest walk, whatever it proves: `running`, `waiting`, `complete`, `failed`, or `never`. Glances do not count.',
    last_error: 'Why the latest walk waits, failed or proves nothing. Null if all is well.',
    next_due_at: 'When the daemon will mirror the dataset next.',
    seen_as_of:
      'When the latest walk or glance that ended well began: what stood at the head of the dataset by then is here. It proves nothing: rows may be missing elsewhere, and rows that are gone may still be here. Null if there was none, or if that time is in the future.',
    seen_age_seconds: 'How long ago that was, by the clock of this machine. Null where `seen_as_of` is.',
  },
};

/** Columns that mean the same in every table that has them, unless the table says more; those of datasets are in `column-meanings.ts`. */
const sharedMeanings: Words = {
  number: 'The number of the row.',
  id: 'The number of the row.',
  job: 'The job, such as `ai-signals`.',
  request_id: 'X-Request-ID of the answer, if it had one. The support of the API can find the call by it.',
  walk_id: 'The walk (`walks.id`).',
};

/** A query that shows the use of a table; views bring their own. */
const examples: Record<string, string> = {
  ai_signals: `SELECT asset, action, confidence, entry_price, rationale
FROM ai_signals WHERE quality_publishable AND quality_grade = 'A'
ORDER BY confidence DESC LIMIT 20`,
  ai_signals_history: `SELECT _valid_from, _valid_to, _ended_by, status, confidence, entry_price
FROM ai_signals_history WHERE id = 'an id' ORDER BY _valid_from`,
  news: `SELECT _key, json(_body) AS received FROM news ORDER BY _first_seen_at DESC LIMIT 20`,
  fields: `SELECT "column", path, types, nullable, example FROM fields WHERE job = 'news'`,
  walks: `SELECT job, status, verdict, rows, inserted, updated, deleted, api_calls, started_at, error
FROM walks ORDER BY id DESC LIMIT 10`,
  requests: `SELECT substr(at, 1, 13) AS hour, count(*) AS calls, sum(status = 429) AS limited, min(rate_remaining) AS left
FROM requests WHERE at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day')
GROUP BY hour ORDER BY hour`,
  quarantine: `SELECT job, problem.value ->> 'path' AS path, problem.value ->> 'expected' AS expected, count(*) AS rows
FROM quarantine, json_each(problems) AS problem
WHERE resolved_at IS NULL GROUP BY job, path, expected ORDER BY rows DESC`,
  drift: `SELECT job, kind, path, detail, times, first_seen_at
FROM drift WHERE first_seen_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-7 days')`,
};
