/** A first load of everything, beside plain COPY of the very lines that it sends into the same tables. */

import { median } from '../../figures.ts';
import { atLeast, type Table, targetHeads } from '../serve/table.ts';
import { SCHEMA, type Shipping } from './shipping.ts';

const tables = ['ai_signals_rows', 'ai_signals_volatile', 'news'];

export async function measureFirstLoad(
  { server, query, ship, psql }: Shipping,
  runs: number,
): Promise<Table> {
  await ship();
  await query('CREATE SCHEMA plain');
  const file = (table: string) => `${server.folder}/${table}.copy`;
  for (const table of tables) {
    psql(`\\copy ${SCHEMA}.${table} TO '${file(table)}'`);
    await query(`CREATE TABLE plain.${table} (LIKE ${table} INCLUDING ALL)`);
  }
  const [{ rows = '0' } = {}] = await query<{ rows: string }>(
    'SELECT (SELECT count(*) FROM ai_signals) + (SELECT count(*) FROM news) AS rows',
  );
  const plain: number[] = [];
  const shipped: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    await query(`TRUNCATE ${tables.map((table) => `plain.${table}`).join(', ')}`);
    await query(`DROP SCHEMA ${SCHEMA} CASCADE`);
    await query('CHECKPOINT');
    plain.push(psql(...tables.map((table) => `\\copy plain.${table} FROM '${file(table)}'`)));
    await query('CHECKPOINT');
    shipped.push((await ship()).seconds);
  }
  await query('DROP SCHEMA plain CASCADE');
  const ratio = median(plain.map((seconds, run) => seconds / (shipped[run] ?? Number.NaN)));
  const perSecond = (seconds: readonly number[]) => (Number(rows) / median(seconds)).toFixed(0);
  return {
    about: `a first load of ${Number(rows).toLocaleString('en-US')} rows, beside psql with \\copy of the same lines, medians of ${runs} interleaved runs`,
    heads: ['', 's', 'rows/s', 'ratio', ...targetHeads],
    rows: [
      ['plain COPY', median(plain).toFixed(2), perSecond(plain), '', '', ''],
      [
        'ship',
        median(shipped).toFixed(2),
        perSecond(shipped),
        ratio.toFixed(2),
        ...atLeast(Number(ratio.toFixed(2)), 0.6),
      ],
    ],
  };
}
