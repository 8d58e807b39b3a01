/** A response: plain data until it is sent (errors, entity tags, encodings), or a stream that is sent no faster than it is read; and the end of a call. */

import { hash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { ClientGone } from './request.ts';

export type HttpResponse<Body = Uint8Array | string | null> = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null for a response without a body. */
  readonly body: Body;
};

/** Resolves when more may be written; rejects with ClientGone where nobody reads any longer. */
export type Write = (piece: string | Uint8Array) => Promise<void>;

/** Writes a whole body. Where it throws, the connection is cut: half a body must not pass for a whole one. */
export type Stream = (write: Write) => Promise<void>;

export type StreamedResponse = HttpResponse<Uint8Array | string | Stream | null>;

const errors = {
  invalid_seq: [400, 'seq must be the X-Mirror-Seq of an earlier answer of this endpoint.'],
  bad_request: [400, 'The request cannot be understood.'],
  not_found: [404, 'There is no such endpoint.'],
  method_not_allowed: [405, 'The method is not allowed: Allow names those that are.'],
  request_timeout: [408, 'The request took too long to arrive.'],
  seq_gone: [410, 'That moment is no longer kept. Ask again without seq.'],
  misdirected_request: [421, 'This service does not answer to that host name.'],
  internal_error: [500, 'Something went wrong here. X-Request-ID names the request.'],
  service_unavailable: [503, 'A required service is temporarily unavailable.'],
} as const;

/** With an Error body (specification, "Errors"), which says no more than the specification does. */
export function errorResponse(
  error: keyof typeof errors,
  headers: HttpResponse['headers'] = {},
): HttpResponse {
  const [status, message] = errors[error];
  return jsonResponse(status, { error, message }, headers);
}

/** @param seconds whole ones until it is worth trying again; null where that helps nothing. */
export const retryAfter = (seconds: number | null): HttpResponse['headers'] =>
  seconds === null ? {} : { 'Retry-After': String(seconds) };

/** For errors and facts about the service itself, which nobody may store. */
export function jsonResponse(
  status: number,
  body: unknown,
  headers: HttpResponse['headers'] = {},
): HttpResponse {
  return {
    status,
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', ...headers },
    body: JSON.stringify(body),
  };
}

/** Of a body that nothing but its bytes names. Weak, since the body may be compressed. */
export function digestEtag(bytes: string | Buffer): string {
  return `W/"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`;
}

/** @param ifNoneMatch the header; compared weakly, as RFC 9110 has it for GET. */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const strong = etag.slice(2);
  return (
    ifNoneMatch.trim() === '*' ||
    ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === strong)
  );
}

const encodings = ['br', 'gzip', 'identity'] as const;
export type Encoding = (typeof encodings)[number];

/** The encoding that a client likes best; of those it likes alike the first. @param header `Accept-Encoding`. */
export function encodingOf(header: string | undefined): Encoding {
  if (header === undefined || header === '' || header === 'identity') return 'identity';
  const found = preferred(header, 1).find((name) => (encodings as readonly string[]).includes(name));
  return (found ?? 'identity') as Encoding;
}

/**
 * What a header such as `Accept` names, without what it refuses (`q=0`): in lower case, the best first, and of those that are
 * liked alike in their order.
 * @param malformed the weight of what has one that is no number.
 */
export function preferred(header: string, malformed: 0 | 1): string[] {
  const items = header.split(',').map((item) => {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((each) => /^q\s*=/.test(each))?.replace(/^q\s*=/, '') ?? '1';
    const q = Number(weight);
    return { name, q: Number.isNaN(q) ? malformed : q };
  });
  return items
    .filter(({ q }) => q > 0)
    .sort((one, other) => other.q - one.q)
    .map(({ name }) => name);
}

/**
 * `quick`, for what is compressed while a client waits: a list page of 90 kB takes about a millisecond, and the last tenth of its
 * size would take ten times as long. `thorough`, for what is compressed once and sent to all.
 */
const levels = { quick: { gzip: 6, brotli: 4 }, thorough: { gzip: 9, brotli: 9 } } as const;

/** A body in the encoding that it has. */
export type Packed = { readonly bytes: Uint8Array; readonly encoding: Encoding };

/** Anything smaller is not worth the work on either side. */
const MIN_COMPRESSED_BYTES = 1_000;

/** @param wanted what its client likes best. */
export async function packed(bytes: Buffer, wanted: Encoding): Promise<Packed> {
  if (wanted === 'identity' || bytes.length < MIN_COMPRESSED_BYTES) return { bytes, encoding: 'identity' };
  return { bytes: await compress(bytes, wanted, 'quick'), encoding: wanted };
}

export const packedHeaders = ({ encoding }: Packed): HttpResponse['headers'] =>
  encoding === 'identity' ? {} : { 'Content-Encoding': encoding };

export async function compress(
  bytes: Buffer,
  encoding: Exclude<Encoding, 'identity'>,
  effort: keyof typeof levels,
): Promise<Buffer> {
  const level = levels[effort];
  if (encoding === 'gzip') return await promisify(gzip)(bytes, { level: level.gzip });
  return await promisify<Buffer, object, Buffer>(brotliCompress)(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: level.brotli,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
}

/** A request and its response, which share a connection. */
export type Exchange = { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse };

/** @throws what `stream` throws, and ClientGone; the connection is cut then. */
export async function streamTo(exchange: Exchange, stream: Stream): Promise<void> {
  const { outgoing } = exchange;
  const signal = abortSignalOf(exchange);
  const write: Write = async (piece) => {
    if (outgoing.destroyed) throw new ClientGone();
    if (outgoing.write(piece)) return;
    await once(outgoing, 'drain', { signal }).catch(() => {
      throw new ClientGone();
    });
  };
  try {
    outgoing.flushHeaders();
    await stream(write);
    outgoing.end();
  } catch (thrown) {
    outgoing.destroy();
    throw thrown;
  }
}

/** What runs when a connection closes: one listener of it serves all calls that come by it. */
const callbacks = new WeakMap<Socket, Set<() => void>>();

/**
 * Runs `work` once when the call is over; at once where its connection has closed already. Node.js sends no event to a response
 * that waits behind another on the connection.
 */
export function onFinished({ incoming: { socket }, outgoing }: Exchange, work: () => void): void {
  if (socket.destroyed) {
    work();
    return;
  }
  const pending = callbacks.get(socket) ?? new Set();
  if (!callbacks.has(socket)) {
    callbacks.set(socket, pending);
    socket.once('close', () => {
      for (const finish of pending) finish();
    });
  }
  const finish = () => {
    if (pending.delete(finish)) work();
  };
  pending.add(finish);
  // By `once`, each call would make another function, and take it away again.
  outgoing.on('close', finish);
}

/** Aborted when the client is gone. Made only for work that waits: a signal costs as much as a cached list page. */
export function abortSignalOf(exchange: Exchange): AbortSignal {
  const gone = new AbortController();
  onFinished(exchange, () => gone.abort());
  return gone.signal;
}
