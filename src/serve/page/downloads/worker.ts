/** The thread that makes one download: it asks, writes the form, and hands on piece by piece what is taken. */

import { createHash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { sentFailure } from '../../../errors.ts';
import { exportAnswer, type Receipt } from '../../../reading/export.ts';
import { asking } from '../../../reading/query.ts';
import type { DownloadParts, SaidByDownload, SaidToDownload } from './thread.ts';

const { question, order, file, timeoutMs } = workerData as DownloadParts;

const stopped = new AbortController();
let taken = () => {};

parentPort?.on('message', (said: SaidToDownload) => {
  if (said === 'stop') stopped.abort();
  taken();
});

function say(said: SaidByDownload, pieces: ArrayBuffer[] = []): void {
  parentPort?.postMessage(said, pieces);
}

try {
  const hash = createHash('sha256');
  let bytes = 0;
  const bounds = { signal: stopped.signal, now: () => Date.parse(order.exportedAt), timeoutMs };
  const exported = await asking((ask) =>
    ask(question, bounds, (answer) =>
      exportAnswer(answer, order, async (given) => {
        const piece = new Uint8Array(Buffer.from(given));
        if (piece.length === 0) return true;
        hash.update(piece);
        bytes += piece.length;
        const isTaken = new Promise<void>((resolve) => {
          taken = resolve;
        });
        say({ piece }, [piece.buffer]);
        await isTaken;
        return true;
      }),
    ),
  );
  const receipt: Receipt = { ...exported, file, bytes, sha256: hash.digest('hex') };
  say({ receipt });
} catch (thrown) {
  say(sentFailure(thrown));
} finally {
  parentPort?.close();
}
