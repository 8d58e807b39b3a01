/** Tasks that end in every way, in the place of those of `src/worker-main.ts`. */

import { Failure } from '../src/base/errors.ts';
import { answerCalls } from '../src/base/worker.ts';

let answers = 0;

async function echo(args: string): Promise<{ echo: string; answers: number }> {
  if (args === 'wait') await new Promise(() => undefined);
  if (args === 'exit') process.exit();
  if (args === 'fail') throw new Failure('disk', 'the disk is full');
  if (args === 'throw') throw new Error('a mistake');
  if (args === 'throw later') new BroadcastChannel('late mistake').onmessage = fail;
  answers += 1;
  return { echo: args, answers };
}

function fail(): never {
  throw new Error('a late mistake');
}

answerCalls({ echo: async () => echo });
