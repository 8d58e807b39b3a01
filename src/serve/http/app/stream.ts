/** Bodies that come and go piece by piece, no faster than they are read, and the end of a call. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Resolves when more may be written; rejects where nobody takes it any longer. */
export type Write = (piece: string | Uint8Array) => Promise<void>;

/** Writes a whole body. Where it throws, the connection is cut: what came of it must not pass for all. */
export type Stream = (write: Write) => Promise<void>;

/** That the client has gone, which is no failure. */
export class Gone extends Error {}

/** @throws what `stream` throws, and Gone; the connection is cut then. */
export async function streamTo(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  stream: Stream,
): Promise<void> {
  let leave = () => {};
  const gone = new Promise<never>((_, reject) => {
    leave = () => reject(new Gone());
  });
  gone.catch(() => undefined);
  onFinished(incoming, outgoing, () => leave());
  const { socket } = incoming;
  const patienceMs = socket.timeout ?? 0;
  const write: Write = async (piece) => {
    if (outgoing.destroyed) throw new Gone();
    if (outgoing.write(piece)) return;
    socket.setTimeout(patienceMs);
    await Promise.race([new Promise<void>((resolve) => outgoing.once('drain', resolve)), gone]);
    socket.setTimeout(0);
  };
  try {
    // A client is waited for so long and no longer; it waits for us as long as it likes.
    socket.setTimeout(0);
    outgoing.flushHeaders();
    await stream(write);
    socket.setTimeout(patienceMs);
    outgoing.end();
  } catch (thrown) {
    outgoing.destroy();
    throw thrown;
  }
}

/** The body did not come whole: too late, or in no good form. */
export class BadBody extends Error {
  readonly error: 'request_timeout' | 'bad_request';

  constructor(error: BadBody['error']) {
    super(error);
    this.error = error;
  }
}

/**
 * The body of a request as text; undefined for one of more bytes than `most`.
 * @throws BadBody, and Gone where the client broke off.
 */
export async function bodyOf(incoming: IncomingMessage, most: number): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  return await new Promise((resolve, reject) => {
    incoming.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes <= most) pieces.push(piece);
      else resolve(undefined);
    });
    incoming.once('end', () => resolve(Buffer.concat(pieces).toString('utf8')));
    incoming.once('error', (thrown) => reject(bodyError(thrown)));
    incoming.once('close', () => reject(new Gone()));
  });
}

/** An error of the parser has a code of its own; every other one is that of a connection that ended. */
function bodyError({ code = '' }: NodeJS.ErrnoException): BadBody | Gone {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new BadBody('request_timeout');
  return code.startsWith('HPE_') ? new BadBody('bad_request') : new Gone();
}

/** What is to be done if the connection closes; one listener of it serves all calls that come by it. */
const pending = new WeakMap<Socket, Set<() => void>>();

/**
 * Does some work once when the call is over; at once where its connection has closed already. Node.js does not tell an answer of
 * that which waits behind another on the connection.
 */
export function onFinished({ socket }: IncomingMessage, outgoing: ServerResponse, work: () => void): void {
  if (socket.destroyed) {
    work();
    return;
  }
  const waiting = pending.get(socket) ?? watch(socket);
  const over = () => {
    if (waiting.delete(over)) work();
  };
  waiting.add(over);
  outgoing.once('close', over);
}

function watch(socket: Socket): Set<() => void> {
  const waiting = new Set<() => void>();
  pending.set(socket, waiting);
  socket.once('close', () => {
    for (const over of [...waiting]) over();
  });
  return waiting;
}
