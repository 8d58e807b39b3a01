/** Faults by name, for command lines: what each is called, what it takes, what it does. */

import ms from 'ms';
import type { Fault } from '../answer.ts';
import { errorBody } from '../keys.ts';
import * as answers from './answers.ts';
import * as connections from './connections.ts';
import * as pages from './pages.ts';

export type NamedFault = {
  readonly about: string;
  /** The argument where none is given. Undefined: the fault takes none. */
  readonly usual?: string;
  /** @throws Error that says what is wrong with the argument */
  readonly create: (argument: string) => Fault;
};

export const namedFaults: Readonly<Record<string, NamedFault>> = {
  '401': plain('key refused', () => answers.refuse(401)),
  '403': plain('scope refused', () => answers.refuse(403)),
  '429': taking(text, '', 'limit reached; 429(60) sets Retry-After', (after) => refuseFor(429, after)),
  '503': taking(text, '', 'unavailable; 503(60) sets Retry-After', (after) => refuseFor(503, after)),
  status: taking(statusCode, '500', 'any status with an Error body', (code) =>
    answers.status(code, errorBody(code, 'scripted')),
  ),
  redirect: taking(text, 'https://elsewhere.example/', 'to this address', (to) => answers.redirect(to)),
  html: plain('a web page with status 200', () => answers.html()),
  'no-content': plain('status 204', answers.noContent),
  truncated: plain('JSON cut in the middle', () => answers.truncated()),
  empty: plain('no body', answers.emptyBody),
  'bad-utf8': plain('a byte that is not UTF-8', answers.invalidUtf8),
  huge: taking(count, '32', 'a body of so many MiB', (mebibytes) => answers.huge(mebibytes * 2 ** 20)),
  gzip: plain('compressed unasked', answers.gzipped),
  'content-type': taking(text, 'text/plain', 'another type', answers.contentType),
  'no-rate-limit': plain('no X-RateLimit headers', answers.withoutRateLimitHeaders),
  slow: taking(duration, '2s', 'so much later', connections.slow),
  drip: taking(duration, '100ms', '1 KiB at a time, so far apart', (everyMs) =>
    connections.drip({ bytes: 1_024, everyMs }),
  ),
  hang: plain('no answer, ever', connections.hang),
  reset: plain('connection reset before the answer', connections.resetBeforeHeaders),
  'reset-mid-body': plain('connection reset in the body', () => connections.resetMidBody()),
  'content-length': taking(
    integer,
    '10',
    'Content-Length off by so many bytes',
    connections.contentLengthOff,
  ),
  'short-page': taking(count, '10', 'at most so many rows a page', pages.shortPage),
  'empty-page': plain('no rows, hasMore true', pages.emptyPageWithMore),
  'returned-off': taking(integer, '-1', 'returned off by so many', pages.returnedOff),
  'has-more': taking(text, 'true', 'hasMore always true, or false', (value) =>
    pages.pagination({ hasMore: value !== 'false' }),
  ),
  'offset-ignored': plain('the first page again', pages.offsetIgnored),
  'limit-ignored': taking(count, '25', 'so many rows whatever was asked', pages.limitIgnored),
  total: taking(integer, '0', 'this total', (total) => pages.pagination({ total })),
  'changing-total': plain('a total that grows by the call', pages.changingTotal),
  'duplicate-row': plain('the first row twice', pages.duplicateRow),
  'extra-property': taking(text, 'surprise', 'a row with this property', (name) =>
    pages.extraProperty(name, 1),
  ),
  'missing-property': taking(text, 'id', 'a row without this property', (name) =>
    pages.missingProperty(name),
  ),
  'wrong-type': taking(text, 'id', 'a row with an object for this property', (name) =>
    pages.extraProperty(name, { unexpected: true }),
  ),
  source: taking(text, 'somewhere-else', 'another constant', (source) => pages.members({ source })),
  mode: taking(text, 'read-write', 'another constant', (mode) => pages.members({ mode })),
  'no-generated-at': plain('generatedAt null', () => pages.members({ generatedAt: null })),
  'no-pagination': plain('no pagination object', () => pages.withoutPagination()),
  'rows-named': taking(text, 'items', 'rows under another name', pages.rowsNamed),
  'bare-array': plain('the rows alone', pages.bareArray),
  nested: taking(text, 'data', 'everything under a member of this name', pages.nestedUnder),
};

function plain(about: string, create: () => Fault): NamedFault {
  return { about, create };
}

/** A fault with an argument, which `read` makes of its text. */
function taking<T>(
  read: (text: string) => T,
  usual: string,
  about: string,
  create: (argument: T) => Fault,
): NamedFault {
  return { about, usual, create: (argument) => create(read(argument)) };
}

function refuseFor(status: 429 | 503, retryAfter: string): Fault {
  return answers.refuse(status, retryAfter === '' ? {} : { retryAfter });
}

function text(argument: string): string {
  return argument;
}

function integer(argument: string): number {
  if (!/^-?\d{1,9}$/.test(argument)) throw new Error(`"${argument}" is not a whole number`);
  return Number(argument);
}

function count(argument: string): number {
  const number = integer(argument);
  if (number < 0) throw new Error(`"${argument}" is less than zero`);
  return number;
}

function statusCode(argument: string): number {
  const code = count(argument);
  if (code < 200 || code > 599) throw new Error(`a status is from 200 to 599, not ${argument}`);
  return code;
}

/** Milliseconds. */
function duration(argument: string): number {
  const length = /^\d.{0,20}$/.test(argument)
    ? (ms(argument as ms.StringValue) as number | undefined)
    : undefined;
  if (length === undefined) throw new Error(`"${argument}" is not a duration such as 250ms or 2s`);
  return length;
}
