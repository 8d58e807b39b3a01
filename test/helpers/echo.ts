/** A thread that answers with what it is asked, unless that tells it how to end. */

import { parentPort } from 'node:worker_threads';
import { Failure, sentFailure } from '../../src/errors.ts';

let answers = 0;

const mistake = () => {
  throw new Error('a mistake');
};

parentPort?.on('message', (asked: string) => {
  if (asked === 'wait') return;
  if (asked === 'throw') mistake();
  if (asked === 'exit') process.exit();
  if (asked === 'fail') return parentPort?.postMessage(sentFailure(new Failure('disk', 'the disk is full')));
  answers += 1;
  parentPort?.postMessage({ echo: asked, answers });
});
