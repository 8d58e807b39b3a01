/**
 * A port on which requests are received and answered, with and without TLS. No client holds more than its share, and no
 * response is cut off at the end. What is not HTTP, or breaks a bound, is refused here; the handler gets the rest.
 */

import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Clock } from '../../clock.ts';
import { readTlsFiles, type ServeAddress, type TlsFiles } from '../../config.ts';
import { Failure, toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { isLoopback, networksOf } from '../../networks.ts';
import { isQueryPath, toErrorBody } from '../query/errors.ts';
import { headerCount } from './client.ts';
import { type Bounds, boundsOf, type ConnectionTracker, trackConnections } from './connections.ts';

export type ListenAddress = ServeAddress & {
  readonly tls?: TlsFiles | undefined;
  /** Addresses and networks that may connect without TLS, beside this machine. */
  readonly proxies?: readonly string[];
};

type ListenOptions = {
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  readonly bounds?: Partial<Bounds>;
};

export type Listening = {
  /** Such as `http://127.0.0.1:4020`. */
  readonly url: string;
  /** Accepts no more requests; resolves when those in flight have their responses, or were cut off after the grace. */
  end(): Promise<void>;
};

/** Where more connections wait to be accepted, the system drops new ones, and clients try again after a second. */
const BACKLOG = 4_096;

const MIN_TLS_VERSION = 'TLSv1.2';

/**
 * @throws Failure `config` for an address where this user cannot listen, or for a certificate and key that cannot be used;
 * `incomplete` for a port that is in use, naming the process that holds it where that can be known.
 */
export async function listen(
  handle: RequestListener,
  address: ListenAddress,
  { clock, log, bounds: options }: ListenOptions,
): Promise<Listening> {
  const bounds = boundsOf(options);
  const { tls } = address;
  // Noted before the files are read, so that a change in between is noticed.
  const certificate = tls && stateOf(tls);
  const server = createHttpServer(tls, bounds);
  const warnFull = rarely(clock, () =>
    log.warn(
      { connections: bounds.connections },
      'as many connections are open as may be: silent ones are closed for new ones',
    ),
  );
  const connections = trackConnections(bounds, clock.monotonic, warnFull);
  acceptConnections(server, connections, address, { clock, log });
  answerRequests(server, connections, handle, bounds, log);
  await bind(server, address);
  // Such as too many open files: clients that are connected go on being answered.
  server.on('error', ({ message }) => log.error({}, `a connection could not be taken: ${message}`));

  const ended = new AbortController();
  repeatUntil(ended.signal, clock, bounds.lookMs, connections.closeOverdue);
  if (tls && certificate !== undefined) {
    const follow = certificateFollower(server as TlsServer, tls, certificate, log);
    repeatUntil(ended.signal, clock, bounds.certificateMs, follow);
  }
  let ending: Promise<void> | undefined;
  return {
    url: urlOf(server, address),
    end() {
      ending ??= drain(server, connections, bounds.graceMs, clock).finally(() => ended.abort());
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
    connectionsCheckingInterval: bounds.lookMs,
    // Required below, where its absence gets a response with a body.
    requireHostHeader: false,
  };
  const server = tls
    ? createTlsServer({
        ...options,
        ...readPair(tls),
        minVersion: MIN_TLS_VERSION,
        handshakeTimeout: bounds.headersMs,
      })
    : createServer(options);
  server.timeout = bounds.stalledMs;
  // Node.js would drop headers beyond a number without a word; their bytes are bounded.
  server.maxHeadersCount = 0;
  return server;
}

function acceptConnections(
  server: Server,
  connections: ConnectionTracker,
  { tls, proxies = [] }: ListenAddress,
  { clock, log }: ListenOptions,
): void {
  const isPeer = tls ? () => true : peersOf(proxies);
  const warnRefused = rarely(clock, (address) =>
    log.warn({ address }, 'closed to all but the proxies of MIRROR_SERVE_TRUST, as there is no TLS'),
  );
  server.on('connection', (socket: Socket) => {
    if (isPeer(socket)) return connections.open(socket);
    warnRefused(socket.remoteAddress);
    socket.destroy();
  });
  server.on(tls ? 'secureConnection' : 'connection', connections.receive);
  server.on('timeout', connections.cutStalled);
}

/**
 * Who may connect without TLS: this machine, and the proxies that are named. Anybody else would show their key to the network.
 * @param proxies addresses and networks.
 */
export function peersOf(
  proxies: readonly string[],
): (ends: Pick<Socket, 'remoteAddress' | 'localAddress'>) => boolean {
  const isProxy = networksOf(proxies);
  return ({ remoteAddress = '', localAddress }) =>
    // From one of its own addresses to the same, nothing leaves this machine.
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
    case 'EADDRINUSE': {
      // On another address of the machine the same port may be another's.
      const by = holdersOfPort(port).join(' or ') || 'a process that this user cannot see';
      return new Failure('incomplete', `${where}: in use by ${by}; end it, or listen on another port`);
    }
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

/** The state of a socket that listens, in the tables of the kernel. */
const LISTENS = '0A';

/** The processes that listen on a port, for people, as far as Linux lets this user see: none of other users. */
function holdersOfPort(port: number): string[] {
  const sockets = new Set(['tcp', 'tcp6'].flatMap((table) => listenersIn(`/proc/net/${table}`, port)));
  if (sockets.size === 0) return [];
  return orNone(() => readdirSync('/proc'))
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => socketsOf(pid).some((socket) => sockets.has(socket)))
    .map((pid) => {
      const [command = 'gone'] = orNone(() => [readFileSync(`/proc/${pid}/comm`, 'utf8').trim()]);
      return `process ${pid} (${command})`;
    });
}

/** As links to them look: `socket:[12345]`. */
function listenersIn(table: string, port: number): string[] {
  const [, ...lines] = orNone(() => readFileSync(table, 'utf8').trim().split('\n'));
  return lines.flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
    const isIt = state === LISTENS && Number.parseInt(local.split(':').at(-1) ?? '', 16) === port;
    return isIt ? [`socket:[${inode}]`] : [];
  });
}

function socketsOf(pid: string): string[] {
  const folder = `/proc/${pid}/fd`;
  return orNone(() => readdirSync(folder)).flatMap((fd) => orNone(() => [readlinkSync(`${folder}/${fd}`)]));
}

function orNone(read: () => string[]): string[] {
  try {
    return read();
  } catch {
    return [];
  }
}

function urlOf(server: Server, { host, tls }: ListenAddress): string {
  const { port } = server.address() as AddressInfo;
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Ends by itself where all requests have their responses; `Connection: close` on each makes its client let go at once. */
async function drain(
  server: Server,
  connections: ConnectionTracker,
  graceMs: number,
  clock: Clock,
): Promise<void> {
  const inTime = new AbortController();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  connections.drain();
  const cutOff = clock.sleep(graceMs, inTime.signal).then(
    () => server.closeAllConnections(),
    () => undefined,
  );
  await closed;
  inTime.abort();
  await cutOff;
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

/**
 * @param used the state of the files that are in use.
 * @returns what uses a new pair once the files have changed. A pair that cannot be used is logged once for each reason, and
 * tried again: it may be half of a change.
 */
function certificateFollower(
  server: TlsServer,
  files: TlsFiles,
  used: string,
  log: ListenOptions['log'],
): () => void {
  let problem = '';
  return () => {
    const state = stateOf(files);
    if (state === used) return;
    try {
      server.setSecureContext({ ...readPair(files), minVersion: MIN_TLS_VERSION });
      [used, problem] = [state, ''];
      log.info({ certificate: files.certFile }, 'the new certificate is in use');
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown;
      if (thrown.message !== problem) log.error({}, `${thrown.message}; the one before stays in use`);
      problem = thrown.message;
    }
  };
}

/** Follows links: programs that renew certificates often change both files at once by one. */
function stateOf({ certFile, keyFile }: TlsFiles): string {
  const states = [certFile, keyFile].map((file) => {
    try {
      const { dev, ino, size, mtimeMs } = statSync(file);
      return [dev, ino, size, mtimeMs].join(' ');
    } catch (thrown) {
      return toError(thrown).message;
    }
  });
  return states.join(', ');
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

async function repeatUntil(signal: AbortSignal, clock: Clock, ms: number, work: () => void): Promise<void> {
  for (;;) {
    try {
      await clock.sleep(ms, signal);
    } catch {
      return;
    }
    work();
  }
}

/** A request, or what Node.js makes of nonsense, on its way to the handler or to a refusal. */
function answerRequests(
  server: Server,
  connections: ConnectionTracker,
  handle: RequestListener,
  bounds: Bounds,
  log: Pick<Log, 'error'>,
): void {
  const answer: RequestListener = (request, response) => {
    const connection = connections.of(request.socket);
    if (!connection) return void request.socket.destroy();
    // The client sent it before it could know that the connection would be closed.
    if (connection.isLast) return;
    const refusal = refusalOf(request, bounds);
    // A body may hide a request (request smuggling), so nothing behind one is read.
    connections.begin(connection, request, response, refusal !== undefined || hasBody(request));
    if (refusal) return sendRefusal(response, refusal);
    try {
      handle(request, response);
    } catch (thrown) {
      log.error({ err: toError(thrown) }, 'a request could not be answered');
      if (response.headersSent) response.destroy();
      else sendRefusal(response, refusals.failed);
    }
  };
  server.on('request', answer);
  // No client is asked to go on and send a body.
  server.on('checkContinue', answer);
  server.on('checkExpectation', answer);
  server.on('connect', (_, stream) => refuse(connections, stream, refusals.tunnel));
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const isSilent = (stream as Socket).bytesRead === 0;
    if (isSilent || error.code === 'ECONNRESET') return void stream.destroy();
    const request = connections.of(stream)?.lastRequest;
    if (request && !request.complete) breakBody(request, error);
    else refuse(connections, stream, refusalsByCode[error.code ?? ''] ?? refusals.bad);
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

function sendRefusal(response: ServerResponse, refusal: Refusal): void {
  const { body, headers } = contentOf(refusal, response.req.url);
  response.shouldKeepAlive = false;
  response.writeHead(refusal.status, headers);
  response.end(body);
}

/** Refuses what is no request, after the responses that are in flight; there is no ServerResponse for it. */
function refuse(connections: ConnectionTracker, stream: Duplex, refusal: Refusal): void {
  const connection = connections.of(stream);
  if (connection?.isLast) return;
  if (!connection || !stream.writable) return void stream.destroy();
  connections.dismiss(connection);
  // Between the parts of a response nothing else can be said.
  if (connection.responses.size > 0) return;
  const { body, headers } = contentOf(refusal);
  const lines = Object.entries({ ...headers, Connection: 'close' }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  const { status } = refusal;
  stream.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'));
}

function contentOf({ status, error, message, headers }: Refusal, url = '') {
  const body = JSON.stringify(isQueryPath(url) ? toErrorBody(status, message) : { error, message });
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
