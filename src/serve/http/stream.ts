/** Bodies that come and go piece by piece, no faster than they are read, and the end of a call. */

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Resolves when more may be written; rejects with ClientGone where nobody reads any longer. */
export type Write = (piece: string | Uint8Array) => Promise<void>;

/** Writes a whole body. Where it throws, the connection is cut: half a body must not pass for a whole one. */
export type Stream = (write: Write) => Promise<void>;

/** The client has gone, which is no failure. */
export class ClientGone extends Error {}

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

/** The body did not come whole: too late, or malformed. */
export class BadBody extends Error {
  readonly error: 'request_timeout' | 'bad_request';

  constructor(error: BadBody['error']) {
    super(error);
    this.error = error;
  }
}

/**
 * The body of a request as text; undefined for one of more than `maxBytes`.
 * @throws BadBody, and ClientGone where the client broke off.
 */
export function readBody(
  { incoming }: Pick<Exchange, 'incoming'>,
  maxBytes: number,
): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    incoming.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes <= maxBytes) pieces.push(piece);
      else resolve(undefined);
    });
    incoming.once('end', () => resolve(Buffer.concat(pieces).toString('utf8')));
    incoming.once('error', ({ code = '' }: NodeJS.ErrnoException) => {
      // An error of the parser has a code of its own; every other one is that of a connection that ended.
      if (code === 'ERR_HTTP_REQUEST_TIMEOUT') reject(new BadBody('request_timeout'));
      else reject(code.startsWith('HPE_') ? new BadBody('bad_request') : new ClientGone());
    });
    incoming.once('close', () => reject(new ClientGone()));
  });
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
