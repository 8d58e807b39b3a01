/** A thread of its own for what would keep this one from answering others. */

import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';

/** @param file of the thread, with the extension of whoever starts it: `.ts` from the sources, as tests do. */
export function startThread(file: URL, workerData: unknown): Worker {
  const worker = new Worker(extname(file.pathname) === '.ts' ? fromSource(file) : file, { workerData });
  // What ends it between two questions is told to whoever asks next; unheard, it would end the process.
  worker.on('error', () => undefined);
  return worker;
}

/** It needs the loader of TypeScript, which flags give to the first thread alone. */
function fromSource(file: URL): URL {
  const loader = import.meta.resolve('tsx/esm/api');
  return new URL(
    `data:text/javascript,import { register } from '${loader}'; register(); await import('${file}');`,
  );
}

/** What Node.js calls a thread that has ended. */
const GONE = -1;

/**
 * One question at a time. The process is kept alive for an answer, not for the thread.
 * @throws what ended the thread, and what `ended` makes where it ended without a word.
 */
export async function askThread<Answered>(
  worker: Worker,
  asked: unknown,
  ended: () => Error,
): Promise<Answered> {
  const end = new AbortController();
  const { signal } = end;
  if (worker.threadId === GONE) throw ended();
  worker.ref();
  try {
    // Rejects with what ended the thread, where that is what happens.
    const answer = once(worker, 'message', { signal });
    const exit = once(worker, 'exit', { signal }).then(() => {
      throw ended();
    });
    worker.postMessage(asked);
    const [answered] = await Promise.race([answer, exit]);
    return answered as Answered;
  } finally {
    end.abort();
    worker.unref();
  }
}
