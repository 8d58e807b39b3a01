/** Faults by name, for command lines: what each is called, what it takes, what it does. */

import ms from 'ms';
import { errorBody } from '../refusals.ts';
import { html, noContent, type RefusalOptions, redirect, refuse, status } from './answers.ts';
import * as bodies from './bodies.ts';
import * as connections from './connections.ts';
import * as pages from './pages.ts';
import type { Fault } from './script.ts';

export type NamedFault = {
  readonly about: string;
  /** The argument where none is given. Undefined: the fault takes none. */
  readonly usual?: string;
  readonly create: (argument: string) => Fault;
};

export const namedFaults: Readonly<Record<string, NamedFault>> = {
  '401': { about: 'key refused', create: () => refuse(401) },
  '403': { about: 'scope refused', create: () => refuse(403) },
  '429': {
    about: 'limit reached; 429(60) sets Retry-After',
    usual: '',
    create: (text) => refuse(429, retry(text)),
  },
  '503': {
    about: 'unavailable; 503(60) sets Retry-After',
    usual: '',
    create: (text) => refuse(503, retry(text)),
  },
  status: { about: 'any status with an Error body', usual: '500', create: (text) => anyStatus(text) },
  redirect: {
    about: 'to this address',
    usual: 'https://elsewhere.example/',
    create: (text) => redirect(text),
  },
  html: { about: 'a web page with status 200', create: () => html() },
  'no-content': { about: 'status 204', create: noContent },
  truncated: { about: 'JSON cut in the middle', create: () => bodies.truncated() },
  empty: { about: 'no body', create: bodies.emptyBody },
  'bad-utf8': { about: 'a byte that is not UTF-8', create: bodies.invalidUtf8 },
  huge: { about: 'a body of so many MiB', usual: '32', create: (text) => bodies.huge(count(text) * 2 ** 20) },
  gzip: { about: 'compressed unasked', create: bodies.gzipped },
  'content-type': { about: 'another type', usual: 'text/plain', create: (text) => bodies.contentType(text) },
  'no-rate-limit': { about: 'no X-RateLimit headers', create: bodies.withoutRateLimitHeaders },
  slow: { about: 'so much later', usual: '2s', create: (text) => connections.slow(duration(text)) },
  drip: {
    about: '1 KiB at a time, so far apart',
    usual: '100ms',
    create: (text) => connections.drip({ bytes: 1_024, everyMs: duration(text) }),
  },
  hang: { about: 'no answer, ever', create: connections.hang },
  reset: { about: 'connection reset before the answer', create: connections.resetBeforeHeaders },
  'reset-mid-body': { about: 'connection reset in the body', create: () => connections.resetMidBody() },
  'content-length': {
    about: 'Content-Length off by so many bytes',
    usual: '10',
    create: (text) => connections.contentLengthOff(integer(text)),
  },
  'short-page': {
    about: 'at most so many rows a page',
    usual: '10',
    create: (text) => pages.shortPage(count(text)),
  },
  'empty-page': { about: 'no rows, hasMore true', create: pages.emptyPageWithMore },
  'returned-off': {
    about: 'returned off by so many',
    usual: '-1',
    create: (text) => pages.returnedOff(integer(text)),
  },
  'has-more': {
    about: 'hasMore always true, or false',
    usual: 'true',
    create: (text) => pages.pagination({ hasMore: text !== 'false' }),
  },
  'offset-ignored': { about: 'the first page again', create: pages.offsetIgnored },
  'limit-ignored': {
    about: 'so many rows whatever was asked',
    usual: '25',
    create: (text) => pages.limitIgnored(count(text)),
  },
  total: { about: 'this total', usual: '0', create: (text) => pages.pagination({ total: integer(text) }) },
  'changing-total': { about: 'a total that grows by the call', create: pages.changingTotal },
  'duplicate-row': { about: 'the first row twice', create: pages.duplicateRow },
  'extra-property': {
    about: 'a row with this property',
    usual: 'surprise',
    create: (text) => pages.extraProperty(text, 1),
  },
  'missing-property': {
    about: 'a row without this property',
    usual: 'id',
    create: (text) => pages.missingProperty(text),
  },
  'wrong-type': {
    about: 'a row with an object for this property',
    usual: 'id',
    create: (text) => pages.extraProperty(text, { unexpected: true }),
  },
  source: {
    about: 'another constant',
    usual: 'somewhere-else',
    create: (source) => pages.members({ source }),
  },
  mode: { about: 'another constant', usual: 'read-write', create: (mode) => pages.members({ mode }) },
  'no-generated-at': { about: 'generatedAt null', create: () => pages.members({ generatedAt: null }) },
  'no-pagination': { about: 'no pagination object', create: () => pages.withoutPagination() },
  'rows-named': { about: 'rows under another name', usual: 'items', create: (text) => pages.rowsNamed(text) },
  'bare-array': { about: 'the rows alone', create: pages.bareArray },
  nested: {
    about: 'everything under a member of this name',
    usual: 'data',
    create: (text) => pages.nestedUnder(text),
  },
};

function retry(text: string): RefusalOptions {
  return text === '' ? {} : { retryAfter: text };
}

function anyStatus(text: string): Fault {
  const code = count(text);
  if (code < 200 || code > 599) throw new Error(`a status is from 200 to 599, not ${text}`);
  return status(code, errorBody(code, 'scripted'));
}

function integer(text: string): number {
  if (!/^-?\d{1,9}$/.test(text)) throw new Error(`"${text}" is not a whole number`);
  return Number(text);
}

function count(text: string): number {
  const number = integer(text);
  if (number < 0) throw new Error(`"${text}" is less than zero`);
  return number;
}

function duration(text: string): number {
  const length = /^\d.{0,20}$/.test(text) ? (ms(text as ms.StringValue) as number | undefined) : undefined;
  if (length === undefined) throw new Error(`"${text}" is not a duration such as 250ms or 2s`);
  return length;
}
