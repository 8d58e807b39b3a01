/** A request on its way to the handler, and what is refused before it gets there: with an Error body, and the connection closed. */

import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { toError } from '../../../errors.ts';
import type { Log } from '../../../log.ts';
import type { Bounds } from './bounds.ts';
import type { Connections } from './connections.ts';

/**
 * Has requests answered by `handle`, and refuses what is none.
 * @param log told of a handler that throws.
 */
export function answerRequests(
  server: Server,
  connections: Connections,
  handle: RequestListener,
  bounds: Bounds,
  log: Pick<Log, 'error'>,
): void {
  const answer: RequestListener = (request, response) => {
    const connection = connections.of(request.socket);
    if (!connection) return void request.socket.destroy();
    // It was sent before its client could know that the connection would be closed.
    if (connection.isLast) return;
    const wrong = wrongWith(request, bounds);
    // What comes behind a body may be meant to be taken for a request.
    const isLast = wrong !== undefined || hasBody(request);
    connections.begin(connection, request, response, isLast);
    if (wrong) return sendRefusal(response, wrong);
    try {
      handle(request, response);
    } catch (thrown) {
      log.error({ err: toError(thrown) }, 'a request could not be answered');
      if (response.headersSent) response.destroy();
      else sendRefusal(response, failed);
    }
  };
  server.on('request', answer);
  // Nobody is asked to go on and send a body.
  server.on('checkContinue', answer);
  server.on('checkExpectation', answer);
  server.on('connect', (_, stream) => refuse(connections, stream, noTunnel));
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const hasSpoken = (stream as Socket).bytesRead > 0;
    if (!hasSpoken || error.code === 'ECONNRESET') return void stream.destroy();
    const request = connections.of(stream)?.lastRequest;
    if (request && !request.complete) breakBody(request, error);
    else refuse(connections, stream, refusals[error.code ?? ''] ?? badRequest);
  });
}

/** The client has gone in the middle of a body. */
const BROKEN_OFF = 'HPE_INVALID_EOF_STATE';

/** Who reads the body is told that it does not come, and answers; where nobody reads it, the response says something else. */
function breakBody(request: IncomingMessage, error: NodeJS.ErrnoException): void {
  if (error.code === BROKEN_OFF) request.socket.destroy();
  else if (request.listenerCount('error') > 0) request.emit('error', error);
}

/** Answers what is no request for a handler, after the responses that are in flight. */
function refuse(connections: Connections, stream: Duplex, refusal: Refusal): void {
  const connection = connections.of(stream);
  if (connection?.isLast) return;
  if (!connection || !stream.writable) return void stream.destroy();
  connections.dismiss(connection);
  // Between the parts of a response nothing else can be said.
  if (connection.responses.size === 0) stream.end(asText(refusal));
}

type Refusal = {
  readonly status: number;
  readonly error: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
};

const badRequest: Refusal = {
  status: 400,
  error: 'bad_request',
  message: 'This is not a valid HTTP request.',
};

const noTunnel: Refusal = {
  status: 405,
  error: 'method_not_allowed',
  message: 'Only GET and HEAD are answered.',
  headers: { Allow: 'GET, HEAD' },
};

const failed: Refusal = {
  status: 500,
  error: 'internal_error',
  message: 'The request could not be answered.',
};

/** Of a request that cannot be read, by the error of Node.js. */
const refusals: Readonly<Record<string, Refusal>> = {
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

/** What is wrong with a request that can be read; undefined where nothing is. */
function wrongWith(request: IncomingMessage, { urlLetters }: Bounds): Refusal | undefined {
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

/** No response to GET or HEAD needs one. */
function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

function sendRefusal(response: ServerResponse, refusal: Refusal): void {
  const { body, headers } = contentOf(refusal);
  response.shouldKeepAlive = false;
  response.writeHead(refusal.status, headers);
  response.end(body);
}

/** The same where there is no request to respond to: as it goes over the wire. */
function asText(refusal: Refusal): string {
  const { body, headers } = contentOf(refusal);
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return [`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`, ...lines, '', body].join('\r\n');
}

function contentOf({ error, message, headers }: Refusal) {
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
