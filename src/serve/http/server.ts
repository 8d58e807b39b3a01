/**
 * A port on which requests are received and answered, with and without TLS. Node.js bounds what one client may take, and no
 * response is cut off at the end. What is not HTTP, or breaks a bound, is refused here; the handler gets the rest.
 */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Clock } from '../../base/clock.ts';
import { Failure, toError } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import { isLoopback, networksOf } from '../../base/networks.ts';
import { readTlsFiles, type ServeAddress, type TlsFiles } from '../../config.ts';
import { headerCount } from './request.ts';

/** How much of the service one client may take, and for how long. Times are in milliseconds. */
const defaultBounds = {
  /** Of the request line and all headers together; more gets a 431. */
  headerBytes: 16 * 1_024,
  /** Characters of path and query; more gets a 414. */
  urlLetters: 8 * 1_024,
  /** Open connections. Where that many are open, a new one is closed. */
  connections: 1_000,
  /** Responses on one connection before it is closed, so that clients spread anew over what is behind a balancer. */
  requests: 100_000,
  /** For a TLS handshake, and for the headers of a request from its first byte on; then 408, or a close where nothing came. */
  headersMs: 10_000,
  /** For a whole request, with its body where one is read; then 408. */
  requestMs: 15_000,
  /** For the next request of a connection. Longer than a minute, for which proxies commonly keep theirs. */
  idleMs: 65_000,
  /** In which something must be sent or taken. Longer than a response may be silent while it is made. */
  silentMs: 150_000,
  /** For responses that are in flight at the end. */
  graceMs: 8_000,
  /** How often Node.js looks whose time is over. */
  checkMs: 1_000,
};

export type Bounds = Readonly<typeof defaultBounds>;

/** @param openFiles how many files this process may open, where that is known: each connection takes one. */
export function boundsOf(options: Partial<Bounds> = {}, openFiles = maxOpenFiles()): Bounds {
  const connections = Math.max(1, Math.min(defaultBounds.connections, Math.floor(openFiles / 2)));
  return { ...defaultBounds, connections, ...options };
}

function maxOpenFiles(): number {
  try {
    const [, max] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return Number(max ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

export type ListenAddress = ServeAddress & {
  readonly tls?: TlsFiles | undefined;
  /** Addresses and networks that may connect without TLS, beside this machine. */
  readonly proxies?: readonly string[];
};

type ListenOptions = {
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  readonly bounds?: Partial<Bounds>;
  /** The body of an error as clients of the path expect it; an Error of the specification unless given. */
  readonly errorBody?: (path: string, status: number, error: ErrorBody) => unknown;
};

type ErrorBody = { readonly error: string; readonly message: string };

export type Listening = {
  /** Such as `http://127.0.0.1:4020`. */
  readonly url: string;
  /** Accepts no more requests; resolves when those in flight have their responses, or were cut off after the grace. */
  end(): Promise<void>;
};

/** Where more connections wait to be accepted, the system drops new ones, and clients try again after a second. */
const BACKLOG = 4_096;

/**
 * @throws Failure `config` for an address where this user cannot listen, or for a certificate and key that cannot be used;
 * `incomplete` for a port that is in use.
 */
export async function listen(
  handle: RequestListener,
  address: ListenAddress,
  { clock, log, bounds: options, errorBody = (_path, _status, error) => error }: ListenOptions,
): Promise<Listening> {
  const bounds = boundsOf(options);
  const server = createHttpServer(address.tls, bounds);
  const connections = acceptConnections(server, address, bounds, { clock, log });
  answerRequests(server, handle, bounds, log, errorBody);
  await bind(server, address);
  // Such as too many open files: clients that are connected go on being answered.
  server.on('error', ({ message }) => log.error({}, `a connection could not be taken: ${message}`));
  let ending: Promise<void> | undefined;
  return {
    url: urlOf(server, address),
    end() {
      ending ??= drain(server, connections, bounds.graceMs, clock);
      return ending;
    },
  };
}

function createHttpServer(tls: TlsFiles | undefined, bounds: Bounds): Server {
  const options: ServerOptions = {
    maxHeaderSize: bounds.headerBytes,
    headersTimeout: bounds.headersMs,
    requestTimeout: bounds.requestMs,
    keepAliveTimeout: bounds.idleMs,
    connectionsCheckingInterval: bounds.checkMs,
    // Required below, where its absence gets a response with a body.
    requireHostHeader: false,
  };
  const server = tls
    ? createTlsServer({
        ...options,
        ...readPair(tls),
        minVersion: 'TLSv1.2',
        handshakeTimeout: bounds.headersMs,
      })
    : createServer(options);
  server.timeout = bounds.silentMs;
  server.maxConnections = bounds.connections;
  server.maxRequestsPerSocket = bounds.requests;
  // Node.js would drop headers beyond a number without a word; their bytes are bounded.
  server.maxHeadersCount = 0;
  return server;
}

/** The open connections; `streams`: of those on which requests come, over TLS or plainly. */
type Connections = { readonly sockets: Set<Socket>; readonly streams: Set<Socket> };

function acceptConnections(
  server: Server,
  { tls, proxies = [] }: ListenAddress,
  bounds: Bounds,
  { clock, log }: ListenOptions,
): Connections {
  const isPeer = tls ? () => true : mayConnectWithoutTls(proxies);
  const warnRefused = rarely(clock, (address) =>
    log.warn({ address }, 'closed to all but the proxies of MIRROR_SERVE_TRUST, as there is no TLS'),
  );
  const warnFull = rarely(clock, () =>
    log.warn(
      { connections: bounds.connections },
      'as many connections are open as may be: new ones are closed',
    ),
  );
  const connections = { sockets: new Set<Socket>(), streams: new Set<Socket>() };
  const track = (open: Set<Socket>) => (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  };
  server.on('connection', (socket: Socket) => {
    if (isPeer(socket)) return;
    warnRefused(socket.remoteAddress);
    socket.destroy();
  });
  server.on('connection', track(connections.sockets));
  server.on(tls ? 'secureConnection' : 'connection', track(connections.streams));
  server.on('drop', () => warnFull());
  return connections;
}

/**
 * Who may connect without TLS: this machine, and the proxies that are named. Anybody else would show their key to the network.
 * @param proxies addresses and networks.
 */
export function mayConnectWithoutTls(
  proxies: readonly string[],
): (ends: Pick<Socket, 'remoteAddress' | 'localAddress'>) => boolean {
  const isProxy = networksOf(proxies);
  return ({ remoteAddress = '', localAddress }) =>
    // Between two ends with one address nothing leaves this machine.
    remoteAddress === localAddress || isLoopback(remoteAddress) || isProxy(remoteAddress);
}

async function bind(server: Server, address: ListenAddress): Promise<void> {
  try {
    server.listen({ host: address.host, port: address.port, backlog: BACKLOG });
    await once(server, 'listening');
  } catch (thrown) {
    server.close();
    throw listenFailure(thrown, address);
  }
}

/** Why a port cannot be listened on, and what to do about it. */
function listenFailure(thrown: unknown, { host, port }: { host: string; port: number }): Failure {
  const { code, message } = toError(thrown) as NodeJS.ErrnoException;
  const where = `${host}, port ${port}`;
  switch (code) {
    case 'EADDRINUSE':
      return new Failure(
        'incomplete',
        `${where}: in use: ss -ltnp shows by which process; end it, or listen on another port`,
      );
    case 'EACCES':
    case 'EPERM':
      return new Failure(
        'config',
        `${where}: this user may not listen there; take a port above 1023, or give the right (CAP_NET_BIND_SERVICE)`,
      );
    case 'EADDRNOTAVAIL':
      return new Failure(
        'config',
        `${where}: this machine has no such address; ip address lists those it has`,
      );
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new Failure(
        'config',
        `${where}: no such name is known (${code}); give an address of this machine`,
      );
    default:
      return new Failure('incomplete', `${where}: cannot be listened on (${code ?? message})`, {
        cause: thrown,
      });
  }
}

function urlOf(server: Server, { host, tls }: ListenAddress): string {
  const { port } = server.address() as AddressInfo;
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The response that was last begun on a connection. */
const latest = new WeakMap<Duplex, Exchange>();

type Exchange = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Nothing behind it is answered. */
  isLast: boolean;
};

const isInFlight = (exchange: Exchange | undefined) => exchange?.response.writableEnded === false;

/** `Connection: close` on each response in flight makes its client let go at once. */
async function drain(
  server: Server,
  { sockets, streams }: Connections,
  graceMs: number,
  clock: Clock,
): Promise<void> {
  const inTime = new AbortController();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const stream of streams) {
    const exchange = latest.get(stream);
    if (exchange && isInFlight(exchange)) closeBehind(exchange);
    else stream.destroySoon();
  }
  const cutOff = clock.sleep(graceMs, inTime.signal).then(
    () => {
      for (const socket of sockets) socket.destroy();
    },
    () => undefined,
  );
  await closed;
  inTime.abort();
  await cutOff;
}

/** The connection closes once this response is sent; what its client has asked behind it is asked anew on another one. */
function closeBehind(exchange: Exchange): void {
  const { request, response, isLast } = exchange;
  if (isLast) return;
  exchange.isLast = true;
  response.shouldKeepAlive = false;
  // Where its headers were sent already.
  response.once('close', () => request.socket.destroySoon());
}

type CertificatePair = Pick<SecureContextOptions, 'cert' | 'key'>;

/** @throws Failure `config` where they cannot be read, or do not belong together. */
function readPair(files: TlsFiles): CertificatePair {
  const pair = readTlsFiles(files);
  try {
    createSecureContext(pair);
    return pair;
  } catch (thrown) {
    throw new Failure(
      'config',
      `MIRROR_SERVE_TLS_CERT (${files.certFile}) and MIRROR_SERVE_TLS_KEY (${files.keyFile}) are no certificate and key that belong together: ${toError(thrown).message}`,
    );
  }
}

/** After so long without a repetition, a fact counts as new. */
const LOG_AGAIN_MS = 60_000;

/** @returns what logs a fact that repeats again and again when it begins, and when it begins anew. */
function rarely<Fact extends unknown[]>(
  { monotonic }: Pick<Clock, 'monotonic'>,
  log: (...fact: Fact) => void,
): (...fact: Fact) => void {
  let lastAt = Number.NEGATIVE_INFINITY;
  return (...fact) => {
    const at = monotonic();
    if (at - lastAt > LOG_AGAIN_MS) log(...fact);
    lastAt = at;
  };
}

/** A request, or what Node.js makes of nonsense, on its way to the handler or to a refusal. */
function answerRequests(
  server: Server,
  handle: RequestListener,
  bounds: Bounds,
  log: Pick<Log, 'error'>,
  errorBody: NonNullable<ListenOptions['errorBody']>,
): void {
  const answer: RequestListener = (request, response) => {
    const before = latest.get(request.socket);
    // One request of a connection is in flight at a time: the client asks this one again on another (RFC 9112, 9.3.2).
    if (before && isInFlight(before)) closeBehind(before);
    if (before?.isLast) return;
    const refusal = refusalOf(request, bounds);
    const exchange = { request, response, isLast: false };
    latest.set(request.socket, exchange);
    // A body may hide a request (request smuggling), so nothing behind one is read.
    if (refusal || hasBody(request)) closeBehind(exchange);
    if (refusal) return send(response, refusal);
    try {
      handle(request, response);
    } catch (thrown) {
      log.error({ err: toError(thrown) }, 'a request could not be answered');
      if (response.headersSent) response.destroy();
      else send(response, refusals.failed);
    }
  };
  const send = (response: ServerResponse, refusal: Refusal) =>
    sendRefusal(response, refusal, errorBody(response.req.url ?? '', refusal.status, errorOf(refusal)));
  server.on('request', answer);
  // No client is asked to go on and send a body.
  server.on('checkContinue', answer);
  server.on('checkExpectation', answer);
  server.on('connect', (_, stream) => refuse(stream, refusals.tunnel));
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const isSilent = (stream as Socket).bytesRead === 0;
    if (isSilent || error.code === 'ECONNRESET') return void stream.destroy();
    const { request } = latest.get(stream) ?? {};
    if (request && !request.complete) breakBody(request, error);
    else refuse(stream, refusalsByCode[error.code ?? ''] ?? refusals.bad);
  });
}

/** The client went away in the middle of a body. */
const BROKEN_OFF = 'HPE_INVALID_EOF_STATE';

/** A handler that reads the body gets the error, and responds; where none reads it, the response is another already. */
function breakBody(request: IncomingMessage, error: NodeJS.ErrnoException): void {
  if (error.code === BROKEN_OFF) request.socket.destroy();
  else if (request.listenerCount('error') > 0) request.emit('error', error);
}

type Refusal = {
  readonly status: number;
  readonly error: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
};

const refusals = {
  bad: { status: 400, error: 'bad_request', message: 'This is not a valid HTTP request.' },
  tunnel: {
    status: 405,
    error: 'method_not_allowed',
    message: 'Only GET and HEAD are answered.',
    headers: { Allow: 'GET, HEAD' },
  },
  slow: { status: 408, error: 'request_timeout', message: 'The request took too long to arrive.' },
  longUrl: { status: 414, error: 'uri_too_long', message: 'The path and query are too long.' },
  longHeaders: {
    status: 431,
    error: 'headers_too_large',
    message: 'The request line and headers are too long.',
  },
  failed: { status: 500, error: 'internal_error', message: 'The request could not be answered.' },
} satisfies Record<string, Refusal>;

/** By the error of Node.js. */
const refusalsByCode: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: refusals.longHeaders,
  ERR_HTTP_REQUEST_TIMEOUT: refusals.slow,
};

function refusalOf(request: IncomingMessage, { urlLetters }: Bounds): Refusal | undefined {
  if ((request.url?.length ?? 0) > urlLetters) return refusals.longUrl;
  const hosts = headerCount(request, 'host');
  // A proxy may take another of two hosts than we would, or find another end to a body in codings of its own.
  const isMissing = hosts === 0 && request.httpVersion === '1.1';
  const coding = request.headers['transfer-encoding']?.toLowerCase();
  const isCoded = coding !== undefined && coding !== 'chunked';
  return hosts > 1 || isMissing || isCoded ? refusals.bad : undefined;
}

/** No response to GET or HEAD needs one. */
function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

function sendRefusal(response: ServerResponse, refusal: Refusal, error: unknown): void {
  const { body, headers } = contentOf(refusal, error);
  response.shouldKeepAlive = false;
  response.writeHead(refusal.status, headers);
  response.end(body);
}

const refused = new WeakSet<Duplex>();

/** For what was sent last to arrive: what is left unread behind it would have the system cut it off. */
const LAST_WORD_MS = 1_000;

/** Refuses what is no request, after the response that is in flight; there is no ServerResponse for it. */
function refuse(stream: Duplex, refusal: Refusal): void {
  const exchange = latest.get(stream);
  // Between the parts of a response nothing else can be said.
  if (exchange && isInFlight(exchange)) closeBehind(exchange);
  if (exchange?.isLast || refused.has(stream)) return;
  refused.add(stream);
  const { body, headers } = contentOf(refusal, errorOf(refusal));
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  const { status } = refusal;
  stream.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'));
  setTimeout(() => stream.destroy(), LAST_WORD_MS).unref();
}

const errorOf = ({ error, message }: Refusal): ErrorBody => ({ error, message });

function contentOf({ headers }: Refusal, error: unknown) {
  const body = JSON.stringify(error);
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
