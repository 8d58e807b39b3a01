/** Where results go: a stream that is written at the pace of its reader, in colours where it has them. */

import { type EventEmitter, once } from 'node:events';
import { styleText } from 'node:util';

export type Output = { write(text: string): void; isTTY?: boolean; columns?: number };

/** Resolves when more may be written: to false where the reader has gone, as `head` does, and nobody takes more. */
export type Write = (piece: string | Uint8Array) => Promise<boolean>;

/** @throws the error of an output that broke otherwise. */
export function writerTo(output: Output): Write {
  const stream = isStream(output) ? output : undefined;
  let broken: NodeJS.ErrnoException | undefined;
  // A pipe may break after the last write, while its buffer empties: the listener stays, or it would be a crash.
  stream?.on('error', (error) => {
    broken = error;
  });
  return async (piece) => {
    const ready: unknown = output.write(piece as string);
    if (ready === false && stream && !broken) await once(stream, 'drain').catch(() => undefined);
    if (broken && broken.code !== 'EPIPE') throw broken;
    return !broken;
  };
}

function isStream(output: Output): output is Output & EventEmitter {
  return 'on' in output;
}

type Style = Parameters<typeof styleText>[0];
export type Paint = (style: Style, text: string) => string;

/** A terminal says itself what it can show, and honours NO_COLOR and TERM. */
export function paintFor(output: Output & { hasColors?(): boolean }): Paint {
  const coloured = output.isTTY && (output.hasColors?.() ?? true);
  return coloured ? (style, text) => styleText(style, text, { validateStream: false }) : (_, text) => text;
}
