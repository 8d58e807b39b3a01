/** A value of the mirror as it is sent to Postgres, and as a text by which both sides are compared. */

import { hash } from 'node:crypto';
import { type ColumnType, utcOf } from '../../reading/columns.ts';

/** Whole numbers come as bigint, so that none loses digits. */
export type StoredValue = string | number | bigint | null | Buffer;

/** The text of a value; null also where the value does not fit the type. */
export type SentText = string | null;

const forms: Readonly<Record<ColumnType, (value: NonNullable<StoredValue>) => SentText>> = {
  text: (value) => withoutNul(String(value)),
  json: (value) => (typeof value === 'string' ? plainJson(value) : String(value)),
  boolean: (value) => (value === 1n ? 'true' : value === 0n ? 'false' : null),
  bigint: (value) => (isWhole(value) ? String(value) : null),
  numeric: (value) => sentNumeric(String(value)),
  'double precision': (value) => (typeof value === 'string' ? null : sentDouble(Number(value))),
  'timestamp with time zone': (value) => (typeof value === 'string' ? utcOf(value) : null),
};

export const sent = (value: StoredValue, type: ColumnType): SentText =>
  value === null || Buffer.isBuffer(value) ? null : forms[type](value);

/** JSON may write a whole number as `100.0` or `1e3`: SQLite then has a double. */
const isWhole = (value: StoredValue) => typeof value === 'bigint' || Number.isSafeInteger(value);

/** The same for a column: rows that follow each other often have the same time, which is formed once. */
export function textMakerOf(type: ColumnType): (value: StoredValue) => SentText {
  if (type !== 'timestamp with time zone') return (value) => sent(value, type);
  let last: StoredValue = null;
  let was: SentText = null;
  return (value) => {
    if (value !== last) [last, was] = [value, sent(value, type)];
    return was;
  };
}

/** The text of a sent value in a comparison. `digestTextSql` gives the same in SQL. */
function digestText(text: string, type: ColumnType): string {
  if (type === 'double precision') {
    const bits = Buffer.allocUnsafe(8);
    // Nobody can tell the two zeros apart, but their bits differ.
    bits.writeDoubleBE(Number(text) || 0);
    return bits.toString('hex');
  }
  if (type !== 'timestamp with time zone') return text;
  // A Date has three digits of a second, this has six.
  return String(BigInt(Date.parse(`${text.slice(0, 19)}Z`)) * 1_000n + BigInt(text.slice(20, -1)));
}

/** SQL for the text of a column's value, as `digestText` gives it of what was sent. */
export function digestTextSql(column: string, type: ColumnType): string {
  if (type === 'double precision') return `encode(float8send(${column}), 'hex')`;
  if (type === 'timestamp with time zone') return `(extract(epoch FROM ${column}) * 1000000)::bigint::text`;
  return type === 'text' ? column : `${column}::text`;
}

const UNSENDABLE = '\uFFFD';

/** Postgres holds no NUL in text. */
const withoutNul = (text: string) => (text.includes('\0') ? text.replaceAll('\0', UNSENDABLE) : text);

/** JSON whose texts Postgres can extract: an escaped NUL or half of a surrogate pair would fail the reader of the column. */
function plainJson(json: string): string {
  if (!/\\u(0000|[dD][89a-fA-F])/.test(json)) return withoutNul(json);
  return json.replace(
    /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u(?<code>[0-9a-fA-F]{4})|\\[^u]/g,
    (found, code?: string) => (code && /^(0000|[dD][89a-fA-F]..)$/.test(code) ? UNSENDABLE : found),
  );
}

const sentDouble = (value: number): SentText => (Number.isFinite(value) ? String(value) : null);

const MAX_DIGITS = 1_000;

/**
 * A number as JSON writes it, without an exponent: the form in which Postgres gives it back. Of one with very many digits those of the
 * double that the mirror shows.
 */
function sentNumeric(text: string): SentText {
  const {
    sign = '',
    whole = '',
    part = '',
    power = '0',
  } = /^(?<sign>-?)(?<whole>\d+)(?:\.(?<part>\d+))?(?:[eE](?<power>[+-]?\d+))?$/.exec(text)?.groups ?? {};
  const shift = Number(power);
  if (whole === '') return null;
  if (whole.length + part.length + Math.abs(shift) > MAX_DIGITS) return sentNumeric(String(Number(text)));
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
  return /[1-9]/.test(number) ? `${sign}${number}` : number;
}

/** The text of a value as a field in the text form of COPY. */
export function copyField(text: SentText): string {
  if (text === null) return '\\N';
  // Most texts hold nothing that is to be escaped: one look at it is enough.
  return /[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, (letter) => escapes[letter] ?? letter) : text;
}

const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** The digest of a row: the first 60 bits of md5 over the texts of its values. `digestSql` gives the same in SQL. */
export function digestOf(values: readonly SentText[], types: readonly ColumnType[]): bigint {
  let all = '';
  values.forEach((value, at) => {
    const text = value === null ? null : digestText(value, types[at] ?? 'text');
    all += text === null ? '~' : `${Buffer.byteLength(text)}:${text}`;
  });
  return BigInt(`0x${hash('md5', all).slice(0, 15)}`);
}

/** @param texts SQL of each column, as `digestTextSql` gives it. */
export function digestSql(texts: readonly string[]): string {
  const all = texts.map((sql) => `coalesce(octet_length(${sql}) || ':' || ${sql}, '~')`).join(' || ');
  return `('x' || left(md5(${all}), 15))::bit(60)::bigint`;
}
