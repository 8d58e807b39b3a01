/** A value of the mirror as Postgres is sent it, and as it is told there when both sides are compared. */

import { createHash } from 'node:crypto';

/** The types of columns over there. */
export type ColumnType =
  | 'text'
  | 'boolean'
  | 'bigint'
  | 'double precision'
  | 'numeric'
  | 'json'
  | 'timestamp with time zone';

/** Whole numbers come as bigint, so that none loses digits. */
export type Given = string | number | bigint | null | Buffer;

/** What is sent, and what it is told as in a comparison; null also where the value does not fit the type. */
export type Sent = { text: string; told: string } | null;

export function sent(value: Given, type: ColumnType): Sent {
  if (value === null || Buffer.isBuffer(value)) return null;
  switch (type) {
    case 'text':
      return alike(withoutNul(String(value)));
    case 'json':
      return typeof value === 'string' ? alike(plainJson(value)) : alike(String(value));
    case 'boolean':
      return value === 0n || value === 1n ? alike(value === 1n ? 'true' : 'false') : null;
    case 'bigint':
      return typeof value === 'bigint' ? alike(String(value)) : null;
    case 'numeric':
      return sentNumeric(String(value));
    case 'double precision':
      return typeof value === 'string' ? null : sentDouble(Number(value));
    case 'timestamp with time zone':
      return typeof value === 'string' ? sentTime(value) : null;
  }
}

/** SQL that tells a column in the words of `Sent.told`. */
export function toldAs(column: string, type: ColumnType): string {
  if (type === 'double precision') return `encode(float8send(${column}), 'hex')`;
  if (type === 'timestamp with time zone') return `(extract(epoch FROM ${column}) * 1000000)::bigint::text`;
  return type === 'text' ? column : `${column}::text`;
}

const alike = (text: string): Sent => ({ text, told: text });

const UNSENDABLE = '\uFFFD';

/** Postgres holds no NUL in text. */
const withoutNul = (text: string) => (text.includes('\0') ? text.replaceAll('\0', UNSENDABLE) : text);

/** Keys that differ in what cannot be sent stay different. */
export function sentKey(key: string): string {
  if (!key.includes('\0')) return key;
  return `${withoutNul(key)}#${createHash('sha256').update(key).digest('hex').slice(0, 16)}`;
}

/** JSON whose every text Postgres can take out: an escaped NUL or half of a pair would fail whoever reads the column. */
export function plainJson(json: string): string {
  if (!/\\u(0000|[dD][89a-fA-F])/.test(json)) return withoutNul(json);
  return json.replace(
    /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u(?<code>[0-9a-fA-F]{4})|\\[^u]/g,
    (found, code?: string) => (code && /^(0000|[dD][89a-fA-F]..)$/.test(code) ? UNSENDABLE : found),
  );
}

function sentDouble(value: number): Sent {
  // Nobody can tell the two zeros apart, but their bits differ.
  const number = value === 0 ? 0 : value;
  const bits = Buffer.allocUnsafe(8);
  bits.writeDoubleBE(number);
  return Number.isFinite(number) ? { text: String(number), told: bits.toString('hex') } : null;
}

const MOST_DIGITS = 1_000;

/** A number as JSON writes it, without an exponent: the form in which Postgres gives it back. */
function sentNumeric(text: string): Sent {
  const {
    sign = '',
    whole = '',
    part = '',
    power = '0',
  } = /^(?<sign>-?)(?<whole>\d+)(?:\.(?<part>\d+))?(?:[eE](?<power>[+-]?\d+))?$/.exec(text)?.groups ?? {};
  const shift = Number(power);
  if (whole === '' || whole.length + part.length + Math.abs(shift) > MOST_DIGITS) return null;
  const digits = `${whole}${part}`;
  const point = whole.length + shift;
  const before =
    digits
      .slice(0, Math.max(0, point))
      .padEnd(Math.max(0, point), '0')
      .replace(/^0+(?=\d)/, '') || '0';
  const after =
    point >= digits.length ? '' : digits.slice(Math.max(0, point)).padStart(digits.length - point, '0');
  const number = after ? `${before}.${after}` : before;
  return alike(/[1-9]/.test(number) ? `${sign}${number}` : number);
}

const TIME =
  /^(?<day>\d{4}-\d\d-\d\d)[Tt ](?<time>[01]\d:[0-5]\d:[0-5]\d|2[0-3]:[0-5]\d:[0-5]\d)(?:\.(?<part>\d+))?(?:[Zz]|(?<sign>[+-])(?<hours>[01]\d|2[0-3]):(?<minutes>[0-5]\d))$/;

/** An RFC 3339 time to the microsecond; what follows is cut. A second of 60 is none that Postgres has. */
function sentTime(text: string): Sent {
  const { day = '', time, part = '', sign, hours = '0', minutes = '0' } = TIME.exec(text)?.groups ?? {};
  const noon = Date.parse(`${day}T${time}Z`);
  // The calendar goes on after the 30th of February.
  if (Number.isNaN(noon) || !new Date(noon).toISOString().startsWith(day)) return null;
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
  const at = noon - offset;
  if (at < FIRST_TIME) return null;
  const micros = part.slice(0, 6).padEnd(6, '0');
  const told = BigInt(at) * 1_000n + BigInt(micros);
  return { text: `${new Date(at).toISOString().slice(0, 19)}.${micros}Z`, told: String(told) };
}

/** Postgres knows no year 0. */
const FIRST_TIME = Date.parse('0001-01-01T00:00:00Z');

/** Whether a column of such values is worth one of times beside it. */
export const isTime = (text: string) => sentTime(text) !== null;

/** The line of COPY for a row. */
export function copyLine(values: readonly Sent[]): string {
  return `${values.map((value) => (value === null ? '\\N' : escaped(value.text))).join('\t')}\n`;
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

const escaped = (text: string) =>
  /[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, (letter) => escapes[letter] ?? letter) : text;

/** The digest of a row: the first 60 bits of md5 over all that is told of it. `digestSql` says the same in SQL. */
export function digestOf(values: readonly Sent[]): bigint {
  const hash = createHash('md5');
  for (const value of values)
    hash.update(value === null ? '~' : `${Buffer.byteLength(value.told)}:${value.told}`);
  return BigInt(`0x${hash.digest('hex').slice(0, 15)}`);
}

/** @param told SQL of each column, as `toldAs` gives it. */
export function digestSql(told: readonly string[]): string {
  const all = told.map((sql) => `coalesce(octet_length(${sql}) || ':' || ${sql}, '~')`).join(' || ');
  return `('x' || left(md5(${all}), 15))::bit(60)::bigint`;
}

/** The range that a row belongs to, by its key: the first two digits of md5. `rangeSql` says the same in SQL. */
export const rangeOf = (key: string) => createHash('md5').update(key).digest('hex').slice(0, 2);

export const rangeSql = (key: string) => `left(md5(${key}), 2)`;
