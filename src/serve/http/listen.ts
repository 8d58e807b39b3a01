/**
 * A port on which requests are taken and answered, with and without TLS, so that no client holds more than its share
 * and none is cut off at the end. It knows nothing of what is answered.
 */

import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Clock } from '../../clock.ts';
import type { ServeAddress, TlsFiles } from '../../config.ts';
import type { Log } from '../../log.ts';
import { isLoopback } from '../../networks.ts';
import { networksOf } from '../service/keys/addresses.ts';
import { type Bounds, boundsOf } from './listen/bounds.ts';
import { followPair, readPair, stateOf } from './listen/certificate.ts';
import { type Connections, trackConnections } from './listen/connections.ts';
import { listenFailure } from './listen/failure.ts';
import { answerRequests } from './listen/requests.ts';

export type Place = ServeAddress & {
  readonly tls?: TlsFiles | undefined;
  /** Addresses and networks that may connect without TLS; others but this machine may not. */
  readonly proxies?: readonly string[];
};

export type ListenParts = {
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  readonly bounds?: Partial<Bounds>;
};

export type Listening = {
  /** Such as `http://127.0.0.1:4020`. */
  readonly url: string;
  /** Takes no more requests; resolves when those under way are answered, or have been cut off after their grace. */
  end(): Promise<void>;
};

/** Where more connections wait to be taken, the system drops who comes, and they try again after a second. */
const MOST_UNTAKEN = 4_096;

/** So long after the last time it counts as beginning anew. */
const SAID_AGAIN_MS = 60_000;

/**
 * Answers by `handle` what comes to the place.
 * @throws Failure `config` for a place where this user cannot listen, or for a certificate and key that cannot be used;
 * `incomplete` for a port that is in use, naming who holds it where that can be known.
 */
export async function listen(handle: RequestListener, place: Place, parts: ListenParts): Promise<Listening> {
  const { clock, log } = parts;
  const bounds = boundsOf(parts.bounds);
  const { tls } = place;
  const certificate = tls && stateOf(tls);
  const server = serverFor(tls, bounds);
  const full = sayingRarely(clock, () =>
    log.warn(
      { connections: bounds.connections },
      'as many connections are open as may be: silent ones are closed for new ones',
    ),
  );
  const connections = trackConnections(bounds, clock.monotonic, full);
  taking(server, connections, place, parts);
  answerRequests(server, connections, handle, bounds, log);
  await bind(server, place);
  // Such as that no more files can be opened: those who are connected are answered.
  server.on('error', ({ message }) => log.error({}, `a connection could not be taken: ${message}`));

  const over = new AbortController();
  const repeat = (ms: number, work: () => void) => void repeating(clock, ms, work, over.signal);
  repeat(bounds.lookMs, connections.closeOverdue);
  if (tls && certificate !== undefined)
    repeat(bounds.certificateMs, followingPair(server, tls, certificate, log));

  let ended: Promise<void> | undefined;
  return {
    url: urlOf(server, place),
    end() {
      ended ??= drain(server, connections, bounds.graceMs, clock).finally(() => over.abort());
      return ended;
    },
  };
}

function serverFor(tls: TlsFiles | undefined, bounds: Bounds): Server {
  const options: ServerOptions = {
    maxHeaderSize: bounds.headerBytes,
    headersTimeout: bounds.headersMs,
    requestTimeout: bounds.requestMs,
    keepAliveTimeout: bounds.idleMs,
    connectionsCheckingInterval: bounds.lookMs,
    // Asked below, where it is answered with a body.
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
  server.timeout = bounds.stalledMs;
  // Those beyond the number would be dropped without a word; their bytes are bounded.
  server.maxHeadersCount = 0;
  return server;
}

function taking(
  server: Server,
  connections: Connections,
  { tls, proxies = [] }: Place,
  { clock, log }: ListenParts,
): void {
  const isPeer = tls ? () => true : peersOf(proxies);
  const sayRefused = sayingRarely(clock, (address) =>
    log.warn({ address }, 'closed to all but the proxies of MIRROR_SERVE_TRUST, as there is no TLS'),
  );
  server.on('connection', (socket: Socket) => {
    if (isPeer(socket)) return connections.open(socket);
    sayRefused(socket.remoteAddress);
    socket.destroy();
  });
  server.on(tls ? 'secureConnection' : 'connection', connections.receive);
}

/**
 * Who may connect without TLS: this machine, and the proxies that are named. Anybody else would show their key to the network.
 * @param proxies addresses and networks.
 */
export function peersOf(
  proxies: readonly string[],
): (ends: Pick<Socket, 'remoteAddress' | 'localAddress'>) => boolean {
  const isProxy = networksOf(proxies);
  return ({ remoteAddress = '', localAddress }) => {
    // From one of its own addresses to the same, nothing leaves this machine.
    const isHere = remoteAddress === localAddress || isLoopback(remoteAddress);
    return isHere || isProxy(remoteAddress);
  };
}

async function bind(server: Server, place: Place): Promise<void> {
  try {
    server.listen({ host: place.host, port: place.port, backlog: MOST_UNTAKEN });
    await once(server, 'listening');
  } catch (thrown) {
    server.close();
    throw listenFailure(thrown, place);
  }
}

function urlOf(server: Server, { host, tls }: Place): string {
  const { port } = server.address() as AddressInfo;
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function followingPair(server: Server, tls: TlsFiles, used: string, log: ListenParts['log']): () => void {
  return followPair(
    tls,
    used,
    (pair) => {
      (server as ReturnType<typeof createTlsServer>).setSecureContext({ ...pair, minVersion: 'TLSv1.2' });
      log.info({ certificate: tls.certFile }, 'the new certificate is in use');
    },
    ({ message }) => log.error({}, `${message}; the one before stays in use`),
  );
}

/** It ends by itself where all are answered; `Connection: close` on each answer makes their clients let go at once. */
async function drain(server: Server, connections: Connections, graceMs: number, clock: Clock): Promise<void> {
  const patience = new AbortController();
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  connections.drain();
  const impatient = clock.sleep(graceMs, patience.signal).then(
    () => server.closeAllConnections(),
    () => undefined,
  );
  await closed;
  patience.abort();
  await impatient;
}

/** Says what happens again and again when it begins, and again when it begins anew. */
function sayingRarely<Fact extends unknown[]>(
  { monotonic }: Clock,
  say: (...fact: Fact) => void,
): (...fact: Fact) => void {
  let lastAt = Number.NEGATIVE_INFINITY;
  return (...fact) => {
    const at = monotonic();
    if (at - lastAt > SAID_AGAIN_MS) say(...fact);
    lastAt = at;
  };
}

async function repeating(clock: Clock, ms: number, work: () => void, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await clock.sleep(ms, signal);
    } catch {
      return;
    }
    work();
  }
}
