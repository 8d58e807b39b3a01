/** A mirror, a Postgres of its own that follows it, and a reader of both that knows nothing of how rows come there. */

import { expect } from 'vitest';
import { Database } from '../../src/store/db/sqlite.ts';
import { type Postgres, postgres } from '../helpers/postgres.ts';
import { setupSync } from '../helpers/sync-bench.ts';

export async function setup(rows = 40) {
  const [bench, there] = [await setupSync({ rows }), await postgres()];
  const ship = (...args: string[]) => bench.run(['ship', ...args], { MIRROR_SHIP: there.url });
  return { ...bench, there, ship };
}

/** Another state of the API: one row has gone, one has changed, and the snapshot is another one. */
export function edit(
  { model, clock }: Pick<Awaited<ReturnType<typeof setup>>, 'model' | 'clock'>,
  round: number,
): void {
  const { rows } = model.data.aiSignals;
  rows.splice(round % 5, 1);
  Object.assign(rows[6] ?? {}, { status: `round ${round}` });
  model.data.aiSignals.generatedAt = new Date(clock.now() + round).toISOString();
}

/** By an independent reader: every table of the datasets, value by value, as text. */
export async function expectEqual(file: string, { query }: Pick<Postgres, 'query'>): Promise<void> {
  const mirror = new Database(file, { readonly: true });
  try {
    for (const table of ['ai_signals', 'news', 'smart_wallets', 'meme_signals', 'usage'])
      for (const name of table === 'usage' ? [table] : [table, `${table}_history`]) {
        const order = name === table ? '_key' : '_key, _valid_from';
        const here = mirror
          .prepare<[], Record<string, unknown>>(`SELECT * FROM ${name} ORDER BY ${order}`)
          .all();
        const there = await query<Record<string, unknown>>(
          `SELECT * FROM ${name} ORDER BY ${name === table ? '_key' : '_key, _valid_from'}`,
        );
        expect(there.map(plain), name).toEqual(here.map((row, at) => like(row, there[at] ?? {})));
      }
    const walks = mirror.prepare('SELECT id, job, status, verdict, rows FROM walks ORDER BY id').all();
    const shipped = await query('SELECT id::int, job, status, verdict, rows::int FROM walks ORDER BY id');
    expect(shipped).toEqual(walks);
  } finally {
    mirror.close();
  }
}

/** Without the columns of times that stand beside the text received. */
function plain(row: Record<string, unknown>): Record<string, unknown> {
  const own = Object.entries(row).filter(([name]) => !name.endsWith('_utc'));
  return Object.fromEntries(own.map(([name, value]) => [name, comparable(value)]));
}

/** What SQLite holds, in the type that Postgres has for it. */
function like(row: Record<string, unknown>, there: Record<string, unknown>): Record<string, unknown> {
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
