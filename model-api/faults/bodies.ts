/** Faults in the bytes and headers of an answer that is otherwise as planned. */

import { gzipSync } from 'node:zlib';
import { bodyBytes } from '../answer.ts';
import type { Fault } from './script.ts';

/** The body's first part only, with a Content-Length to match. */
export function truncated(part = 0.5): Fault {
  return editBytes((bytes) => bytes.subarray(0, Math.floor(bytes.length * part)));
}

export function emptyBody(): Fault {
  return editBytes(() => Buffer.alloc(0));
}

/** A byte that UTF-8 does not know, in the middle of the first string. */
export function invalidUtf8(): Fault {
  return editBytes((bytes) => {
    const inside = bytes.indexOf('"') + 2;
    return Buffer.concat([bytes.subarray(0, inside), Buffer.from([0xff]), bytes.subarray(inside)]);
  });
}

export function byteOrderMark(): Fault {
  return editBytes((bytes) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]));
}

/** Padded with spaces, which JSON allows, to at least this many bytes. */
export function huge(size = 32 * 2 ** 20): Fault {
  return editBytes((bytes) => Buffer.concat([bytes, Buffer.alloc(Math.max(0, size - bytes.length), ' ')]));
}

/** Changes the JSON text: for numbers and member names that JavaScript cannot hold. */
export function editText(change: (text: string) => string): Fault {
  return editBytes((bytes) => Buffer.from(change(bytes.toString())));
}

/** Compressed, though nobody may have asked for it. */
export function gzipped(): Fault {
  return (answer, context) =>
    headers({ 'content-encoding': 'gzip' })(editBytes(gzipSync)(answer, context), context);
}

export function contentType(type: string): Fault {
  return headers({ 'content-type': type });
}

/** Sets headers, replaces them, or with undefined leaves them out. An array sends one several times. */
export function headers(changes: Record<string, string | readonly string[] | undefined>): Fault {
  return (answer) => {
    const changed = Object.entries({ ...answer.headers, ...changes });
    const kept = changed.filter(
      (entry): entry is [string, string | readonly string[]] => entry[1] !== undefined,
    );
    return { ...answer, headers: Object.fromEntries(kept) };
  };
}

export function withoutRateLimitHeaders(): Fault {
  return headers({ 'x-ratelimit-limit': undefined, 'x-ratelimit-remaining': undefined });
}

function editBytes(change: (bytes: Buffer) => Buffer): Fault {
  return (answer) => ({ ...answer, body: change(bodyBytes(answer.body)) });
}
