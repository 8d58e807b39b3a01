/** A thread that answers once, and then ends by a mistake. */

import { parentPort } from 'node:worker_threads';

parentPort?.once('message', (asked) => {
  parentPort?.postMessage(asked);
  setImmediate(() => {
    throw new Error('a mistake');
  });
});
