import { expect, test } from 'vitest';
import type { ColumnType } from '../../../src/reading/columns.ts';
import { failureOf } from '../../../src/sinks/postgres/client.ts';
import {
  digestOf,
  digestSql,
  digestTextSql,
  type StoredValue,
  sent,
} from '../../../src/sinks/postgres/values.ts';
import { postgres } from '../../helpers/postgres.ts';

/** What the mirror holds, the type of the column, and what a reader of Postgres finds in it as text. */
const cases: readonly [StoredValue, ColumnType, string | null][] = [
  ['plain', 'text', 'plain'],
  ['', 'text', ''],
  ['\\N', 'text', '\\N'],
  ['tab\tline\nreturn\r back\\slash', 'text', 'tab\tline\nreturn\r back\\slash'],
  ['NUL\0 within', 'text', 'NUL\uFFFD within'],
  ['😀 é', 'text', '😀 é'],
  [12n, 'text', '12'],
  [null, 'text', null],
  [1n, 'boolean', 'true'],
  [0n, 'boolean', 'false'],
  [2n, 'boolean', null],
  [9223372036854775807n, 'bigint', '9223372036854775807'],
  [64000, 'bigint', '64000'],
  [-0, 'bigint', '0'],
  [0.5, 'bigint', null],
  ['123456789012345678901234567890', 'numeric', '123456789012345678901234567890'],
  ['-12.50', 'numeric', '-12.50'],
  ['1.5e3', 'numeric', '1500'],
  ['1.25E-7', 'numeric', '0.000000125'],
  ['-0', 'numeric', '0'],
  ['-0.0', 'numeric', '0.0'],
  ['1e400000', 'numeric', null],
  ['-1e-2000', 'numeric', '0'],
  [`1.${'5'.repeat(1_000)}`, 'numeric', '1.5555555555555556'],
  ['soon', 'numeric', null],
  ['', 'numeric', null],
  ['0x10', 'numeric', null],
  [0.1, 'double precision', '0.1'],
  [-0, 'double precision', '0'],
  [5n, 'double precision', '5'],
  [1.7976931348623157e308, 'double precision', '1.7976931348623157e+308'],
  [5e-324, 'double precision', '5e-324'],
  ['text', 'double precision', null],
  ['{"b":1,"a":[1,2],"b2":1.0}', 'json', '{"b":1,"a":[1,2],"b2":1.0}'],
  [
    '{"a":"\\u0000 \\\\u0000 \\ud83d\\ude00 \\ud800"}',
    'json',
    '{"a":"\uFFFD \\\\u0000 \\ud83d\\ude00 \uFFFD"}',
  ],
  ['2026-11-22T01:02:03.004Z', 'timestamp with time zone', '2026-11-22 01:02:03.004+00'],
  ['2026-11-22t01:02:03.123456789z', 'timestamp with time zone', '2026-11-22 01:02:03.123456+00'],
  ['2026-11-22T01:02:03+23:59', 'timestamp with time zone', '2026-11-21 01:03:03+00'],
  ['1969-12-31T23:59:59.999999Z', 'timestamp with time zone', '1969-12-31 23:59:59.999999+00'],
  ['0001-01-01T00:30:00+01:00', 'timestamp with time zone', null],
  ['2024-02-29T00:00:00Z', 'timestamp with time zone', '2024-02-29 00:00:00+00'],
  ['2026-02-30T00:00:00Z', 'timestamp with time zone', null],
  ['2026-11-31T00:00:00+01:00', 'timestamp with time zone', null],
  ['2026-06-30T23:59:60Z', 'timestamp with time zone', null],
  ['0000-01-01T00:00:00Z', 'timestamp with time zone', null],
  ['yesterday', 'timestamp with time zone', null],
];

test('every kind of value arrives as it is told, and both sides tell the same digest of it', async () => {
  const { query } = await postgres();
  for (const [held, type, found] of cases) {
    const value = sent(held, type);
    const [row] = await query<{ text: string | null; digest: string }>(
      `SELECT value::text AS text, ${digestSql([digestTextSql('value', type)])}::text AS digest
       FROM (SELECT $1::text::${type} AS value) AS one`,
      [value],
    );
    expect.soft(row?.text, `${JSON.stringify(String(held))} as ${type}`).toBe(found);
    expect
      .soft(row?.digest, `${JSON.stringify(String(held))} as ${type}`)
      .toBe(String(digestOf([value], [type])));
  }
});

test('the digest of a row tells where one column ends and the next begins', () => {
  const row = (...texts: (string | null)[]) =>
    digestOf(
      texts,
      texts.map(() => 'text'),
    );
  expect(row('ab', 'c')).not.toBe(row('a', 'bc'));
  expect(row(null)).not.toBe(row('~'));
});

test.each([
  [{ code: 'EPERM', syscall: 'connect' }, /^Postgres cannot be reached \(EPERM\)$/],
  [{ code: '99999' }, /^Postgres refuses a statement \(99999\)$/],
])('an error of the system is none of a statement: %j', (error, message) => {
  expect(failureOf(Object.assign(new Error('said so'), error), 'Postgres')).toMatchObject({
    message: expect.stringMatching(message),
  });
});
