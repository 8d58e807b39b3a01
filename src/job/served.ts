/** How a row is shown as JSON again: SQL that the build writes down, so that whoever serves rows needs no contract. */

import * as z from 'zod';
import {
  type Filter,
  historyOf,
  type Job,
  type ListedJob,
  listed,
  ownColumnsOf,
  volatileOf,
} from '../job.ts';
import { numberSql } from '../output/answer.ts';

/** What those who serve the mirror need to know of a job. */
export type ServedJob = ListedJob & {
  /** Path below the base address. */
  path: string;
  /** Query parameters, beside those of paging, that select rows. */
  filters: Readonly<Record<string, Filter>>;
  /**
   * The members that its pages have beside `rows` and `pagination`, with the value that the contract fixes; null for
   * `generatedAt`, which tells of the snapshot.
   */
  page: Readonly<Record<string, string | null>>;
  /** The table of superseded versions; null for a dataset that is kept as snapshots. */
  history: string | null;
  /** The columns that are the dataset's own, and those of them that make no version. */
  columns: readonly string[];
  volatile: readonly string[];
  /** SQL to name in FROM in place of `table`, for rows with their `rowid`: a view has none. */
  numbered: string;
  /**
   * SQL for the JSON of a row, over its columns in something named `row`: what the contract lists and nothing else, or the
   * row as it was received.
   */
  rowJson: string;
};

export function served(job: Job): ServedJob {
  const columns = ownColumnsOf(job);
  const { contract } = job;
  const own = contract ? columns : columns.filter((name) => name === '_body');
  return {
    ...listed(job),
    path: job.path,
    filters: job.filters,
    page: contract ? membersOfPage(z.toJSONSchema(contract.page) as Shape) : {},
    history: historyOf(job) ?? null,
    columns: own,
    volatile: contract?.volatile ?? [],
    numbered: numberedOf(job),
    rowJson: contract
      ? objectOf(z.toJSONSchema(contract.row) as Shape, [], new Set(columns))
      : column(['_body']),
  };
}

function numberedOf(job: Job): string {
  const { rows } = listed(job);
  const volatile = volatileOf(job);
  if (volatile === undefined) return `"${rows}"`;
  const values = job.contract?.volatile.map(
    (name) => `(SELECT "${name}" FROM "${volatile}" WHERE _number = stored.rowid) AS "${name}"`,
  );
  return `(SELECT stored.rowid AS rowid, stored.*, ${values} FROM "${rows}" AS stored)`;
}

/** The part of JSON Schema in which zod describes our contracts. */
type Shape = {
  type?: string | readonly string[];
  const?: string;
  properties?: Record<string, Shape>;
  required?: readonly string[];
  anyOf?: readonly Shape[];
};

function membersOfPage({ properties = {} }: Shape): ServedJob['page'] {
  const members = Object.entries(properties).map(([name, { const: value = null }]) => {
    if (value === null && name !== 'generatedAt') throw new Error(`nothing says what ${name} of a page is`);
    return [name, value];
  });
  return Object.fromEntries(members);
}

/** A column is named after its property, in snake_case; nested names are joined by `_`. */
function objectOf({ properties = {}, required = [] }: Shape, path: string[], columns: Set<string>): string {
  const members = Object.entries(properties).map(([name, shape]) => {
    const value = jsonValueOf(shape, [...path, snakeCase(name)], columns);
    return { name, value, isOptional: !required.includes(name) };
  });
  const object = `json_object(${members.map(({ name, value }) => `'${name}', ${value}`).join(', ')})`;
  // A path into an array removes nothing from an object.
  const lacking = members
    .filter(({ isOptional }) => isOptional)
    .map(({ name, value }) => `CASE WHEN ${value} IS NULL THEN '$."${name}"' ELSE '$[0]' END`);
  return lacking.length > 0 ? `json_remove(${[object, ...lacking].join(', ')})` : object;
}

function jsonValueOf(shape: Shape, path: string[], columns: Set<string>): string {
  const value = shape.anyOf?.find(({ type }) => type !== 'null') ?? shape;
  const isOf = (type: string) => [value.type].flat().includes(type);
  const name = path.join('_');
  if (!columns.has(name)) {
    if (value.type === 'object' && value === shape) return objectOf(value, path, columns);
    throw new Error(`no column ${name} shows what the contract lists as ${path.join('.')}`);
  }
  if (isOf('boolean')) return `CASE ${column(path)} WHEN 1 THEN json('true') WHEN 0 THEN json('false') END`;
  if (isOf('array')) return `json(${column(path)})`;
  if (isOf('object')) return membersOf(value, path);
  return isOf('number') ? numberSql(column(path)) : column(path);
}

/**
 * An object that is kept as JSON, without members that the contract does not list. It rarely has such, and to look is
 * much faster than to put it together.
 */
function membersOf({ properties = {} }: Shape, path: string[]): string {
  const names = Object.keys(properties);
  const value = `CASE WHEN type IN ('object', 'array') THEN json(value) WHEN type IN ('true', 'false') THEN json(type) ELSE value END`;
  const listed = `SELECT json_group_object(key, ${value}) FROM json_each(${column(path)}) WHERE key IN (${names.map((name) => `'${name}'`).join()})`;
  const others = `json_remove(${[column(path), ...names.map((name) => `'$."${name}"'`)].join(', ')})`;
  return `CASE WHEN ${others} = '{}' THEN json(${column(path)}) WHEN ${column(path)} IS NOT NULL THEN json((${listed})) END`;
}

const column = (path: readonly string[]) => `row."${path.join('_')}"`;

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
