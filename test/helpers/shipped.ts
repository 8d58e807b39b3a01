/** Where Postgres is not what the mirror is, by a reader of both that knows nothing of how rows come there. */

import { isDeepStrictEqual } from 'node:util';
import { Database } from '../../src/store/sqlite.ts';

type Row = Record<string, unknown>;

/** Asks in the schema of the mirror. */
type Query = <Found extends object>(sql: string) => Promise<Found[]>;

const datasets = ['ai_signals', 'news', 'smart_wallets', 'meme_signals', 'usage'];
const histories = datasets.filter((table) => table !== 'usage').map((table) => `${table}_history`);

/** By table or history, the latest change that it holds. */
export type Moment = Readonly<Record<string, string>>;

const changedAt = (table: string) => (histories.includes(table) ? '_valid_to' : '_changed_at');

export function momentOf(file: string): Moment {
  const mirror = new Database(file, { readonly: true });
  try {
    const latest = (table: string) =>
      mirror
        .prepare<[], string | null>(`SELECT max(${changedAt(table)}) FROM ${table}`)
        .pluck()
        .get() ?? NEVER;
    return Object.fromEntries([...datasets, ...histories].map((table) => [table, latest(table)]));
  } finally {
    mirror.close();
  }
}

const NEVER = '0001-01-01T00:00:00.000Z';
const EVER = '9999-12-31T00:00:00.000Z';

/**
 * Every table and history of the datasets, value by value: a line for each row that differs.
 * @param until what came later is left out, where a mirror that goes on has more than was shipped.
 */
export async function differencesThere(file: string, query: Query, until: Moment = {}): Promise<string[]> {
  const mirror = new Database(file, { readonly: true });
  try {
    const found: string[] = [];
    for (const name of [...datasets, ...histories]) {
      const order = histories.includes(name) ? '_key, _valid_from' : '_key';
      const sql = `SELECT * FROM ${name} WHERE ${changedAt(name)} <= '${until[name] ?? EVER}' ORDER BY ${order}`;
      const here = mirror.prepare<[], Row>(sql).all();
      const there = await query<Row>(sql);
      if (here.length !== there.length) found.push(`${name}: ${here.length} rows, but ${there.length} there`);
      here.forEach((row, at) => {
        const other = there[at] ?? {};
        const [wanted, got] = [like(row, other), plain(other)];
        if (!isDeepStrictEqual(got, wanted))
          found.push(`${name}: ${JSON.stringify(wanted)} is ${JSON.stringify(got)} there`);
      });
    }
    return found;
  } finally {
    mirror.close();
  }
}

/** The same of what the mirror keeps about its walks. */
export async function walksThere(file: string, query: Query): Promise<{ here: Row[]; there: Row[] }> {
  const mirror = new Database(file, { readonly: true });
  try {
    const words = 'job, status, verdict';
    const numbers = ['id', 'rows', 'inserted', 'updated', 'deleted', 'first_seq', 'last_seq'];
    const here = mirror.prepare<[], Row>(`SELECT ${words}, ${numbers} FROM walks ORDER BY id`).all();
    const exact = numbers.map((name) => `${name}::double precision`);
    const there = await query<Row>(`SELECT ${words}, ${exact} FROM walks ORDER BY id`);
    return { here, there };
  } finally {
    mirror.close();
  }
}

/** Without the mirror's numbers of rows, and the columns of times that stand beside the text received. */
function plain(row: Row): Row {
  const own = Object.entries(row).filter(([name]) => !name.endsWith('_utc') && !/^_(number|row)$/.test(name));
  return Object.fromEntries(own.map(([name, value]) => [name, comparable(value)]));
}

/** What SQLite holds, in the type that Postgres has for it. */
function like(row: Row, there: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      const other = there[name];
      if (value === null) return [name, null];
      if (typeof other === 'boolean') return [name, value === 1];
      if (other !== null && typeof other === 'object' && !(other instanceof Date))
        return [name, JSON.parse(String(value))];
      return [name, comparable(other instanceof Date ? new Date(String(value)) : value)];
    }),
  );
}

function comparable(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'number' ? String(value) : value;
}
