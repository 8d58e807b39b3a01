/**
 * The open connections: what each is waiting for, how many requests of it are read before their responses are sent, and
 * which one is evicted where there is no room for another.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Bounds } from './bounds.ts';

export type Connection = {
  readonly socket: Socket;
  /** What requests come by: the socket, or TLS on top of it. */
  stream: Socket;
  /** Of requests in flight, oldest first; more than one where a client pipelines. */
  readonly responses: Set<ServerResponse>;
  /** The request that came last: no other can have a body that is not complete. */
  lastRequest: IncomingMessage | undefined;
  served: number;
  /** When it began to do what it does now. */
  since: number;
  /** Since when a complete response waits for the client to read it. */
  unreadSince: number | undefined;
  /** It is closed as soon as nothing is in flight. */
  isLast: boolean;
  /** Goes on to read, where it stopped because as many requests were in flight as may be. */
  readOn(): void;
};

export type Connections = {
  /** Takes a new connection, or closes it where there is no room. */
  open(socket: Socket): void;
  /** Its requests come by this stream: the socket, or TLS on top of it. */
  receive(stream: Socket): void;
  of(stream: Duplex): Connection | undefined;
  /** A request is in flight. @param isLast it is the last of its connection. */
  begin(connection: Connection, request: IncomingMessage, response: ServerResponse, isLast: boolean): void;
  /** Answers nothing that comes from now on: gives what was sent last a moment to arrive. */
  dismiss(connection: Connection): void;
  /** Closes those whose clients do not read what was sent. */
  closeOverdue(): void;
  /** Closes those on which nothing is in flight; the others after their responses. */
  drain(): void;
};

/** @param full called each time that a connection is evicted or turned away. */
export function trackConnections(bounds: Bounds, now: () => number, full: () => void): Connections {
  /** Oldest first. */
  const all = new Set<Connection>();
  const byStream = new WeakMap<Duplex, Connection>();
  /** By the client's address and port, which TLS has as well. */
  const byEnds = new Map<string, Connection>();
  const inTurn = oneInTurn();

  function makeRoom(): boolean {
    if (all.size < bounds.connections) return true;
    full();
    const victim = evictionVictim([...all]);
    if (!victim) return false;
    cut(victim);
    return all.delete(victim);
  }

  function finish(connection: Connection, response: ServerResponse): void {
    connection.responses.delete(response);
    connection.since = now();
    connection.unreadSince = undefined;
    if (connection.isLast && connection.responses.size === 0) connection.stream.destroySoon();
    else connection.readOn();
  }

  function isFull({ responses, isLast, lastRequest }: Connection): boolean {
    // The rest of its body is always read.
    if (lastRequest && !lastRequest.complete) return false;
    return isLast || responses.size >= bounds.inFlight;
  }

  return {
    open(socket) {
      if (!makeRoom()) return void socket.destroy();
      const connection: Connection = {
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
    receive(stream) {
      const connection = byEnds.get(endsOf(stream));
      if (!connection) return void stream.destroy();
      connection.stream = stream;
      byStream.set(stream, connection);
      connection.readOn = readByRequest(stream, () => isFull(connection), inTurn);
    },
    of: (stream) => byStream.get(stream),
    begin(connection, request, response, isLast) {
      connection.served += 1;
      connection.since = now();
      connection.lastRequest = request;
      connection.responses.add(response);
      connection.isLast = isLast || connection.served >= bounds.requests;
      if (connection.isLast) response.shouldKeepAlive = false;
      response.once('close', () => finish(connection, response));
    },
    dismiss(connection) {
      endAfter(connection);
      connection.since = now();
      if (connection.responses.size === 0) connection.unreadSince = now();
    },
    closeOverdue() {
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
    drain() {
      for (const connection of all) {
        endAfter(connection);
        if (connection.responses.size === 0) connection.stream.destroySoon();
      }
    },
  };
}

/** Responses whose headers are not sent yet say so. */
function endAfter(connection: Connection): void {
  connection.isLast = true;
  for (const response of connection.responses) response.shouldKeepAlive = false;
}

function cut({ stream, socket }: Connection): void {
  stream.destroy();
  socket.destroy();
}

/** The client's end; of all connections to one port each has another. */
const endsOf = ({ remoteAddress, remotePort, localAddress }: Socket) =>
  `${remoteAddress} ${remotePort} ${localAddress}`;

/**
 * A connection without a complete request, else one whose response is not read: the oldest of the address that has most
 * connections, so that a crowd makes room for itself, and nobody else does. Undefined where every one is being answered.
 */
function evictionVictim(all: readonly Connection[]): Connection | undefined {
  const unasked = all.filter(({ responses, lastRequest }) => responses.size === 0 || !lastRequest?.complete);
  const candidates = unasked.length > 0 ? unasked : all.filter(({ stream }) => stream.writableLength > 0);
  const counts = new Map<string | undefined, number>();
  for (const { socket } of all) counts.set(socket.remoteAddress, (counts.get(socket.remoteAddress) ?? 0) + 1);
  const crowd = ({ socket }: Connection) => counts.get(socket.remoteAddress) ?? 0;
  return candidates.reduce<Connection | undefined>((worst, other) => {
    if (!worst || crowd(other) > crowd(worst)) return other;
    return crowd(other) === crowd(worst) && other.since < worst.since ? other : worst;
  }, undefined);
}

/** Ends the headers of a request. */
const BLANK_LINE = '\r\n\r\n';

const NOTHING = Buffer.alloc(0);

/**
 * Lets Node.js have what the stream receives request by request. It would parse all requests of a chunk of 64 kB, some
 * 1,500, and call the handler for each, before anybody else has a turn. Now a request that comes alone is parsed at once, each
 * other one in a turn of the event loop of its own, and none while `isFull`; nothing more is received meanwhile, and the
 * client has to wait.
 *
 * The stream is a `Readable` whose source is the system: `push` comes from it, `_read` asks it for more. Both are put
 * between here, which works for TLS as well, and costs a request that comes alone nothing but a look for its blank line.
 * @returns what has to be called when `isFull` may have become false.
 */
function readByRequest(
  stream: Socket,
  isFull: () => boolean,
  inTurn: (work: () => void) => void,
): () => void {
  const push = stream.push.bind(stream);
  const receive = stream._read.bind(stream);
  let received: Buffer = NOTHING;
  let isOver = false;
  let hasTurn = false;

  /** @returns whether more may be received. */
  function pass(): boolean {
    // What is not parsed yet waits for a response that its client has to read first.
    if (received.length === 0 || stream.destroyed || isFull() || stream.readableLength > 0) return false;
    const end = endOfRequest(received);
    const part = received.subarray(0, end);
    received = end < received.length ? received.subarray(end) : NOTHING;
    const isWanted = push(part);
    if (received.length > 0) return false;
    return isOver ? push(null) : isWanted;
  }

  function readOn(): void {
    if (hasTurn || received.length === 0) return;
    hasTurn = true;
    inTurn(() => {
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
    if (endOfRequest(chunk) === chunk.length) return pass();
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
function oneInTurn(): (work: () => void) => void {
  const waiting: (() => void)[] = [];
  const take = () => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(take);
  };
  return (work) => {
    if (waiting.push(work) === 1) setImmediate(take);
  };
}
