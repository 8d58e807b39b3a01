/** Writing a long result at the pace of whoever reads it. */

import { type EventEmitter, once } from 'node:events';
import type { Output } from '../context.ts';

/** Writes every piece, waiting where the output is full; ends quietly where its reader has gone, as `head` does. */
export async function deliver(output: Output, pieces: AsyncIterable<string>): Promise<void> {
  let broken: Error | undefined;
  const onError = (error: Error) => {
    broken = error;
  };
  const stream = isStream(output) ? output : undefined;
  stream?.on('error', onError);
  try {
    for await (const piece of pieces) {
      const ready: unknown = output.write(piece);
      if (ready === false && stream && !broken) await once(stream, 'drain').catch(onError);
      if (broken) break;
    }
  } finally {
    // A pipe may break after the last write, while its buffer empties: the listener stays, or it would be a crash.
    stream?.once('close', () => stream.off('error', onError));
  }
  if (broken && (broken as NodeJS.ErrnoException).code !== 'EPIPE') throw broken;
}

function isStream(output: Output): output is Output & EventEmitter {
  return 'on' in output;
}
