/**
 * The grammar of a question: PostgREST's read syntax as plain data. Nothing here knows a dataset: `sql.ts` decides whether a
 * column exists, and what it can be compared with.
 */

import { isoTime } from '../../../base/clock.ts';
import { parsePastTime } from '../../../base/time.ts';
import { badParameter, QueryError } from './errors.ts';

/** What is asked of a dataset. */
export type ReadRequest = {
  /** Null for all columns. */
  readonly select: readonly SelectItem[] | null;
  /** Joined by AND. */
  readonly filters: readonly Filter[];
  readonly order: readonly OrderTerm[];
  /** Null where the question gives none. */
  readonly limit: number | null;
  readonly offset: number;
  /** The point in time; null for the present. */
  readonly at: PointInTime | null;
};

export type PointInTime = { readonly seq: number } | { readonly time: string };

/** `column->a->0->>b`. */
export type Field = {
  readonly column: string;
  /** Names of members and numbers of items; empty for the column itself. */
  readonly path: readonly (string | number)[];
  /** Whether its last arrow is `->>`: the value as text. */
  readonly isText: boolean;
};

export type SelectItem = '*' | { readonly alias: string | null; readonly field: Field };

export type Filter = Condition | Tree;

type Tree = {
  readonly join: 'and' | 'or';
  readonly isNegated: boolean;
  readonly members: readonly Filter[];
};

export type Condition = { readonly field: Field; readonly isNegated: boolean } & Comparison;

type Comparison =
  | { readonly operator: Operator; readonly value: string }
  /** `cs`: a list that holds all of them. */
  | { readonly operator: 'in' | 'cs'; readonly values: readonly string[] }
  | { readonly operator: 'is'; readonly value: 'null' | 'true' | 'false' };

type Operator = (typeof operators)[number];

export type OrderTerm = {
  readonly field: Field;
  readonly isDescending: boolean;
  readonly nulls: 'first' | 'last';
};

const operators = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'like', 'ilike'] as const;

/** Those of PostgREST that need a type which a mirror has not. */
const otherOperators =
  /^(match|imatch|isdistinct|cd|ov|sl|sr|nxr|nxl|adj|fts|plfts|phfts|wfts)\b|^\w+\((any|all)\)/;

/** A column of such a name is filtered inside `and=(…)`. */
const parameterNames = ['select', 'order', 'limit', 'offset', 'seq', 'as_of'] as const;
const treeNames = ['and', 'or', 'not.and', 'not.or'];

const MAX_CONDITIONS = 100;
/** Of all conditions together. */
const MAX_VALUES = 1_000;
const MAX_COLUMNS = 1_000;
const MAX_DEPTH = 3;
const MAX_ORDER_TERMS = 100;

/** @param now epoch milliseconds. @throws QueryError */
export function parseRequest(query: URLSearchParams, now: number): ReadRequest {
  const once = (name: (typeof parameterNames)[number]) => {
    const [value, ...more] = query.getAll(name);
    if (more.length > 0) throw badParameter(`${name} is given more than once`);
    return value;
  };
  const select = once('select');
  const filters: Filter[] = [];
  let conditions = 0;
  let values = 0;
  for (const [name, value] of query) {
    if ((parameterNames as readonly string[]).includes(name)) continue;
    if (value.includes('\0')) throw badParameter(`${name}: no value has a NUL character`);
    const filter = treeNames.includes(name) ? parseTree(name, value) : parseFilter(name, value);
    conditions += conditionsIn(filter);
    if (conditions > MAX_CONDITIONS)
      throw badParameter(`a question has ${MAX_CONDITIONS} conditions at most`, undefined, 'Use in.(…).');
    values += valuesIn(filter);
    if (values > MAX_VALUES)
      throw badParameter('a question has 1,000 values at most', undefined, 'Ask in several questions.');
    filters.push(filter);
  }
  return {
    select: select === undefined || select === '' ? null : parseSelect(select),
    filters,
    order: parseOrder(once('order') ?? ''),
    limit: wholeNumber('limit', once('limit')) ?? null,
    offset: wholeNumber('offset', once('offset')) ?? 0,
    at: pointIn(once('seq'), once('as_of'), now),
  };
}

function conditionsIn(filter: Filter): number {
  return 'members' in filter ? filter.members.reduce((sum, each) => sum + conditionsIn(each), 0) : 1;
}

function valuesIn(filter: Filter): number {
  if ('members' in filter) return filter.members.reduce((sum, each) => sum + valuesIn(each), 0);
  return filter.operator === 'in' || filter.operator === 'cs' ? filter.values.length : 1;
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw badParameter(`${name} must be a whole number, 0 or more`);
}

function pointIn(seq: string | undefined, asOf: string | undefined, now: number): PointInTime | null {
  if (seq !== undefined && asOf !== undefined) throw badParameter('give seq or as_of, not both');
  const number = wholeNumber('seq', seq);
  if (number !== undefined) return { seq: number };
  if (asOf === undefined) return null;
  const at = parsePastTime(asOf, now);
  if ('problem' in at) throw badParameter(`as_of: ${at.problem}`);
  return { time: isoTime(at.ms) };
}

/** A text that is read from its beginning. */
type Reader = ReturnType<typeof readerOf>;

function readerOf(text: string, what: string) {
  let at = 0;
  const fail = (expected: string) =>
    badParameter(
      `"failed to parse ${what}" (line 1, column ${at + 1})`,
      `unexpected ${at < text.length ? JSON.stringify(text[at]) : 'end of input'}, expecting ${expected}`,
    );
  return {
    fail,
    isDone: () => at >= text.length,
    /** Whether a pattern that begins with ^ comes next; reads nothing. */
    sees: (pattern: RegExp) => pattern.test(text.slice(at)),
    /** Reads what the pattern matches here; undefined where it does not. */
    take(pattern: RegExp): string | undefined {
      const [found] = pattern.exec(text.slice(at)) ?? [];
      at += found?.length ?? 0;
      return found;
    },
    expect(token: string): void {
      if (!text.startsWith(token, at)) throw fail(`"${token}"`);
      at += token.length;
    },
  };
}

const QUOTED = /^"((?:[^"\\]|\\.)*)"/s;
/** A name without quotes; `-` is part of it, unless an arrow begins there. */
const NAME = /^(?:[^\s.,:()">-]|-(?!>)| +(?=[^\s.,:()">-]|-(?!>)))+/;

const unquoted = (quoted: string) => quoted.slice(1, -1).replace(/\\(.)/gs, '$1');

function readName(reader: Reader, expected: string): string {
  const quoted = reader.take(QUOTED);
  if (quoted !== undefined) return unquoted(quoted);
  reader.take(/^[ \t]+/);
  const name = reader.take(NAME);
  if (name === undefined) throw reader.fail(expected);
  reader.take(/^[ \t]+/);
  return name;
}

function readField(reader: Reader): Field {
  const column = readName(reader, 'a field name');
  const path: (string | number)[] = [];
  let isText = false;
  for (;;) {
    if (isText && reader.sees(/^->/)) throw reader.fail('no arrow behind ->>');
    const arrow = reader.take(/^->>?/);
    if (arrow === undefined) return { column, path, isText };
    isText = arrow === '->>';
    const item = reader.take(/^-?\d{1,9}(?=$|->|[.,):])/);
    path.push(item === undefined ? readName(reader, 'the name of a member') : Number(item));
  }
}

const unsupported = (what: string, hint?: string) =>
  new QueryError(400, 'PGRST127', 'Feature not implemented', what, hint);

function parseSelect(text: string): SelectItem[] {
  const reader = readerOf(text, `select parameter (${text})`);
  const items: SelectItem[] = [];
  for (;;) {
    if (reader.sees(/^\s*\.\.\./)) throw unsupported('No datasets are embedded.');
    const item = reader.take(/^\s*\*\s*(?=$|,)/) === undefined ? readSelectItem(reader) : '*';
    // All columns once more are none more.
    if (item !== '*' || !items.includes('*')) items.push(item);
    if (items.length > MAX_COLUMNS) throw badParameter('select has 1,000 columns at most');
    if (reader.isDone()) return items;
    reader.expect(',');
  }
}

function readSelectItem(reader: Reader): SelectItem {
  let field = readField(reader);
  let alias: string | null = null;
  if (field.path.length === 0 && reader.take(/^:(?!:)/) !== undefined) {
    alias = field.column;
    field = readField(reader);
  }
  if (reader.sees(/^::/)) throw unsupported('No value is cast.');
  if (reader.sees(/^(?:\.\w+)?\(\)/)) throw unsupported('No values are aggregated.');
  if (reader.sees(/^[!(]/)) throw unsupported('No datasets are embedded.');
  return { alias, field };
}

function parseOrder(text: string): OrderTerm[] {
  if (text === '') return [];
  const reader = readerOf(text, `order (${text})`);
  const terms: OrderTerm[] = [];
  for (;;) {
    const field = readField(reader);
    if (reader.sees(/^\(/)) throw unsupported('No datasets are embedded.');
    const isDescending = reader.take(/^\.(asc|desc)(?=$|[.,])/) === '.desc';
    const nulls = reader.take(/^\.nulls(first|last)(?=$|,)/);
    const usual = isDescending ? 'first' : 'last';
    terms.push({
      field,
      isDescending,
      nulls: nulls === undefined ? usual : nulls === '.nullsfirst' ? 'first' : 'last',
    });
    if (reader.isDone()) return terms;
    if (!reader.sees(/^,/)) throw reader.fail('"asc", "desc", "nullsfirst" or "nullslast"');
    if (terms.length === MAX_ORDER_TERMS) throw badParameter(`order has ${MAX_ORDER_TERMS} columns at most`);
    reader.expect(',');
  }
}

/** `column=eq.value`: the value is all that follows. */
function parseFilter(name: string, text: string): Condition {
  const key = readerOf(name, `filter name (${name})`);
  const field = readField(key);
  if (key.sees(/^\./)) throw unsupported('No datasets are embedded.', `Quote a name with a dot: "${name}".`);
  if (!key.isDone()) throw key.fail('end of input');
  const reader = readerOf(text, `filter (${text})`);
  const condition = readCondition(reader, field, () => reader.take(/^.*/s) ?? '');
  if (!reader.isDone()) throw reader.fail('end of input');
  return condition;
}

/** `or=(…)`. */
function parseTree(name: string, text: string): Tree {
  const reader = readerOf(`${name}${text}`, `logic tree (${text})`);
  const tree = readTree(reader, 1);
  if (!reader.isDone()) throw reader.fail('end of input');
  return tree;
}

function readTree(reader: Reader, depth: number): Tree {
  if (depth > MAX_DEPTH) throw badParameter(`conditions are nested to a depth of ${MAX_DEPTH} at most`);
  const isNegated = reader.take(/^not\./) !== undefined;
  const join = reader.take(/^(?:and|or)/) as Tree['join'];
  reader.take(/^\s*/);
  reader.expect('(');
  const members: Filter[] = [];
  for (;;) {
    reader.take(/^\s*/);
    members.push(
      reader.sees(/^(?:not\.)?(?:and|or)\s*\(/) ? readTree(reader, depth + 1) : readMember(reader),
    );
    reader.take(/^\s*/);
    if (reader.take(/^\)/) !== undefined) break;
    reader.expect(',');
  }
  return { join, isNegated, members };
}

/** `column.eq.value` within a tree: the value ends at a comma or parenthesis, unless it is quoted. */
function readMember(reader: Reader): Condition {
  const field = readField(reader);
  reader.expect('.');
  return readCondition(reader, field, () => readElement(reader));
}

/** @param end what it is written with, without quotes. */
function readElement(reader: Reader, end = /^[^,)]*/): string {
  const quoted = reader.sees(/^"(?:[^"\\]|\\.)*"(?:$|[,)}])/s) ? reader.take(QUOTED) : undefined;
  return quoted === undefined ? (reader.take(end) ?? '') : unquoted(quoted);
}

function readCondition(reader: Reader, field: Field, readValue: () => string): Condition {
  const isNegated = reader.take(/^not\./) !== undefined;
  if (reader.take(/^in\./) !== undefined)
    return { field, isNegated, operator: 'in', values: readList(reader, '()') };
  if (reader.take(/^cs\./) !== undefined)
    return { field, isNegated, operator: 'cs', values: readList(reader, '{}') };
  if (reader.take(/^is\./) !== undefined) {
    const value = reader.take(/^(?:null|true|false)(?=$|[,)])/i)?.toLowerCase();
    if (value === undefined) throw reader.fail('null, true or false');
    return { field, isNegated, operator: 'is', value: value as 'null' | 'true' | 'false' };
  }
  if (reader.sees(otherOperators))
    throw unsupported('There are eq, neq, gt, gte, lt, lte, like, ilike, in, cs and is.');
  const operator = reader.take(/^[a-z]+(?=\.)/);
  if (!isOperator(operator)) throw reader.fail('"not" or operator (eq, gt, ...)');
  reader.expect('.');
  return { field, isNegated, operator, value: readValue() };
}

const isOperator = (name: string | undefined): name is Operator =>
  (operators as readonly (string | undefined)[]).includes(name);

/** `(a,"b,c")`, or `{a,b}`; nothing between the parentheses is no value. Blanks count within the parentheses, but for those at its start. */
function readList(reader: Reader, pair: '()' | '{}'): string[] {
  reader.take(/^\s*/);
  reader.expect(pair.charAt(0));
  reader.take(/^\s*/);
  const values: string[] = [];
  const [isOver, element] = pair === '{}' ? [/^\}\s*/, /^[^,}]*/] : [/^\)\s*/, /^[^,)]*/];
  while (reader.take(isOver) === undefined) {
    if (values.length > 0) reader.expect(',');
    values.push(readElement(reader, element));
  }
  return values;
}
