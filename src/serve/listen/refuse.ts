/** What is refused before it reaches the service: each with an Error body, and the connection closed after it. */

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Bounds } from './bounds.ts';

export type Refused = {
  readonly status: number;
  readonly error: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
};

const badRequest: Refused = {
  status: 400,
  error: 'bad_request',
  message: 'This is not a valid HTTP request.',
};

export const noTunnel: Refused = {
  status: 405,
  error: 'method_not_allowed',
  message: 'Only GET and HEAD are answered.',
  headers: { Allow: 'GET, HEAD' },
};

export const failed: Refused = {
  status: 500,
  error: 'internal_error',
  message: 'The request could not be answered.',
};

const byCode: Readonly<Record<string, Refused>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    error: 'headers_too_large',
    message: 'The request line and headers are too long.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    error: 'request_timeout',
    message: 'The request took too long to arrive.',
  },
};

/** Why a request is refused that could not be read. */
export function refusedAs(code: string | undefined): Refused {
  return byCode[code ?? ''] ?? badRequest;
}

/** What is wrong with a request that could be read; undefined where nothing is. */
export function wrongWith(request: IncomingMessage, { urlLetters }: Bounds): Refused | undefined {
  if ((request.url?.length ?? 0) > urlLetters)
    return { status: 414, error: 'uri_too_long', message: 'The path and query are too long.' };
  const hosts = countOf('host', request.rawHeaders);
  // A proxy may take another of two than we would, or find another end to what is coded in ways of its own.
  const isMissing = hosts === 0 && request.httpVersion === '1.1';
  const coding = request.headers['transfer-encoding']?.toLowerCase();
  const isCoded = coding !== undefined && coding !== 'chunked';
  return hosts > 1 || isMissing || isCoded ? badRequest : undefined;
}

function countOf(name: string, rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name) count += 1;
  return count;
}

/** No answer to GET or HEAD needs one. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

export function answerRefused(response: ServerResponse, refused: Refused): void {
  const { body, headers } = contentOf(refused);
  response.shouldKeepAlive = false;
  response.writeHead(refused.status, headers);
  response.end(body);
}

/** The same where there is no request that could be answered: as it goes over the wire. */
export function writtenOut(refused: Refused): string {
  const { body, headers } = contentOf(refused);
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return [`HTTP/1.1 ${refused.status} ${STATUS_CODES[refused.status]}`, ...lines, '', body].join('\r\n');
}

function contentOf({ error, message, headers }: Refused) {
  const body = JSON.stringify({ error, message });
  return {
    body,
    headers: {
      ...headers,
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    },
  };
}
