import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { describe, expect, it, test } from 'vitest';
import type { Cell, Column } from '../../src/output/answer.ts';
import { inferTypes, microsOf, valueTypeOf } from '../../src/output/answer.ts';
import { parquetTypes, parquetWriter } from '../../src/output/parquet.ts';
import { prepareReading } from '../../src/reading/query/statement.ts';
import { Database } from '../../src/store/sqlite.ts';
import { temporaryFolder } from '../helpers/folder.ts';

/** What a query's answer is as a Parquet file. */
async function written(sql: string, batchRows = 1_000) {
  const connection = new Database(':memory:');
  const { statement } = prepareReading(connection, sql, {});
  const holds = inferTypes(statement.iterate({}), statement.columns().length);
  const columns = statement.columns().map(({ name, type }, at): Column => {
    return { name, type, holds: valueTypeOf(holds[at] ?? 'nothing') };
  });
  const rows = statement.all({}) as Cell[][];
  connection.close();

  const writer = parquetWriter(columns, { made: 'for a test' });
  const pieces: Uint8Array[] = [];
  for (let from = 0; from < rows.length; from += batchRows)
    pieces.push(writer.rows(rows.slice(from, from + batchRows)));
  pieces.push(writer.end());
  const folder = temporaryFolder();
  const path = join(folder, 'answer.parquet');
  writeFileSync(path, Buffer.concat(pieces));
  const file = await asyncBufferFromFile(path);
  return {
    types: parquetTypes(columns),
    rows: await parquetReadObjects({ file, utf8: false }),
    metadata: await parquetMetadataAsync(file),
  };
}

describe('a column', () => {
  it.each([
    ['VALUES (1), (-9223372036854775808), (NULL)', 'INT64', [1n, -9223372036854775808n, null]],
    ['VALUES (1.5), (2.0), (3)', 'DOUBLE', [1.5, 2, 3]],
    ["VALUES ('a'), (''), (NULL), ('漢字😀')", 'STRING', ['a', '', null, '漢字😀']],
    [
      "VALUES ('2026-03-01T00:00:00Z'), (NULL)",
      'TIMESTAMP(MICROS, UTC)',
      [new Date('2026-03-01T00:00:00Z'), null],
    ],
    ["VALUES (1), ('x'), (x'ff')", 'STRING', ['1', 'x', 'ff']],
    ['VALUES (9223372036854775807), (0.5)', 'STRING', ['9223372036854775807', '0.5']],
    ['VALUES (NULL)', 'STRING', [null]],
  ])('of %s is %s', async (sql, type, values) => {
    const { types, rows } = await written(`SELECT column1 AS v FROM (${sql})`);
    expect(types).toEqual([type]);
    expect(rows.map(({ v }) => v ?? null)).toEqual(values);
  });

  it('of bytes keeps them', async () => {
    const { types, rows } = await written("SELECT x'00ff' AS v");
    expect({ types, rows }).toEqual({ types: ['BYTE_ARRAY'], rows: [{ v: new Uint8Array([0, 255]) }] });
  });

  it("of the mirror's own times is a timestamp, even without any", async () => {
    const { types } = await written('SELECT NULL AS _changed_at, NULL AS _valid_to, NULL AS timestamp');
    expect(types).toEqual(['TIMESTAMP(MICROS, UTC)', 'TIMESTAMP(MICROS, UTC)', 'STRING']);
  });
});

it.each([
  ['integer', 'x'],
  ['integer', 2 ** 60],
  ['timestamp', 'soon'],
] as const)('a column of %s that has %s when it is read again is refused, and named', (holds, value) => {
  const writer = parquetWriter([{ name: 'v', type: null, holds }], {});
  expect(() => writer.rows([[value]])).toThrow(
    /^v has values of other types each time it is asked for: .*CAST/,
  );
});

it('a file without rows has its columns', async () => {
  const { rows, metadata } = await written('SELECT 1 AS a, 2 AS a WHERE false');
  expect(rows).toEqual([]);
  expect(metadata.schema.map(({ name }) => name)).toEqual(['root', 'a', 'a:1']);
});

it('a file of many rows has several row groups, and says what it was made of', async () => {
  const sql = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 60000) SELECT i FROM n';
  const { rows, metadata } = await written(sql, 7_000);
  expect(rows.map(({ i }) => i)).toEqual(Array.from({ length: 60_000 }, (_, at) => BigInt(at + 1)));
  expect(metadata.row_groups.length).toBeGreaterThan(1);
  expect(metadata.key_value_metadata).toContainEqual({
    key: 'market-mirror',
    value: '{"made":"for a test"}',
  });
});

test('a time counts microseconds, and what is none stays text', () => {
  const times = {
    '1970-01-01T00:00:00Z': 0n,
    '1969-12-31T23:59:59.999999Z': -1n,
    '2026-03-01T12:00:00.123456+02:00': 1_772_359_200_123_456n,
    '2026-03-01t12:00:00.5z': 1_772_366_400_500_000n,
    '0001-01-01T00:00:00Z': -62_135_596_800_000_000n,
    '2024-02-29T00:00:00-00:30': 1_709_166_600_000_000n,
  };
  const others = [
    ...['2026-03-01', '2026-03-01T12:00', '2026-03-01T12:00:00', '2026-03-01T12:00:00.1234567Z'],
    ...['2026-02-30T00:00:00Z', '2026-03-01T24:00:00Z', '2016-12-31T23:59:60Z', '2026-13-01T00:00:00Z'],
    ...['2026-03-01 12:00:00Z', '2026-03-01T12:00:00+0200', '2026-03-01T12:00:00+24:00'],
  ];
  for (const [text, micros] of Object.entries(times)) expect(microsOf(text), text).toBe(micros);
  for (const text of others) expect(microsOf(text), text).toBeUndefined();
});
