/** A thread of its own for what would keep this one from answering others. */

import { once } from 'node:events';
import { parentPort, Worker } from 'node:worker_threads';
import { asFailure, Failure, type FailureSent, receivedFailure, sentFailure } from './errors.ts';
import { programFile } from './program-file.ts';

/** @param file of the thread, seen from `starter`, without its extension. @param starter `import.meta.url` of whoever starts it. */
export function startThread(file: string, starter: string, workerData: unknown): Worker {
  const { url, loader } = programFile(file, starter);
  const worker = new Worker(loader ? fromSource(url) : url, { workerData });
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

export type Thread<Asked, Answered> = {
  /** One question at a time. @throws Failure that the thread has sent, or that tells how it ended. */
  ask(asked: Asked): Promise<Answered>;
  close(): Promise<void>;
};

/**
 * A thread that answers questions: started by the first of them, and anew by the one after a failure.
 * @param start it. @param name as in `the thread that reads`, for whoever is told that it ended.
 */
export function threadOnDemand<Asked, Answered extends object>(
  start: () => Worker,
  name: string,
): Thread<Asked, Answered> {
  let worker: Worker | undefined;
  let isClosed = false;
  const ended = () => new Failure('incomplete', `${name} has ended`);
  return {
    async ask(asked) {
      if (isClosed) throw ended();
      worker ??= start();
      try {
        const answered = await askThread<Answered | FailureSent>(worker, asked, ended);
        if ('failed' in answered) throw receivedFailure(answered);
        return answered;
      } catch (thrown) {
        // What was wrong with it, or with what it holds open, may be right with the next one.
        await worker?.terminate();
        worker = undefined;
        throw asFailure(thrown);
      }
    },
    async close() {
      isClosed = true;
      await worker?.terminate();
    },
  };
}

/** On such a thread: answers what it is asked, or says why it cannot. */
export function answerAll<Asked, Answered extends object>(
  answer: (asked: Asked) => Answered | Promise<Answered>,
): void {
  parentPort?.on('message', async (asked: Asked) => {
    let said: Answered | FailureSent;
    try {
      said = await answer(asked);
    } catch (thrown) {
      said = sentFailure(thrown);
    }
    parentPort?.postMessage(said);
  });
}

/** What Node.js calls a thread that has ended. */
const GONE = -1;

/**
 * The process is kept alive for an answer, not for the thread.
 * @throws what ended the thread, and what `ended` makes where it ended without a word.
 */
async function askThread<Answered>(worker: Worker, asked: unknown, ended: () => Error): Promise<Answered> {
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
