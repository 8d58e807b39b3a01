/**
 * The open connections and their bounds: what each waits for, how many of its requests are read before their responses are sent,
 * and which one is evicted where there is no room for another.
 */

import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** How much of the service one client may take, and for how long. Times are in milliseconds. */
const defaultBounds = {
  /** Of the request line and all headers together; more gets a 431. */
  headerBytes: 16 * 1_024,
  /** Characters of path and query; more gets a 414. */
  urlLetters: 8 * 1_024,
  /** Open connections. Where that many are open, one without a request makes room for a new one. */
  connections: 1_000,
  /** Requests in flight on one connection; then the connection is not read until one has its response. */
  inFlight: 8,
  /** Responses on one connection before it is closed, so that clients spread anew over what is behind a balancer. */
  requests: 100_000,
  /** For a TLS handshake, and for the headers of a request from its first byte on; then 408, or a close where nothing came. */
  headersMs: 10_000,
  /** For a whole request, with its body where one is read; then 408. */
  requestMs: 15_000,
  /** For the next request of a connection. Longer than a minute, for which proxies commonly keep theirs. */
  idleMs: 65_000,
  /** In which a client must send or read something, unless it waits for us. */
  stalledMs: 30_000,
  /** How long a client has to read a response that is complete. */
  takenMs: 120_000,
  /** For responses that are in flight at the end. */
  graceMs: 8_000,
  /** How often connections are checked. */
  lookMs: 1_000,
  /** How often certificate and key are checked for changes. */
  certificateMs: 5_000,
};

export type Bounds = Readonly<typeof defaultBounds>;

/** @param openFiles how many files this process may open, where that is known: each connection takes one. */
export function boundsOf(options: Partial<Bounds> = {}, openFiles = maxOpenFiles()): Bounds {
  const connections = Math.max(1, Math.min(defaultBounds.connections, Math.floor(openFiles / 2)));
  return { ...defaultBounds, connections, ...options };
}

/** Beyond it the system turns new connections away, however silent the old ones are. */
function maxOpenFiles(): number {
  try {
    const [, max] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return Number(max ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

type ClientConnection = {
  readonly socket: Socket;
  /** The socket, or TLS on top of it. */
  stream: Socket;
  /** Of requests in flight, oldest first; more than one where a client pipelines. */
  readonly responses: Set<ServerResponse>;
  /** The latest request: no other can have an incomplete body. */
  lastRequest: IncomingMessage | undefined;
  served: number;
  /** When its latest request began, or its latest response ended. */
  since: number;
  /** Since when a complete response waits for the client to read it. */
  unreadSince: number | undefined;
  /** It closes as soon as nothing is in flight. */
  isLast: boolean;
  /** Reads on, where too many requests were in flight. */
  readOn(): void;
};

export type ConnectionTracker = ReturnType<typeof trackConnections>;

/** @param onFull called each time that a connection is evicted or turned away. */
export function trackConnections(bounds: Bounds, now: () => number, onFull: () => void) {
  /** Oldest first. */
  const all = new Set<ClientConnection>();
  const byStream = new WeakMap<Duplex, ClientConnection>();
  /** By the client's address and port, which TLS has as well. */
  const byEnds = new Map<string, ClientConnection>();
  const runInTurn = taskQueue();

  function makeRoom(): boolean {
    if (all.size < bounds.connections) return true;
    onFull();
    const victim = evictionVictim([...all]);
    if (!victim) return false;
    cut(victim);
    return all.delete(victim);
  }

  function finish(connection: ClientConnection, response: ServerResponse): void {
    connection.responses.delete(response);
    connection.since = now();
    connection.unreadSince = undefined;
    if (connection.isLast && connection.responses.size === 0) connection.stream.destroySoon();
    else connection.readOn();
  }

  function isFull({ responses, isLast, lastRequest }: ClientConnection): boolean {
    // The rest of a body is always read.
    if (lastRequest && !lastRequest.complete) return false;
    return isLast || responses.size >= bounds.inFlight;
  }

  return {
    /** Accepts a new connection, or closes it where there is no room. */
    open(socket: Socket): void {
      if (!makeRoom()) return void socket.destroy();
      const connection: ClientConnection = {
        socket,
        stream: socket,
        responses: new Set(),
        lastRequest: undefined,
        served: 0,
        since: now(),
        unreadSince: undefined,
        isLast: false,
        readOn() {},
      };
      const ends = endsOf(socket);
      all.add(connection);
      byEnds.set(ends, connection);
      socket.once('close', () => {
        all.delete(connection);
        if (byEnds.get(ends) === connection) byEnds.delete(ends);
      });
    },
    /** Reads requests from a stream: the socket, or TLS on top of it. */
    receive(stream: Socket): void {
      const connection = byEnds.get(endsOf(stream));
      if (!connection) return void stream.destroy();
      connection.stream = stream;
      byStream.set(stream, connection);
      connection.readOn = readByRequest(stream, () => isFull(connection), runInTurn);
    },
    of: (stream: Duplex) => byStream.get(stream),
    /** A request is in flight. @param isLast it is the last of its connection. */
    begin(
      connection: ClientConnection,
      request: IncomingMessage,
      response: ServerResponse,
      isLast: boolean,
    ): void {
      connection.served += 1;
      connection.since = now();
      connection.lastRequest = request;
      connection.responses.add(response);
      connection.isLast = isLast || connection.served >= bounds.requests;
      if (connection.isLast) response.shouldKeepAlive = false;
      response.on('close', () => finish(connection, response));
    },
    /** Reads no more requests, and gives what was sent last a moment to arrive. */
    dismiss(connection: ClientConnection): void {
      closeAfterResponses(connection);
      connection.since = now();
      if (connection.responses.size === 0) connection.unreadSince = now();
    },
    /** Cuts a connection on which no byte has moved for `stalledMs`, unless its client has read all there is and waits for more. */
    cutStalled(stream: Socket): void {
      const { responses, lastRequest } = byStream.get(stream) ?? {};
      const waitsForUs = responses?.size && lastRequest?.complete && stream.writableLength === 0;
      if (!waitsForUs) stream.destroy();
    },
    /** Closes those whose clients do not read what was sent. */
    closeOverdue(): void {
      const at = now();
      for (const connection of all) {
        const { responses, unreadSince, isLast } = connection;
        if (responses.size === 0) {
          if (isLast && unreadSince !== undefined && at - unreadSince >= bounds.lookMs) cut(connection);
          continue;
        }
        const [first] = responses;
        if (!first?.writableEnded) continue;
        connection.unreadSince ??= at;
        if (at - connection.unreadSince >= bounds.takenMs) cut(connection);
      }
    },
    /** Closes connections without requests in flight; the others close after their responses. */
    drain(): void {
      for (const connection of all) {
        closeAfterResponses(connection);
        if (connection.responses.size === 0) connection.stream.destroySoon();
      }
    },
  };
}

/** Responses whose headers are not sent yet say `Connection: close`. */
function closeAfterResponses(connection: ClientConnection): void {
  connection.isLast = true;
  for (const response of connection.responses) response.shouldKeepAlive = false;
}

function cut({ stream, socket }: ClientConnection): void {
  stream.destroy();
  socket.destroy();
}

/** Names a connection to one port. */
const endsOf = ({ remoteAddress, remotePort, localAddress }: Socket) =>
  `${remoteAddress} ${remotePort} ${localAddress}`;

/**
 * A connection without a complete request, else one whose client does not read: the oldest of the address that has most
 * connections, so that a crowd makes room for itself and nobody else does. Undefined where all have a request in flight.
 */
function evictionVictim(all: readonly ClientConnection[]): ClientConnection | undefined {
  const withoutRequest = all.filter(
    ({ responses, lastRequest }) => responses.size === 0 || !lastRequest?.complete,
  );
  const candidates =
    withoutRequest.length > 0 ? withoutRequest : all.filter(({ stream }) => stream.writableLength > 0);
  const counts = new Map<string | undefined, number>();
  for (const { socket } of all) counts.set(socket.remoteAddress, (counts.get(socket.remoteAddress) ?? 0) + 1);
  const crowd = ({ socket }: ClientConnection) => counts.get(socket.remoteAddress) ?? 0;
  return candidates.reduce<ClientConnection | undefined>((worst, other) => {
    if (!worst || crowd(other) > crowd(worst)) return other;
    return crowd(other) === crowd(worst) && other.since < worst.since ? other : worst;
  }, undefined);
}

/** Ends the headers of a request. */
const BLANK_LINE = '\r\n\r\n';

const NOTHING = Buffer.alloc(0);

/**
 * Gives Node.js the bytes of a stream request by request. By itself it would parse all requests of a chunk of 64 kB, some 1,500,
 * and call the handler for each, before any other connection has a turn. Here a request that comes alone is parsed at once, each
 * further one in a turn of the event loop of its own, and none while `isFull`: nothing more is received then, and the client has
 * to wait.
 *
 * The stream is a `Readable` whose source is the system: it calls `push`, and `_read` requests more of it. Both are wrapped, which
 * works for TLS as well, and costs a request that comes alone only a search for its blank line.
 * @returns what to call when `isFull` may have become false.
 */
function readByRequest(
  stream: Socket,
  isFull: () => boolean,
  runInTurn: (work: () => void) => void,
): () => void {
  const push = stream.push.bind(stream);
  const receive = stream._read.bind(stream);
  let received: Buffer = NOTHING;
  let isOver = false;
  let hasTurn = false;

  /** @returns whether more may be received. */
  function pass(end = endOfRequest(received)): boolean {
    // What is not parsed yet waits for a response that its client has to read first.
    if (received.length === 0 || stream.destroyed || isFull() || stream.readableLength > 0) return false;
    const part = received.subarray(0, end);
    received = end < received.length ? received.subarray(end) : NOTHING;
    const isWanted = push(part);
    if (received.length > 0) return false;
    return isOver ? push(null) : isWanted;
  }

  function readOn(): void {
    if (hasTurn || received.length === 0) return;
    hasTurn = true;
    runInTurn(() => {
      hasTurn = false;
      pass();
    });
  }

  stream.push = (chunk: Buffer | null) => {
    if (chunk === null) {
      isOver = true;
      return received.length === 0 ? push(null) : false;
    }
    if (received.length > 0) {
      received = Buffer.concat([received, chunk]);
      return false;
    }
    received = chunk;
    const end = endOfRequest(chunk);
    if (end === chunk.length) return pass(end);
    readOn();
    return false;
  };
  stream._read = (bytes) => (received.length > 0 ? readOn() : receive(bytes));
  // Without a listener of ours Node.js reads the system's stream itself, and nothing of it comes by here.
  stream.on('data', readOn);
  return readOn;
}

/** Where the first blank line of a chunk is over, or the chunk. The line may have begun in the chunk before. */
function endOfRequest(chunk: Buffer): number {
  let lineBreaks = 0;
  while (lineBreaks < BLANK_LINE.length && (chunk[lineBreaks] === 13 || chunk[lineBreaks] === 10))
    lineBreaks += 1;
  if (lineBreaks > 0) return lineBreaks;
  const at = chunk.indexOf(BLANK_LINE);
  return at < 0 ? chunk.length : at + BLANK_LINE.length;
}

/** @returns what runs some work in a turn of the event loop of its own, after the work that waits already. */
function taskQueue(): (work: () => void) => void {
  const waiting: (() => void)[] = [];
  const runNext = () => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(runNext);
  };
  return (work) => {
    if (waiting.push(work) === 1) setImmediate(runNext);
  };
}
