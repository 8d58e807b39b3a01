/**
 * `bare-loop.js <dataset> <url> <folder> [<calls in flight>]`: the least that a mirror must do: fetch, JSON.parse, a prepared upsert of every
 * row, one transaction a page. No validation, no checkpoint, no record of calls.
 */

import Database from 'better-sqlite3';
import { Pool } from 'undici';

type Page = { rows: Row[]; pagination: { returned: number; total: number } };
type Row = Record<string, string | number | null> & {
  validator: Record<string, unknown>;
  quality: Record<string, unknown>;
  dualAi: Record<string, unknown> | null;
};
type Dataset = { path: string; table: string; columns: string[]; valuesOf(row: Row): unknown[] };

const datasets: Record<string, Dataset> = {
  'ai-signals': {
    path: '/api/v1/ai-signals',
    table: 'ai_signals',
    columns: [
      ...['id', 'timestamp', 'asset', 'action', 'confidence', 'risk_reward', 'entry_price', 'tp_price'],
      ...['sl_price', 'rationale', 'status', 'validator_allowed', 'validator_score'],
      ...['validator_reason_codes', 'validator_final_action', 'quality_publishable', 'quality_grade'],
      ...['quality_age_seconds', 'quality_freshness', 'quality_checks', 'asset_class', 'screener_score'],
      ...['regime', 'dual_ai_analyst', 'dual_ai_arbiter', 'dual_ai_verdict', 'dual_ai_confidence', 'dual_ai'],
    ],
    valuesOf: ({ validator, quality, dualAi, ...row }) => [
      ...[row['id'], row['timestamp'], row['asset'], row['action'], row['confidence'], row['riskReward']],
      ...[row['entryPrice'], row['tpPrice'], row['slPrice'], row['rationale'], row['status']],
      ...[asNumber(validator['allowed']), validator['score'], JSON.stringify(validator['reasonCodes'])],
      ...[validator['finalAction'], asNumber(quality['publishable']), quality['grade']],
      ...[quality['ageSeconds'], quality['freshness'], JSON.stringify(quality['checks'])],
      ...[row['assetClass'], row['screenerScore'], row['regime'], dualAi?.['analyst'], dualAi?.['arbiter']],
      ...[dualAi?.['verdict'], dualAi?.['confidence'], dualAi && JSON.stringify(dualAi)],
    ],
  },
  news: {
    path: '/api/v1/news',
    table: 'news',
    columns: ['id', 'body'],
    valuesOf: (row) => [row['id'], JSON.stringify(row)],
  },
};

const [name = '', url = '', folder = '', inFlight = '1'] = process.argv.slice(2);
const { path, table, columns, valuesOf } = datasets[name] as Dataset;

const db = new Database(`${folder}/bare-loop.db`);
db.pragma('journal_mode = wal');
db.pragma('synchronous = full');
const [key, ...others] = columns;
db.exec(`CREATE TABLE IF NOT EXISTS ${table} (${key} TEXT PRIMARY KEY, ${others})`);
const upsert = db.prepare(
  `INSERT INTO ${table} VALUES (${columns.map(() => '?')})
   ON CONFLICT DO UPDATE SET ${others.map((other) => `${other} = excluded.${other}`)}
   WHERE (${others.map((other) => `${table}.${other}`)}) IS NOT (${others.map((other) => `excluded.${other}`)})`,
);
const save = db.transaction((rows: Row[]) => {
  for (const row of rows) upsert.run(valuesOf(row));
});
const pool = new Pool(url);

async function read(offset: number): Promise<Page> {
  const { body } = await pool.request({ path: `${path}?offset=${offset}&limit=100`, method: 'GET' });
  return JSON.parse(await body.text()) as Page;
}

let rows = 0;
let asked = 0;
const underWay: Promise<Page>[] = [];
for (let total = Number.POSITIVE_INFINITY; rows < total; ) {
  // The first page says how many there are.
  while (underWay.length < (rows === 0 ? 1 : Number(inFlight)) && asked < total) {
    underWay.push(read(asked));
    asked += 100;
  }
  const page = (await underWay.shift()) as Page;
  save.immediate(page.rows);
  rows += page.pagination.returned;
  total = page.pagination.total;
}
await pool.close();
db.close();
process.stdout.write(JSON.stringify({ rows }));

function asNumber(value: unknown): number | null {
  return value === null ? null : Number(value);
}
