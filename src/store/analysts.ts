/**
 * The analysts' views of a dataset: its rows without those that are held, what changed column by column, and the elements of each column
 * that holds lists. They follow the columns, also those that are found later.
 */

import { columnName, type Schema } from '../base/properties.ts';
import type { ListedJob } from '../job.ts';
import type { FieldType } from '../validate/checked.ts';
import type { Connection } from './connection.ts';
import { agesOf, readFindings } from './shapes.ts';
import { changeSources, quoted, removerSql, seqOf } from './sql.ts';

/** Begins the comment by which our views are told from those that a user made. */
export const OURS = '/* declared by market-mirror';

/** `column`: the one whose lists are shown; `names`: those that lead to them in `_body`, where they were found there. */
export type AnalystView = { name: string } & (
  | { shows: 'current' | 'changes' }
  | { shows: 'lists'; column: string; names: readonly string[] | null }
);

/** A column that holds lists, and its path within `_body` where it was found there. */
type ListColumn = { name: string; path: string | null };

/** The analysts' views that a dataset has, by the columns that are known of it; those whose name a user has taken are left out. */
export function analystViewsOf(connection: Connection, job: ListedJob): (AnalystView & { sql: string })[] {
  const { table } = job;
  const definitionOf = connection
    .prepare<[string], string | null>('SELECT sql FROM sqlite_master WHERE name = ? COLLATE NOCASE')
    .pluck();
  const isFree = (name: string, mark: string) => definitionOf.get(name)?.includes(mark) ?? true;
  const markOf = (words: string) => `${OURS}: ${words} */`;
  const views: (AnalystView & { sql: string })[] = [];
  const add = (view: AnalystView, mark: string, select: string) => {
    if (isFree(view.name, mark)) views.push({ ...view, sql: `${mark}\n${select}` });
  };
  const current = `SELECT * FROM ${quoted(table)} WHERE _held_since IS NULL`;
  add({ name: `${table}_current`, shows: 'current' }, markOf(`current ${table}`), current);
  add(
    { name: `${table}_changes`, shows: 'changes' },
    markOf(`changes ${table}`),
    changesSql(connection, job),
  );
  for (const column of listColumns(connection, job)) {
    const mark = markOf(`lists ${table}.${column.name}`);
    const base = `${table}_${column.name}`;
    const name = [base, `${base}_list`].find(
      (name) => isFree(name, mark) && !views.some((view) => view.name === name),
    );
    if (name === undefined) continue;
    const names = column.path === null ? null : namesIn(column.path);
    add({ name, shows: 'lists', column: column.name, names }, mark, listSql(job, column));
  }
  return views;
}

function listSql({ table }: ListedJob, { name, path }: ListColumn): string {
  const [value, more] = path === null ? [`row.${quoted(name)}`, ''] : ['row."_body"', `, ${text(path)}`];
  return `SELECT row._key AS _key, item.key AS position, item.value AS value
FROM ${quoted(table)} AS row, json_each(${value}${more}) AS item WHERE json_type(${value}${more}) = 'array'`;
}

/** One line a column that changed, and one line a row that came or went. */
function changesSql(connection: Connection, job: ListedJob): string {
  const { name, history, schemas } = job;
  // What the first whole walk brought is no news.
  const first = `(SELECT coalesce(min(id) FILTER (WHERE kind = 'walk' AND status = 'complete' AND renewal_of IS NULL), max(id))
    FROM walks WHERE job = ${text(name)})`;
  const fields = schemas ? specifiedFields(job) : discoveredFields(connection, name);
  const lines = changeSources(job).map(({ at, source, where }) => {
    const time = `version.${at}`;
    const kind = `CASE WHEN version._walk_id <= ${first} THEN 'first' ELSE 'new' END`;
    const rest = where === null ? '' : ` WHERE ${where}`;
    const line = (kind: string, field: string, walk: string) =>
      `SELECT ${seqOf(time)} AS seq, ${time} AS at, ${kind} AS kind, version._key AS _key, ${field}, ${walk} AS walk_id
FROM ${source}`;
    const none = 'NULL AS "column", NULL AS old, NULL AS new';
    if (history === null) return line(kind, none, 'version._walk_id');
    if (at === '_valid_to') return line(`'gone'`, none, removerSql(name, time, seqOf)) + rest;
    return `${line(
      `CASE WHEN before._key IS NULL THEN ${kind} ELSE 'changed' END`,
      `field.${fields.name} AS "column", ${fields.value('before')} AS old, ${fields.value('version')} AS new`,
      'version._walk_id',
    )}
  LEFT JOIN ${quoted(history)} AS before ON before._key = version._key AND before._valid_to = ${time} AND before._valid_from < before._valid_to
  LEFT JOIN json_each(${text(JSON.stringify(fields.list))}) AS field
    ON before._key IS NOT NULL AND ${fields.value('before')} IS NOT ${fields.value('version')}${rest}`;
  });
  return lines.join('\nUNION ALL\n');
}

/** The fields that are compared: a list or an object of JSON, SQL for the name of one and for its value in a row. */
type Fields = { list: unknown; name: 'key' | 'value'; value: (row: string) => string };

/** The columns that `<table>_changes` compares: all but those that move by themselves, and what the mirror adds. */
export function comparedColumns(connection: Connection, job: ListedJob): string[] {
  return job.schemas ? stableOf(job) : discoveredIn(connection, job.name).map(({ column }) => column);
}

const stableOf = ({ columns, volatile }: ListedJob) => columns.filter((name) => !volatile.includes(name));

function specifiedFields(job: ListedJob): Fields {
  const names = stableOf(job);
  return {
    list: names,
    name: 'value',
    value: (row) =>
      `CASE field.value ${names.map((name) => `WHEN ${text(name)} THEN ${row}.${quoted(name)}`).join(' ')} END`,
  };
}

function discoveredFields(connection: Connection, job: string): Fields {
  return {
    list: Object.fromEntries(discoveredIn(connection, job).map(({ column, path }) => [column, path])),
    name: 'key',
    value: (row) => `json_extract(${row}._body, field.value)`,
  };
}

function discoveredIn(connection: Connection, job: string): Field[] {
  const ages = new Set(agesOf(readFindings(connection, job)).map((path) => JSON.stringify(path)));
  return fieldsOf(connection, job).filter(({ path }) => !ages.has(JSON.stringify(namesIn(path))));
}

/** The names in a path. */
const namesIn = (path: string): string[] =>
  [...path.matchAll(/\.(?:(\w+)|("(?:[^"\\]|\\.)*"))/g)].map(
    ([, plain, inQuotes = '']) => plain ?? (JSON.parse(inQuotes) as string),
  );

type Field = { column: string; path: string; types: string };

const fieldsOf = (connection: Connection, job: string) =>
  connection
    .prepare<[string], Field>('SELECT "column", path, types FROM fields WHERE job = ? ORDER BY rowid')
    .all(job);

function listColumns(connection: Connection, { name, schemas }: ListedJob): ListColumn[] {
  if (schemas) return listsIn(schemas.row, []).map((name) => ({ name, path: null }));
  return fieldsOf(connection, name)
    .filter(({ types }) => (JSON.parse(types) as FieldType[]).includes('array'))
    .map(({ column, path }) => ({ name: column, path }));
}

/** The columns of the lists of a specified row. */
function listsIn({ properties = {} }: Schema, around: readonly string[]): string[] {
  return Object.entries(properties).flatMap(([property, schema]) => {
    const path = [...around, property];
    const value = schema.anyOf?.find(({ type }) => type !== 'null') ?? schema;
    return [value.type].flat().includes('array') ? [columnName(path)] : listsIn(value, path);
  });
}

const text = (value: string) => `'${value.replaceAll("'", "''")}'`;
