/** When a call gets a scripted fault: in code by `when`, as text by `parseFaults`. What they do is in `faults.ts`. */

import ms from 'ms';
import { errorBody } from './calls.ts';
import type { EndpointName } from './datasets.ts';
import { type Answer, type AnswerContext, type ApiRequest, endpoints, type Fault } from './endpoints.ts';
import * as faults from './faults.ts';
import type { Random } from './random.ts';

export type FaultScript = (request: ApiRequest, random: Random) => Fault | readonly Fault[] | undefined;

/** All members given have to agree. */
export type Match = {
  endpoint?: EndpointName | readonly EndpointName[];
  /** Calls for the page at this offset. */
  offset?: number;
  /** Of the calls that match so far, the first is 1. */
  nth?: number | readonly number[];
  /** The first of them that gets the fault, and the last. */
  from?: number;
  to?: number;
  /** The probability of the fault, from 0 to 1. */
  chance?: number;
};

/** Faults for the calls that match, applied one after the other. */
export function when(match: Match, ...faults: readonly Fault[]): FaultScript {
  const names = match.endpoint === undefined ? undefined : [match.endpoint].flat();
  const nth = match.nth === undefined ? undefined : [match.nth].flat();
  let seen = 0;
  return (request, random) => {
    if (names && !(request.endpoint && names.includes(request.endpoint))) return undefined;
    if (match.offset !== undefined && match.offset !== request.offset) return undefined;
    seen += 1;
    if (nth && !nth.includes(seen)) return undefined;
    if (seen < (match.from ?? 1) || seen > (match.to ?? Number.POSITIVE_INFINITY)) return undefined;
    if (match.chance !== undefined && random() >= match.chance) return undefined;
    return faults;
  };
}

export function applyFaults(answer: Answer, scripts: readonly FaultScript[], context: AnswerContext): Answer {
  return scripts
    .flatMap((script) => script(context.request, context.random) ?? [])
    .reduce((planned, fault) => fault(planned, context), answer);
}

const entryForm =
  /^(?:(?<endpoint>[a-z-]+)=)?(?<name>[a-z0-9-]+?)(?:\((?<argument>[^()]*)\))?(?::(?<chance>[\d.]+)|@(?<first>[1-9]\d*)(?<range>-(?<last>\d+)?)?)?$/;

/**
 * Reads such as `503:0.05` (one call in twenty), `news=html@3` (the third call to news), `slow(2s)` (every call),
 * separated by commas.
 * @throws Error whose one line names the entry and what is wrong with it
 */
export function parseFaults(text: string): FaultScript[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map(parseEntry);
}

/** One line a fault, for help texts. */
export function describeFaults(): string {
  const written = Object.entries(namedFaults).map(([name, { usual, about }]) => ({
    name: usual ? `${name}(${usual})` : name,
    about,
  }));
  const width = Math.max(...written.map(({ name }) => name.length));
  return written.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`).join('\n');
}

function parseEntry(entry: string): FaultScript {
  const parts = entryForm.exec(entry)?.groups;
  if (!parts) throw new Error(`"${entry}" is not of the form [endpoint=]name[(argument)][:chance or @call]`);
  const { endpoint, name = '', argument, chance, first, range, last } = parts;
  const match: Match = {
    ...(endpoint === undefined ? {} : { endpoint: endpointNamed(endpoint) }),
    ...(chance === undefined ? {} : { chance: probability(chance) }),
    ...(first === undefined ? {} : callRange(Number(first), range, last)),
  };
  return when(match, faultNamed(name, argument));
}

function faultNamed(name: string, argument: string | undefined) {
  // An own property: "constructor" is no fault.
  const named = Object.hasOwn(namedFaults, name) ? namedFaults[name] : undefined;
  if (!named) throw new Error(`there is no fault "${name}": see --help`);
  if (argument !== undefined && named.usual === undefined)
    throw new Error(`fault "${name}" takes no argument`);
  try {
    return named.create(argument ?? named.usual ?? '');
  } catch (error) {
    throw new Error(`fault "${name}": ${error instanceof Error ? error.message : error}`);
  }
}

function endpointNamed(text: string): EndpointName {
  const known = endpoints.map(({ path, name }) => ({ name, written: path.slice(path.lastIndexOf('/') + 1) }));
  const found = known.find(({ written }) => written === text);
  if (!found)
    throw new Error(
      `there is no endpoint "${text}": one of ${known.map(({ written }) => written).join(', ')}`,
    );
  return found.name;
}

function probability(text: string): number {
  const number = Number(text);
  if (!(number >= 0 && number <= 1)) throw new Error(`"${text}" is not a chance from 0 to 1`);
  return number;
}

function callRange(first: number, range: string | undefined, last: string | undefined): Match {
  if (range === undefined) return { nth: first };
  return last === undefined ? { from: first } : { from: first, to: Number(last) };
}

export type NamedFault = {
  readonly about: string;
  /** The argument where none is given. Undefined: the fault takes none. */
  readonly usual?: string;
  /** @throws Error that says what is wrong with the argument */
  readonly create: (argument: string) => Fault;
};

export const namedFaults: Readonly<Record<string, NamedFault>> = {
  '401': plain('key refused', () => faults.refuse(401)),
  '403': plain('scope refused', () => faults.refuse(403)),
  '429': taking(text, '', 'limit reached; 429(60) sets Retry-After', (after) => refuseFor(429, after)),
  '503': taking(text, '', 'unavailable; 503(60) sets Retry-After', (after) => refuseFor(503, after)),
  status: taking(statusCode, '500', 'any status with an Error body', (code) =>
    faults.status(code, errorBody(code, 'scripted')),
  ),
  redirect: taking(text, 'https://elsewhere.example/', 'to this address', (to) => faults.redirect(to)),
  html: plain('a web page with status 200', () => faults.html()),
  'no-content': plain('status 204', faults.noContent),
  truncated: plain('JSON cut in the middle', () => faults.truncated()),
  empty: plain('no body', faults.emptyBody),
  'bad-utf8': plain('a byte that is not UTF-8', faults.invalidUtf8),
  huge: taking(count, '32', 'a body of so many MiB', (mebibytes) => faults.huge(mebibytes * 2 ** 20)),
  gzip: plain('compressed unasked', faults.gzipped),
  'content-type': taking(text, 'text/plain', 'another type', faults.contentType),
  'no-rate-limit': plain('no X-RateLimit headers', faults.withoutRateLimitHeaders),
  slow: taking(duration, '2s', 'so much later', faults.slow),
  drip: taking(duration, '100ms', '1 KiB at a time, so far apart', (everyMs) =>
    faults.drip({ bytes: 1_024, everyMs }),
  ),
  hang: plain('no answer, ever', faults.hang),
  reset: plain('connection reset before the answer', faults.resetBeforeHeaders),
  'reset-mid-body': plain('connection reset in the body', () => faults.resetMidBody()),
  'content-length': taking(integer, '10', 'Content-Length off by so many bytes', faults.contentLengthOff),
  'short-page': taking(count, '10', 'at most so many rows a page', faults.shortPage),
  'empty-page': plain('no rows, hasMore true', faults.emptyPageWithMore),
  'returned-off': taking(integer, '-1', 'returned off by so many', faults.returnedOff),
  'has-more': taking(text, 'true', 'hasMore always true, or false', (value) =>
    faults.pagination({ hasMore: value !== 'false' }),
  ),
  'offset-ignored': plain('the first page again', faults.offsetIgnored),
  'limit-ignored': taking(count, '25', 'so many rows whatever was asked', faults.limitIgnored),
  total: taking(integer, '0', 'this total', (total) => faults.pagination({ total })),
  'changing-total': plain('a total that grows by the call', faults.changingTotal),
  'duplicate-row': plain('the first row twice', faults.duplicateRow),
  'extra-property': taking(text, 'surprise', 'a row with this property', (name) =>
    faults.extraProperty(name, 1),
  ),
  'missing-property': taking(text, 'id', 'a row without this property', (name) =>
    faults.missingProperty(name),
  ),
  'wrong-type': taking(text, 'id', 'a row with an object for this property', (name) =>
    faults.extraProperty(name, { unexpected: true }),
  ),
  source: taking(text, 'somewhere-else', 'another constant', (source) => faults.members({ source })),
  mode: taking(text, 'read-write', 'another constant', (mode) => faults.members({ mode })),
  'no-generated-at': plain('generatedAt null', () => faults.members({ generatedAt: null })),
  'no-pagination': plain('no pagination object', () => faults.withoutPagination()),
  'rows-named': taking(text, 'items', 'rows under another name', faults.rowsNamed),
  'bare-array': plain('the rows alone', faults.bareArray),
  nested: taking(text, 'data', 'everything under a member of this name', faults.nestedUnder),
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
  return faults.refuse(status, retryAfter === '' ? {} : { retryAfter });
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
