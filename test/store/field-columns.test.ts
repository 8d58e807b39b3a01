import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadJobs } from '../../src/job/load.ts';
import type { Job } from '../../src/job.ts';
import { createDriftLog } from '../../src/store/drift.ts';
import { columnName, jsonPath, pathAround, watchFields } from '../../src/store/fields.ts';
import { openTable } from '../../src/store/rows.ts';
import { Database } from '../../src/store/sqlite.ts';
import type { SeenField } from '../../src/validate/checked.ts';
import { anyText } from '../helpers/naughty.ts';
import { bytesWritten, openTables, setupRows } from './support.ts';

const strange = [
  ...['a"b', "it's", 'a\\b', 'a\\"b', 'a.b', 'a[0]', '[0]', '$', '#-1', '', ' ', 'a\0b', '\n', '"', '."x"'],
  ...['é', '😀', '__proto__'],
];

it('SQLite finds the value of a field of any name, on the way of any names', () => {
  const extract = new Database(':memory:').prepare('SELECT json_extract(?, ?)').pluck();
  const name = fc.oneof(fc.string(), anyText, fc.constantFrom(...strange));
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), (path) => {
      const row = path.reduceRight<unknown>(
        (value, name) =>
          Object.fromEntries([
            ['x', 0],
            [name, value],
          ]),
        7,
      );
      expect(extract.get(JSON.stringify(row), jsonPath(path))).toBe(7);
      expect(pathAround(jsonPath(path))).toBe(jsonPath(path.slice(0, -1)));
    }),
    { numRuns: 100 },
  );
});

const name = (path: string[], ...taken: string[]) => columnName(path, new Set(taken));

it.each([
  [['priceUsd'], 'price_usd'],
  [['pnl', 'realizedUsd'], 'pnl_realized_usd'],
  [['HTMLParser', 'userID'], 'html_parser_user_id'],
  [['market cap (USD)'], 'market_cap_usd'],
  [['a.b', 'c-d'], 'a_b_c_d'],
  [['größeÄnderung'], 'größe_änderung'],
])('%j is named %s', (path, expected) => {
  expect(name(path)).toBe(expected);
});

it.each<[string, string[], string, string[]?]>([
  ['never begins with an underscore, as the columns of the mirror itself do', ['_key'], 'key'],
  ['is a name where nothing of the field’s own can be one', [''], 'field'],
  ['is a name where nothing of the field’s own can be one', ['😀'], 'field_2', ['field']],
  ['begins with no digit', ['24hVolume'], 'field_24h_volume'],
  ['is no word of SQL', ['order'], 'order_'],
  ['hides not truth', ['true'], 'true_'],
  ['may hold a word of SQL', ['order', 'by'], 'order_by'],
  ['is not taken twice', ['a', 'b'], 'a_b_2', ['a_b']],
  ['is not taken twice', ['order'], 'order_2', ['order_']],
  ['is of a length that people read', ['x'.repeat(1_000_000)], 'x'.repeat(60)],
])('%s', (_, path, expected, others = []) => {
  expect(name(path, ...others)).toBe(expected);
});

const jobs = await loadJobs();
const news = jobs.find(({ name }) => name === 'news') as Job;

describe('a new column', () => {
  it('writes nothing to the rows that are stored', () => {
    const connection = openTables(jobs);
    const table = openTable(connection, news, []);
    connection.transaction(() => {
      for (let at = 0; at < 2_000; at += 1) {
        const body = JSON.stringify({ id: at, text: 'x'.repeat(1_000), later: at });
        table.insert(String(at), { _body: body }, 1, 'now');
      }
    })();
    const seen: SeenField = { path: ['later'], types: ['integer'], values: 1, example: 1 };
    const written = bytesWritten(connection, () => {
      const watch = watchFields(connection, news, 1, createDriftLog(connection, 'news'));
      const origin = { job: 'news', walkId: 1, requestId: null, now: 'now' };
      connection.transaction(() => watch.note({ rows: 1, fields: [seen] }, origin))();
    });
    expect(connection.prepare('SELECT sum(later) FROM news').pluck().get()).toBe((2_000 * 1_999) / 2);
    // The views that follow the columns are written anew.
    expect(written).toBeLessThan(32 * 4_120);
  });

  it('is a page’s like its rows: where the page cannot be saved, there is none', async () => {
    const bench = await setupRows();
    bench.tamper(`CREATE TRIGGER fails BEFORE INSERT ON _news_rows BEGIN SELECT raise(ABORT, 'no'); END`);
    await expect(bench.mirrorRows('news', '{"id":"a"}')).rejects.toThrow('no');
    expect(bench.sql('SELECT * FROM fields')).toEqual([]);
    bench.tamper('DROP TRIGGER fails');
    await bench.mirrorRows('news', '{"id":"a"}');
    expect(bench.sql('SELECT id FROM news')).toEqual([{ id: 'a' }]);
  });

  it('leaves views and triggers of users as they are', async () => {
    const bench = await setupRows();
    await bench.mirrorRows('news', '{"id":"a"}');
    bench.tamper(`CREATE VIEW theirs AS SELECT id FROM news;
      CREATE TRIGGER theirs_too INSTEAD OF INSERT ON theirs BEGIN SELECT 1; END`);
    const others = () =>
      bench.sql(
        `SELECT type, sql FROM sqlite_master WHERE type IN ('view', 'trigger') AND name NOT LIKE 'news%' ORDER BY sql`,
      );
    const before = others();
    await bench.mirrorRows('news', '{"id":"a","title":"x"}');
    expect(others()).toEqual(before);
    expect(bench.sql('SELECT id FROM theirs')).toEqual([{ id: 'a' }]);
  });
});
