/** A mirror, a lake that follows it, and DuckDB, which reads that and knows nothing of how files come there. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect } from 'vitest';
import type { ModelOptions } from '../../model-api/index.ts';
import { Database } from '../../src/store/db/sqlite.ts';
import { setupSync } from '../helpers/sync-bench.ts';

export const tables = ['ai_signals', 'news', 'smart_wallets', 'meme_signals', 'usage'];

export async function setup(options: ModelOptions = { rows: 40 }) {
  const bench = await setupSync(options);
  const there = join(bench.cwd, 'lake');
  const lake = (...args: string[]) => bench.run(['lake', ...args], { MIRROR_LAKE: there });
  return { ...bench, there, lake };
}

type Row = Record<string, unknown>;

export async function duckdb<Found extends Row>(sql: string): Promise<Found[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(`SET TimeZone = 'UTC'`);
    return (await connection.runAndReadAll(sql)).getRowObjectsJS() as Found[];
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
  const mirror = new Database(file, { readonly: true });
  try {
    for (const table of tables) {
      const changes = mirror
        .prepare<[string], Row>(
          'SELECT seq, key, change FROM changes WHERE "table" = ? ORDER BY seq, key, change',
        )
        .all(table);
      if (changes.length === 0 && !existsSync(join(there, table))) continue;
      const laid = await duckdb(
        `SELECT _seq AS seq, _key AS key, _change AS change FROM ${changesIn(there, table)} ORDER BY seq, key, change`,
      );
      expect(laid.map(plain), table).toEqual(changes);
      const history = table === 'usage' ? [] : versions(mirror, `${table}_history`, '_valid_from');
      const here = [...versions(mirror, table, '_changed_at'), ...history];
      const found = await duckdb(
        `SELECT * EXCLUDE (_seq, _change, course, date), _seq AS version FROM ${changesIn(there, table)} WHERE _change <> 'delete'`,
      );
      const byVersion = new Map(found.map((row) => [nameOf(row), row]));
      expect(byVersion.size, table).toBe(here.length);
      for (const row of here) expect(like(byVersion.get(nameOf(row)) ?? {}, row), table).toEqual(row);
      const present = await duckdb(`SELECT _key FROM ${presentIn(there, table)} ORDER BY _key`);
      const keys = mirror.prepare<[], Row>(`SELECT _key FROM "${table}" ORDER BY _key`).all();
      expect(present, table).toEqual(keys);
    }
  } finally {
    mirror.close();
  }
}

const nameOf = ({ _key, version }: Row) => `${_key} ${version}`;

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

const plain = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]),
  );
