/** A download that is made on a thread of its own: forms such as Parquet take long enough to be felt by all others. */

import { Failure, type FailureSent, receivedFailure } from '../../../errors.ts';
import type { Order, Receipt } from '../../../reading/export.ts';
import type { Question } from '../../../reading/query.ts';
import { startThread } from '../../../thread.ts';
import type { Write } from '../../app.ts';

export type DownloadParts = {
  readonly question: Question;
  readonly order: Order;
  /** The name of the file. */
  readonly file: string;
  readonly timeoutMs: number;
};

export type SaidToDownload = 'taken' | 'stop';

export type SaidByDownload = { piece: Uint8Array } | { receipt: Receipt } | FailureSent;

/**
 * Writes the file, no faster than it is taken.
 * @throws Failure as `export` does, and what `write` throws.
 */
export async function writeDownload(parts: DownloadParts, write: Write, gone: AbortSignal): Promise<Receipt> {
  const worker = startThread('worker', import.meta.url, parts);
  const say = (word: SaidToDownload) => worker.postMessage(word);
  const stop = () => say('stop');
  gone.addEventListener('abort', stop, { once: true });
  try {
    return await new Promise<Receipt>((resolve, reject) => {
      worker.on('message', (said: SaidByDownload) => {
        if ('piece' in said) write(said.piece).then(() => say('taken'), reject);
        else if ('receipt' in said) resolve(said.receipt);
        else reject(receivedFailure(said));
      });
      worker.once('error', reject);
      worker.once('exit', () => reject(new Failure('incomplete', 'the thread of the download has ended')));
      if (gone.aborted) stop();
    });
  } finally {
    gone.removeEventListener('abort', stop);
    // It ends its query first; what is left of it then holds nothing.
    say('stop');
  }
}
