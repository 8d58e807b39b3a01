/** `docs/tables.md`: every table and view of a real, freshly made mirror, with what its columns mean. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Job, rowsOf, tableOf, type View, volatileOf } from '../../src/job.ts';
import { loadJobs } from '../../src/load-jobs.ts';
import { openReadOnly } from '../../src/store/db/connection.ts';
import { openStore } from '../../src/store/index.ts';
import { viewsOf } from '../../src/store/views.ts';
import { meaningsOf, readComments } from './meanings.ts';
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
  const name = tableOf(job);
  const [rows, volatile] = [rowsOf(job), volatileOf(job)];
  const apart = volatile === undefined ? [] : [rows, volatile].flatMap((table) => present.get(table) ?? []);
  // A view does not say which of its columns may be null.
  const columns = (present.get(name) ?? []).map((column) => ({
    ...column,
    ...(volatile !== undefined && apart.find((stored) => stored.name === column.name)),
  }));
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
    columns: present.get(`${name}_history`)?.slice(columns.length) ?? [],
    meaning: () => undefined,
  };
  const views = job.views.map((view) => viewSection(view, present, meanings));
  return [
    table,
    ...(job.history ? [history] : []),
    ...(volatile === undefined ? [] : apartSections({ name, rows, volatile }, present, meanings)),
    ...views,
  ];
}

/** The tables whose rows a dataset with volatile columns shows. */
function apartSections(
  { name, rows, volatile }: { name: string; rows: string; volatile: string },
  present: Map<string, Column[]>,
  meanings: Map<string, string>,
): Section[] {
  return [
    { name: rows, about: rowsApart(name), columns: [], meaning: () => undefined },
    {
      name: volatile,
      about: volatileApart(name),
      columns: present.get(volatile) ?? [],
      meaning: (column) => meanings.get(column),
    },
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
    const text = meaning(column.name) ?? sharedMeanings[column.name];
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
