/** Who is connected, what each is waiting for, and who has to go where there is no more room. */

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Bounds } from './bounds.ts';

export type Connection = {
  readonly socket: Socket;
  /** What requests come by: the socket, or TLS on top of it. */
  stream: Socket;
  /** Under way, oldest first; more than one where requests come without waiting for answers. */
  readonly answers: Set<ServerResponse>;
  served: number;
  /** When it began to do what it does now. */
  since: number;
  /** Since when an answer that is written waits to be taken. */
  untakenSince: number | undefined;
  /** It is closed as soon as nothing is under way. */
  isLast: boolean;
};

export type Connections = {
  /** Notes a new one, or closes it where there is no room. */
  open(socket: Socket): void;
  /** From now on requests come over TLS. */
  secured(stream: Socket): void;
  of(stream: Duplex): Connection | undefined;
  /** An answer is under way on it. @param isLast and nothing else is to be asked on it. */
  begin(connection: Connection, answer: ServerResponse, isLast: boolean): void;
  /** Nothing that comes on it any more is answered: gives what was sent last a moment to arrive. */
  dismiss(connection: Connection): void;
  /** Ends those that take too long. */
  look(): void;
  /** Ends those where nothing is under way; the others as soon as they are answered. */
  drain(): void;
};

/** @param full told each time that one has to go for another. */
export function trackConnections(bounds: Bounds, now: () => number, full: () => void): Connections {
  /** Oldest first. */
  const all = new Set<Connection>();
  const byStream = new WeakMap<Duplex, Connection>();
  /** Where TLS is not yet agreed on. */
  const handshakes = new Map<string, Connection>();

  function makeRoom(): boolean {
    if (all.size < bounds.connections) return true;
    full();
    const victim = leastMissed([...all]);
    if (!victim) return false;
    cut(victim);
    return all.delete(victim);
  }

  function settle(connection: Connection, answer: ServerResponse): void {
    connection.answers.delete(answer);
    connection.since = now();
    connection.untakenSince = undefined;
    if (connection.isLast && connection.answers.size === 0) connection.stream.destroySoon();
  }

  return {
    open(socket) {
      if (!makeRoom()) return void socket.destroy();
      const since = now();
      const connection: Connection = {
        socket,
        stream: socket,
        answers: new Set(),
        served: 0,
        since,
        untakenSince: undefined,
        isLast: false,
      };
      const place = placeOf(socket);
      all.add(connection);
      byStream.set(socket, connection);
      handshakes.set(place, connection);
      socket.once('close', () => {
        all.delete(connection);
        if (handshakes.get(place) === connection) handshakes.delete(place);
      });
    },
    secured(stream) {
      const connection = handshakes.get(placeOf(stream));
      if (!connection) return void stream.destroy();
      connection.stream = stream;
      byStream.set(stream, connection);
    },
    of: (stream) => byStream.get(stream),
    begin(connection, answer, isLast) {
      connection.served += 1;
      connection.since = now();
      connection.answers.add(answer);
      connection.isLast = isLast || connection.served >= bounds.requests;
      if (connection.isLast) answer.shouldKeepAlive = false;
      answer.once('close', () => settle(connection, answer));
    },
    dismiss(connection) {
      endAfter(connection);
      connection.since = now();
      if (connection.answers.size === 0) connection.untakenSince = now();
    },
    look() {
      const at = now();
      for (const connection of all) {
        const { answers, untakenSince, isLast } = connection;
        if (answers.size === 0) {
          if (isLast && untakenSince !== undefined && at - untakenSince >= bounds.lookMs) cut(connection);
          continue;
        }
        const [first] = answers;
        if (!first?.writableEnded) continue;
        connection.untakenSince ??= at;
        if (at - connection.untakenSince >= bounds.takenMs) cut(connection);
      }
    },
    drain() {
      for (const connection of all) {
        endAfter(connection);
        if (connection.answers.size === 0) connection.stream.destroySoon();
      }
    },
  };
}

/** Answers that have not begun yet say so. */
function endAfter(connection: Connection): void {
  connection.isLast = true;
  for (const answer of connection.answers) answer.shouldKeepAlive = false;
}

function cut({ stream, socket }: Connection): void {
  stream.destroy();
  socket.destroy();
}

/** The other end; of all connections to one port each has another. */
const placeOf = ({ remoteAddress, remotePort, localAddress }: Socket) =>
  `${remoteAddress} ${remotePort} ${localAddress}`;

/**
 * One on which nothing is asked, else one whose answer is not taken: the oldest of the address that has most of them, so
 * that nobody but the crowd itself makes room for a crowd. Undefined where every one is being answered.
 */
function leastMissed(all: readonly Connection[]): Connection | undefined {
  const silent = all.filter(({ answers }) => answers.size === 0);
  const candidates = silent.length > 0 ? silent : all.filter(({ stream }) => stream.writableLength > 0);
  const counts = new Map<string | undefined, number>();
  for (const { socket } of all) counts.set(socket.remoteAddress, (counts.get(socket.remoteAddress) ?? 0) + 1);
  const crowd = ({ socket }: Connection) => counts.get(socket.remoteAddress) ?? 0;
  return candidates.reduce<Connection | undefined>((worst, other) => {
    if (!worst || crowd(other) > crowd(worst)) return other;
    return crowd(other) === crowd(worst) && other.since < worst.since ? other : worst;
  }, undefined);
}
