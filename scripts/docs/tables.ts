/**
 * `docs/tables.md`: every table and view of a real, freshly made mirror, with what its columns mean. That is read from the
 * comments of the schema and from the contracts of the jobs; `words.ts` has the rest.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getTableColumns, is } from 'drizzle-orm';
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { type Job, type View, validity } from '../../src/job.ts';
import { loadJobs } from '../../src/load-jobs.ts';
import { sharedMeanings as datasetMeanings, meaningsOf } from '../../src/serve/ui/column-meanings.ts';
import { openReadOnly } from '../../src/store/connection.ts';
import * as schema from '../../src/store/schema.ts';
import { viewsOf } from '../../src/store/views.ts';
import { openStore } from '../../src/store.ts';
import {
  examples,
  historyOf,
  introduction,
  rowsApart,
  sharedMeanings,
  sharedViewMeanings,
  viewMeanings,
  volatileApart,
} from './words.ts';

type Column = { name: string; type: string; notnull: number; pk: number };
type Meaning = (column: string) => string | undefined;
type Section = { name: string; about: string; columns: Column[]; meaning: Meaning; example?: string };

/** The page as Markdown. @throws Error that names a table or column whose meaning is written nowhere. */
export async function renderTables(): Promise<string> {
  const jobs = await loadJobs();
  const present = await readMirror(jobs);
  const general = viewsOf(jobs).filter((view) => !jobs.some(({ views }) => views.includes(view)));
  const parts: Record<string, Section[]> = {
    'Over all datasets': general.map((view) => viewSection(view, present, new Map())),
    Datasets: jobs.flatMap((job) => datasetSections(job, present)),
    'What the mirror keeps about itself': ownSections(present),
  };
  const told = new Set(Object.values(parts).flatMap((sections) => sections.map(({ name }) => name)));
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
  const tables = [job.rows, job.aging, job.versions].flatMap((table) => table ?? []);
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
  const [volatile, versions] = [job.aging, job.versions];
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

/** The columns of every table and view, by name. */
async function readMirror(jobs: readonly Job[]): Promise<Map<string, Column[]>> {
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
    return new Map(names.map((name) => [name, columns.all(name)]));
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
