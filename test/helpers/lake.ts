/** A lake as DuckDB reads it, which knows nothing of how files come there, beside the mirror that it follows. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { Database } from '../../src/store/sqlite.ts';

const tables = ['ai_signals', 'news', 'smart_wallets', 'meme_signals', 'usage'];

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

/** The changes of the last folder, in DuckDB's SQL. */
export const changesIn = (there: string, table: string) =>
  `(SELECT * FROM ${filesOf(there, table)} QUALIFY epoch = max(epoch) OVER ())`;

/** The dataset as it stands by its changes. */
export const presentIn = (there: string, table: string) =>
  `(SELECT * FROM ${changesIn(there, table)}
    QUALIFY row_number() OVER (PARTITION BY _key ORDER BY _seq DESC) = 1 AND _change <> 'delete')`;

const volatile = ['quality_age_seconds', 'quality_freshness'];

/**
 * Whether every change is there once, and every version with every value, as the mirror has it: what differs, in a line each.
 * @param growing a table to which rows are added meanwhile: it is compared up to the last change that is there.
 */
export async function differencesThere(file: string, there: string, growing?: string): Promise<string[]> {
  const mirror = new Database(file, { readonly: true });
  try {
    return await withDuckdb(async (ask) => {
      const found: string[] = [];
      for (const table of tables)
        found.push(...(await compareTable(mirror, there, table, table === growing, ask)));
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
  isGrowing: boolean,
  ask: Ask,
): Promise<string[]> {
  const all = mirror
    .prepare<[string], Row>('SELECT seq, key, change FROM changes WHERE "table" = ?')
    .all(table);
  if (all.length === 0 && !existsSync(join(there, table, 'changes'))) return [];
  const laid = await ask(`SELECT * EXCLUDE (epoch, date) FROM ${changesIn(there, table)}`);
  const last = isGrowing ? Math.max(...laid.map(({ _seq }) => Number(_seq))) : Number.POSITIVE_INFINITY;
  const changes = all.filter(({ seq }) => Number(seq) <= last).map((row) => JSON.stringify(row));
  const named = laid.map(({ _seq, _key, _change }) =>
    JSON.stringify({ seq: Number(_seq), key: _key, change: _change }),
  );
  const begun = laid.filter(({ _change }) => _change !== 'delete');
  const byVersion = new Map(begun.map((row) => [`${row['_key']} ${row['_seq']}`, row]));
  const history = table === 'usage' ? [] : versions(mirror, `${table}_history`, '_valid_from');
  const now = versions(mirror, table, '_changed_at').filter(({ version }) => version <= last);
  const present = await ask<{ _key: string }>(`SELECT _key FROM ${presentIn(there, table)}`);
  return [
    ...unequal(`changes of ${table}`, named, changes),
    ...[...now, ...history].flatMap(({ version, row }) => {
      const found = like(byVersion.get(`${row['_key']} ${version}`) ?? {}, row);
      return unequal(`values of ${table}`, [JSON.stringify(found)], [JSON.stringify(row)]);
    }),
    ...unequal(
      `rows of ${table}`,
      present.map(({ _key }) => _key),
      now.map(({ row }) => String(row['_key'])),
    ),
  ];
}

/** As bags: what comes twice counts twice. */
function unequal(what: string, found: readonly string[], wanted: readonly string[]): string[] {
  const [there, here] = [[...found].sort(), [...wanted].sort()];
  if (there.length === here.length && there.every((text, at) => text === here[at])) return [];
  const some = (of: readonly string[], others: readonly string[]) =>
    of.find((text) => !others.includes(text))?.slice(0, 300);
  return [
    `${what}: ${there.length} instead of ${here.length}; lacking ${some(here, there)}; too many ${some(there, here)}`,
  ];
}

type Version = { version: number; row: Row };

function versions(mirror: InstanceType<typeof Database>, table: string, from: string): Version[] {
  const rows = mirror.prepare<[], Row>(`SELECT * FROM "${table}"`).all();
  return rows.map((given) => {
    const { _valid_from, _valid_to, _ended_by, ...row } = given;
    for (const name of volatile) delete row[name];
    return { version: Date.parse(String(given[from])), row };
  });
}

/** The same row in the words of SQLite: its columns, and its types. Where a column has become text since, numbers are text. */
function like(found: Row, row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      const there = found[name] ?? null;
      if (there instanceof Date) return [name, there.toISOString()];
      if (typeof there === 'bigint' || typeof there === 'boolean') return [name, Number(there)];
      const isWidened = typeof there === 'string' && typeof value === 'number';
      return [name, isWidened ? Number(there) : there];
    }),
  );
}
