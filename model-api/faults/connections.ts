/** Faults of the connection: slow, cut, or silent. */

import type { ServerResponse } from 'node:http';
import { bodyBytes, type Fault } from '../answer.ts';

/** The answer as planned, later. */
export function slow(ms: number): Fault {
  return (answer) => ({ ...answer, delayMs: answer.delayMs + ms });
}

/** No byte ever comes; the connection stays open. */
export function hang(): Fault {
  return (answer) => ({ ...answer, deliver: () => null });
}

/** The connection is reset before any header. */
export function resetBeforeHeaders(): Fault {
  return (answer) => ({
    ...answer,
    deliver: (response) => {
      response.socket?.resetAndDestroy();
      return null;
    },
  });
}

/** The head and the first part of the body come, then a reset. */
export function resetMidBody(part = 0.5): Fault {
  return cutAfter(part, (response) => response.socket?.resetAndDestroy());
}

/** The head and the first part of the body come, then nothing more; the connection stays open. */
export function hangMidBody(part = 0.5): Fault {
  return cutAfter(part, () => {});
}

/** Chunked, and closed without the last chunk. */
export function truncatedChunks(part = 0.5): Fault {
  const cut = cutAfter(part, (response) => response.socket?.end());
  return (answer, context) =>
    cut({ ...answer, headers: { ...answer.headers, 'transfer-encoding': 'chunked' } }, context);
}

/** The body in pieces of `bytes`, `everyMs` apart. */
export function drip({ bytes: size = 1, everyMs = 50 } = {}): Fault {
  return (answer) => ({
    ...answer,
    async deliver(response, bytes, wait) {
      let sent = 0;
      for (; sent + size < bytes.length && !response.destroyed; sent += size) {
        response.write(bytes.subarray(sent, sent + size));
        await wait(everyMs);
      }
      return bytes.subarray(sent);
    },
  });
}

/** Content-Length says `by` bytes more (or less, if negative) than are sent; the connection closes after them. */
export function contentLengthOff(by: number): Fault {
  const cut = cutAfter(1, (response) => response.socket?.end());
  return (answer, context) => {
    const body = bodyBytes(answer.body);
    const headers = { ...answer.headers, 'content-length': String(Math.max(0, body.length + by)) };
    return cut({ ...answer, body, headers }, context);
  };
}

/** A whole answer on a connection that is closed at once, though keep-alive was agreed. */
export function closeAfterwards(): Fault {
  return (answer) => ({
    ...answer,
    deliver(response, bytes) {
      // Taken now: an answer that is finished has let go of its socket.
      const { socket } = response;
      response.once('finish', () => socket?.destroySoon());
      return bytes;
    },
  });
}

function cutAfter(part: number, cut: (response: ServerResponse) => void): Fault {
  return (answer) => ({
    ...answer,
    deliver(response, bytes) {
      response.write(bytes.subarray(0, Math.floor(bytes.length * part)), () => cut(response));
      return null;
    },
  });
}
