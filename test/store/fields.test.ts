import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { needs } from '../helpers/tools.ts';
import { setupRows } from './support.ts';

const fieldsOf = (bench: Bench, job = 'news') =>
  bench.sql('SELECT "column", path, types, nullable, example FROM fields WHERE job = ? ORDER BY rowid', job);

describe('a field that no specification names', () => {
  it('becomes a column that shows its value, whatever its type', async () => {
    const bench = await setupRows();
    await bench.mirrorRows(
      'news',
      '{"id":"a","priceUsd":1.5,"n":7,"big":9007199254740993,"yes":true,"no":false,"none":null,' +
        '"list":[1, {"x":"é"}],"source":{"name":"S","more":{"deep":{"deeper":{"x":1}}}}}',
    );
    const [row] = bench.sql('SELECT *, typeof(n) AS type_of_n, CAST(big AS TEXT) AS digits FROM news');
    expect(row).toMatchObject({
      ...{ id: 'a', price_usd: 1.5, n: 7, yes: 1, no: 0, none: null, list: '[1,{"x":"é"}]' },
      ...{ source_name: 'S', source_more: '{"deep":{"deeper":{"x":1}}}' },
      ...{ type_of_n: 'integer', digits: '9007199254740993' },
    });
    expect(row).not.toHaveProperty('source');
  });

  it('has the column in the history too', async () => {
    const bench = await setupRows();
    await bench.mirrorRows('news', '{"id":"a","title":"old"}');
    await bench.mirrorRows('news', '{"id":"a","title":"new","lang":"en"}');
    expect(bench.sql('SELECT id, title, lang FROM news_history')).toEqual([
      { id: 'a', title: 'old', lang: null },
    ]);
    expect(bench.sql('SELECT id, title, lang FROM news')).toEqual([{ id: 'a', title: 'new', lang: 'en' }]);
  });

  it('is described with its path, its types, whether it can be null, and an example', async () => {
    const bench = await setupRows();
    await bench.mirrorRows(
      'news',
      `{"id":"a","n":1,"big":1,"none":null,"text":"${'x'.repeat(1_000_000)}","o":{"x y":[true]}}`,
      '{"id":"b","n":1.5,"big":12345678901234567890,"none":null,"text":null,"o":{"x y":[]}}',
    );
    const cut = `"${'x'.repeat(99)}…`;
    expect(fieldsOf(bench)).toEqual([
      { column: 'id', path: '$.id', types: '["string"]', nullable: 0, example: '"a"' },
      { column: 'n', path: '$.n', types: '["integer","number"]', nullable: 0, example: '1' },
      { column: 'big', path: '$.big', types: '["integer","big-integer"]', nullable: 0, example: '1' },
      { column: 'none', path: '$.none', types: '[]', nullable: 1, example: null },
      { column: 'text', path: '$.text', types: '["string"]', nullable: 1, example: cut },
      { column: 'o_x_y', path: '$.o."x y"', types: '["array"]', nullable: 0, example: '[true]' },
    ]);
  });

  it('is written once a walk, however many pages show it', async () => {
    const bench = await setup({ rows: 250, walked: ['news'] });
    const [known] = bench.sql('SELECT count(*) AS count FROM fields');
    bench.tamper(
      `CREATE TABLE written (at); CREATE TRIGGER counts AFTER UPDATE ON fields BEGIN INSERT INTO written VALUES (1); END`,
    );
    expect((await bench.mirror('news')).pages).toBeGreaterThan(2);
    expect(bench.sql('SELECT count(*) AS count FROM written')).toEqual([known]);
  });
});

describe('names that readers of JSON read differently', () => {
  const told = `import json, sqlite3, sys
rows = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True).execute('SELECT _key, id, a_b, "ü" FROM news ORDER BY _key')
print(json.dumps(list(rows)))`;
  const columns = (bench: Bench) =>
    bench.sql('SELECT _key, id, a_b, "ü" FROM news ORDER BY _key').map((row) => Object.values(row));

  it('show every reader the same, spelled with escapes or without', async () => {
    needs('python3');
    const bench = await setupRows();
    await bench.mirrorRows(
      'news',
      '{"\\u0069d":"c","a\\/b":1,"\\u00FC":"\\u00fc"}',
      '{"id":"d","a/b":2,"ü":"ü"}',
    );
    expect(columns(bench)).toEqual([
      ['c', 'c', 1, 'ü'],
      ['d', 'd', 2, 'ü'],
    ]);
    const { stdout } = spawnSync('python3', ['-c', told, `${bench.dir}/mirror.db`], { encoding: 'utf8' });
    expect(JSON.parse(stdout)).toEqual(columns(bench));
  });

  it('are refused where one comes twice, and the row that is mirrored stays until they are mended', async () => {
    const bench = await setupRows();
    const [plain, repeated] = ['{"id":"b","a/b":1,"ü":1}', '{"id":"x","id":"b","a/b":1,"ü":1}'];
    await bench.mirrorRows('news', plain, '{"id":"c"}');
    for (let walk = 0; walk < 3; walk += 1) await bench.mirrorRows('news', repeated, '{"id":"c"}');
    expect(columns(bench)).toMatchObject([
      ['b', 'b', 1, 1],
      ['c', 'c', null, null],
    ]);
    expect(bench.sql('SELECT key, body, times, problems FROM quarantine')).toEqual([
      {
        key: 'b',
        body: repeated,
        times: 3,
        problems: expect.stringContaining('each name once in an object'),
      },
    ]);
    await bench.mirrorRows('news', plain, '{"id":"c"}');
    expect(columns(bench)[0]).toEqual(['b', 'b', 1, 1]);
    expect(bench.sql('SELECT count(*) AS open FROM quarantine WHERE resolved_at IS NULL')).toEqual([
      { open: 0 },
    ]);
  });
});

describe('too much of everything', () => {
  it('in one row: 300 of its fields become columns, the rest stays in _body, and that is said', async () => {
    const bench = await setupRows();
    const row = JSON.stringify({
      id: 'a',
      ...Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`f${at}`, at])),
    });
    const walk = await bench.mirrorRows('news', row);
    expect(walk).toMatchObject({ inserted: 1, drifted: 1 });
    expect(bench.sql('SELECT f298, _body FROM news')).toEqual([{ f298: 298, _body: row }]);
    expect(fieldsOf(bench)).toHaveLength(300);
    expect(bench.sql('SELECT kind, path, detail FROM drift')).toEqual([
      { kind: 'no-column', path: '$', detail: 'more than 300 fields' },
    ]);
    expect(await bench.mirrorRows('news', row)).toMatchObject({ inserted: 0, updated: 0 });
  });

  it('in an object used as a map: it stays one column', async () => {
    const bench = await setupRows();
    const rows = Array.from(
      { length: 60 },
      (_, at) => `{"id":${at},"held":{"t${2 * at}":{"n":1},"t${2 * at + 1}":{"n":2}}}`,
    );
    await bench.mirrorRows('news', ...rows);
    expect(fieldsOf(bench).map(({ column }) => column)).toEqual(['id', 'held']);
    expect(bench.sql('SELECT held FROM news WHERE id = 7')).toEqual([
      { held: '{"t14":{"n":1},"t15":{"n":2}}' },
    ]);
  });

  it('in a name as long as a book: it gets no column, and that is said', async () => {
    const bench = await setupRows();
    await bench.mirrorRows('news', `{"id":"a","${'x'.repeat(500_000)}":1}`);
    expect(fieldsOf(bench).map(({ column }) => column)).toEqual(['id']);
    expect(bench.sql('SELECT path, detail FROM drift')).toEqual([
      { path: '$', detail: 'a path of more than 500 characters' },
    ]);
  });

  it('in depth: a row nested a thousand levels deep is refused, and its neighbour lands', async () => {
    const bench = await setupRows();
    const deep = `{"id":"b","x":${'['.repeat(1_000)}${']'.repeat(1_000)}}`;
    expect(await bench.mirrorRows('news', '{"id":"a"}', deep)).toMatchObject({ inserted: 1, quarantined: 1 });
    expect(bench.sql('SELECT id FROM news')).toEqual([{ id: 'a' }]);
    expect(bench.sql('SELECT body FROM quarantine')).toEqual([{ body: deep }]);
  });
});
