/** Answers that are written piece by piece, no faster than they are taken. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { onceOver } from './once-over.ts';

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
  onceOver(incoming, outgoing, () => leave());
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

/** The body of a request as text; undefined for one of more bytes than `most`. */
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
    incoming.once('error', () => reject(new Gone()));
    incoming.once('close', () => reject(new Gone()));
  });
}
