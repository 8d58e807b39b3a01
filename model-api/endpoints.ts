/** The five endpoints (specification, "Endpoints"): path, scope, the body of a successful answer, and how it is sent. */

import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallLog, Scope } from './calls.ts';
import type { Dataset, DatasetName, EndpointName, Row } from './datasets.ts';
import type { Limits } from './limits.ts';
import type { Random } from './random.ts';

export type Endpoint = {
  readonly name: EndpointName;
  readonly path: string;
  /** Null where any active key will do. */
  readonly scope: Scope | null;
};

export const endpoints: readonly Endpoint[] = [
  { name: 'aiSignals', path: '/api/v1/ai-signals', scope: 'ai-signals:read' },
  { name: 'news', path: '/api/v1/news', scope: 'news:read' },
  { name: 'smartWallets', path: '/api/v1/smart-wallets', scope: 'smart-wallets:read' },
  { name: 'memeSignals', path: '/api/v1/meme-signals', scope: 'meme:read' },
  { name: 'usage', path: '/api/v1/usage', scope: null },
];

export const endpointNames: readonly EndpointName[] = endpoints.map(({ name }) => name);

/** Offset paging (specification, "Paging parameters" and StandardPagination). */
export type Paging = { readonly offset: number; readonly limit: number };

export type Pagination = Paging & {
  readonly total: number;
  readonly returned: number;
  readonly hasMore: boolean;
};

export type ListBody = {
  generatedAt?: string | null;
  rows: Row[];
  pagination: Partial<Pagination>;
  [more: string]: unknown;
};

const DEFAULT_LIMIT = 50;
const LONGEST_PAGE = 100;

/** The window of a query. Values out of range are normalised; text that is no number counts as absent (not specified). */
export function readPaging(query: URLSearchParams): Paging {
  return {
    offset: Math.max(0, wholeNumber(query.get('offset')) ?? 0),
    limit: Math.min(LONGEST_PAGE, Math.max(1, wholeNumber(query.get('limit')) ?? DEFAULT_LIMIT)),
  };
}

/** The body of one page of a list. */
export function listBody(
  name: DatasetName,
  dataset: Dataset,
  query: URLSearchParams,
  paging: Paging,
): ListBody {
  const { rows, pagination } = paginate(selectRows(name, dataset.rows, query), paging);
  const dated = dataset.generatedAt === undefined ? {} : { generatedAt: dataset.generatedAt };
  if (name === 'aiSignals')
    return { ...dated, source: 'published-signal-snapshot', mode: 'read-only', rows, pagination };
  if (name === 'memeSignals') {
    // All that the specification promises of it.
    const { returned, hasMore } = pagination;
    return { ...dated, rows, pagination: { returned, hasMore } };
  }
  return { ...dated, rows, pagination };
}

/** The account's usage. The specification shows nothing of it: this shape is an invention. */
export function usageBody(log: CallLog, { quota }: Limits, now: number): Record<string, unknown> {
  const { total, byEndpoint, byStatus } = log.tally();
  const remaining = quota.remaining(now);
  return {
    account: { plan: 'sample', status: 'active' },
    quota: { limit: quota.limit, used: quota.limit - remaining, remaining },
    // This very call is among them, though its own answer is not yet counted.
    requests: { total, byEndpoint, byStatus },
    reportedAt: new Date(now).toISOString(),
  };
}

/** Filters of news and smart wallets. Names are specified; how they match is not, so this is an invention. */
const filtersOf: Readonly<Record<DatasetName, readonly string[]>> = {
  aiSignals: [],
  news: ['q', 'category', 'symbol', 'market', 'source', 'filter', 'kind'],
  smartWallets: ['q', 'lane'],
  memeSignals: [],
};

/** The rows that a query asks for; the very same array where it names no filter. */
function selectRows(name: DatasetName, rows: readonly Row[], query: URLSearchParams): readonly Row[] {
  return filtersOf[name].reduce((left, filter) => {
    const wanted = query.get(filter)?.toLowerCase();
    return wanted ? left.filter((row) => matches(row, filter, wanted)) : left;
  }, rows);
}

function matches(row: Row, filter: string, wanted: string): boolean {
  if (filter === 'lane' && wanted === 'all') return true;
  const value =
    filter === 'q' || filter === 'filter' ? row : filter === 'symbol' ? row['symbols'] : row[filter];
  const text = JSON.stringify(value ?? null).toLowerCase();
  return value instanceof Object ? text.includes(wanted) : text === JSON.stringify(wanted);
}

function paginate<T>(all: readonly T[], { offset, limit }: Paging) {
  const rows = all.slice(offset, offset + limit);
  const pagination: Pagination = {
    offset,
    limit,
    total: all.length,
    returned: rows.length,
    hasMore: offset + rows.length < all.length,
  };
  return { rows, pagination };
}

function wholeNumber(text: string | null): number | undefined {
  const number = text === null || text.trim() === '' ? Number.NaN : Math.trunc(Number(text));
  return Number.isNaN(number)
    ? undefined
    : Math.min(Math.max(number, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

/** An answer before it is sent: plain data, so that a fault is a function from one answer to another. */
export type Answer = {
  readonly status: number;
  /** Lower-case names. Content-Length is added where neither it nor Transfer-Encoding is given. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** A JSON value; a Buffer is sent as it is; undefined is no body at all. */
  readonly body: unknown;
  /** Waits this long before the first byte. */
  readonly delayMs: number;
  readonly deliver: Deliver;
};

/**
 * Writes what comes before the last bytes and gives those back, with which the server ends the answer; or null
 * where the answer never ends as it should. The head is set and goes out with the first write.
 */
type Deliver = (
  response: ServerResponse,
  bytes: Buffer,
  wait: (ms: number) => Promise<void>,
) => Buffer | null | Promise<Buffer | null>;

/** A call as scripts of faults see it. */
export type ApiRequest = Paging & {
  /** 1 for the first call to the model. */
  readonly number: number;
  /** 1 for the first call to this endpoint. */
  readonly nth: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly endpoint: EndpointName | null;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
};

export type AnswerContext = {
  readonly request: ApiRequest;
  readonly random: Random;
  /** The body that this endpoint gives for another window. */
  readonly bodyAt: (paging: Paging) => unknown;
};

/** Turns the answer that was planned into the one that is sent. */
export type Fault = (answer: Answer, context: AnswerContext) => Answer;

export function jsonAnswer(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body,
    delayMs: 0,
    deliver: (_, bytes) => bytes,
  };
}

export function bodyBytes(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body));
}

/** The rows in a body, wherever a body may keep them. */
export function rowsIn(body: unknown): readonly unknown[] {
  if (Array.isArray(body)) return body;
  if (!(body instanceof Object) || Buffer.isBuffer(body)) return [];
  const members: unknown[] = Object.values(body);
  return members.find(Array.isArray) ?? members.map(rowsIn).find((rows) => rows.length > 0) ?? [];
}

const NO_BYTES: readonly number[] = [204, 304];

/** Sends the answer; `beforeLastBytes` is called just then, and only if the answer ends well. */
export async function send(
  answer: Answer,
  response: ServerResponse,
  wait: (ms: number) => Promise<void>,
  beforeLastBytes: () => void,
): Promise<void> {
  // Before any wait, since the rows may be edited meanwhile.
  const bytes = bodyBytes(answer.body);
  if (answer.delayMs > 0) await wait(answer.delayMs);
  if (response.destroyed) return;
  const sized = 'content-length' in answer.headers || 'transfer-encoding' in answer.headers;
  const length = sized || NO_BYTES.includes(answer.status) ? {} : { 'content-length': bytes.length };
  response.writeHead(answer.status, { ...(answer.headers as Record<string, string | string[]>), ...length });
  const last = await answer.deliver(response, bytes, wait);
  if (last === null || response.destroyed) return;
  // A client that has read them may call again at once: by then the call must have ended here.
  beforeLastBytes();
  response.end(last);
}

/** Real time, cut short by the signal. */
export async function realDelay(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal });
}
