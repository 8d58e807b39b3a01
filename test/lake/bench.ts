/** A mirror, a lake that follows it, and DuckDB, which reads that and knows nothing of how files come there. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from 'vitest';
import type { ModelOptions } from '../../model-api/index.ts';
import { Database } from '../../src/store/db/sqlite.ts';
import { setupSync } from '../helpers/sync-bench.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';

export const tables = ['ai_signals', 'news', 'smart_wallets', 'meme_signals', 'usage'];

export async function setup(options: ModelOptions = { rows: 12 }, clock = virtualClock()) {
  const bench = await setupSync(options, clock);
  const there = join(bench.cwd, 'lake');
  const lake = (...args: string[]) => bench.run(['lake', ...args], { MIRROR_LAKE: there });
  return { ...bench, there, lake };
}

type Row = Record<string, unknown>;

export async function duckdb<Found extends Row>(sql: string): Promise<Found[]> {
  return await withDuckdb((ask) => ask<Found>(sql));
}

type Ask = <Found extends Row>(sql: string) => Promise<Found[]>;

async function withDuckdb<T>(work: (ask: Ask) => Promise<T>): Promise<T> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(`SET TimeZone = 'UTC'`);
    return await work(
      async <Found extends Row>(sql: string) =>
        (await connection.runAndReadAll(sql)).getRowObjectsJS() as Found[],
    );
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

const filesOf = (there: string, table: string) =>
  `read_parquet('${there}/${table}/changes/*/*/*.parquet', hive_partitioning = true, union_by_name = true)`;

/** The changes of the last course, in DuckDB's SQL. */
export const changesIn = (there: string, table: string) =>
  `(SELECT * FROM ${filesOf(there, table)} QUALIFY course = max(course) OVER ())`;

/** The dataset as it stands by its changes. */
export const presentIn = (there: string, table: string) =>
  `(SELECT * FROM ${changesIn(there, table)}
    QUALIFY row_number() OVER (PARTITION BY _key ORDER BY _seq DESC) = 1 AND _change <> 'delete')`;

const volatile = ['quality_age_seconds', 'quality_freshness'];

/** Every change once, and every version with every value: as the mirror has it, up to the last change that is there. */
export async function expectEqual(file: string, there: string): Promise<void> {
  expect(await differencesThere(file, there)).toEqual([]);
}

/** The same as a list of what differs, in a line each. */
export async function differencesThere(file: string, there: string): Promise<string[]> {
  const mirror = new Database(file, { readonly: true });
  try {
    return await withDuckdb(async (ask) => {
      const found: string[] = [];
      for (const table of tables) found.push(...(await compareTable(mirror, there, table, ask)));
      return found;
    });
  } finally {
    mirror.close();
  }
}

async function compareTable(
  mirror: InstanceType<typeof Database>,
  there: string,
  table: string,
  ask: Ask,
): Promise<string[]> {
  const changes = mirror
    .prepare<[string], Row>('SELECT seq, key, change FROM changes WHERE "table" = ?')
    .all(table)
    .map((row) => JSON.stringify(row));
  if (changes.length === 0 && !existsSync(join(there, table, 'changes'))) return [];
  const laid = await ask(`SELECT * EXCLUDE (course, date) FROM ${changesIn(there, table)}`);
  const named = laid.map(({ _seq, _key, _change }) =>
    JSON.stringify({ seq: Number(_seq), key: _key, change: _change }),
  );
  const begun = laid.filter(({ _change }) => _change !== 'delete');
  const byVersion = new Map(begun.map((row) => [`${row['_key']} ${row['_seq']}`, row]));
  const history = table === 'usage' ? [] : versions(mirror, `${table}_history`, '_valid_from');
  const here = [...versions(mirror, table, '_changed_at'), ...history];
  const present = await ask<{ _key: string }>(`SELECT _key FROM ${presentIn(there, table)}`);
  const keys = mirror.prepare<[], string>(`SELECT _key FROM "${table}"`).pluck().all();
  return [
    ...unequal(`changes of ${table}`, named, changes),
    ...here.flatMap(({ version, ...row }) => {
      const found = like(byVersion.get(`${row['_key']} ${version}`) ?? {}, row);
      return unequal(`values of ${table}`, [JSON.stringify(found)], [JSON.stringify(row)]);
    }),
    ...unequal(
      `rows of ${table}`,
      present.map(({ _key }) => _key),
      keys,
    ),
  ];
}

/** As bags: what comes twice counts twice. */
function unequal(what: string, found: readonly string[], wanted: readonly string[]): string[] {
  const [there, here] = [[...found].sort(), [...wanted].sort()];
  if (there.length === here.length && there.every((text, at) => text === here[at])) return [];
  const lost = here.filter((text) => !there.includes(text)).slice(0, 3);
  const invented = there.filter((text) => !here.includes(text)).slice(0, 3);
  return [`${what}: ${there.length} instead of ${here.length}; lacking ${lost}; too many ${invented}`];
}

function versions(mirror: InstanceType<typeof Database>, table: string, from: string): Row[] {
  const rows = mirror.prepare<[], Row>(`SELECT * FROM "${table}"`).all();
  return rows.map((row) => {
    const { _valid_from, _valid_to, _ended_by, ...own } = row;
    for (const name of volatile) delete own[name];
    return { ...own, version: Date.parse(String(row[from])) };
  });
}

/** The same row in the words of SQLite: its columns, and its types. */
function like(found: Row, row: Row): Row {
  return Object.fromEntries(
    Object.keys(row).map((name) => {
      const there = found[name];
      if (there instanceof Date) return [name, there.toISOString()];
      if (typeof there === 'bigint') return [name, Number(there)];
      return [name, there ?? null];
    }),
  );
}
