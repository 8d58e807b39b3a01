import { expect, it } from 'vitest';
import { sourcesOf } from '../../src/reading/query/sources.ts';
import { openReadOnly } from '../../src/store/connection.ts';
import { setup } from '../helpers/setup.ts';

const tables = { ai_signals: 'ai-signals', news: 'news' };
const signals = ['ai_signals', 'snapshot'];

it('knows which datasets a statement reads, through views, histories and indexes, and what is proven of them', async () => {
  const bench = await setup({ rows: 10 });
  await bench.mirror('ai-signals');
  const connection = openReadOnly(bench.store.file);
  const sourcesOfSql = (sql: string, params = {}) =>
    sourcesOf(connection, sql, params, tables, null).map(({ table, proof }) => [
      table,
      proof?.verdict ?? null,
    ]);
  expect(sourcesOfSql('SELECT * FROM ai_signals')).toEqual([signals]);
  expect(sourcesOfSql('SELECT count(*) FROM ai_signals WHERE _key > :k', { k: '' })).toEqual([signals]);
  expect(sourcesOfSql('SELECT * FROM ai_signals_history')).toEqual([signals]);
  expect(sourcesOfSql('SELECT * FROM ai_signal_reason_codes')).toEqual([signals]);
  expect(sourcesOfSql('SELECT (SELECT max(_key) FROM news), id FROM ai_signals')).toEqual([
    signals,
    ['news', null],
  ]);
  expect(sourcesOfSql("SELECT 'ai_signals' AS news FROM walks")).toEqual([]);
  connection.close();
});
