/** Writing a long result at the pace of whoever reads it. */

import { type EventEmitter, once } from 'node:events';
import type { Output } from '../context.ts';

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
