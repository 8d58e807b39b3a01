/** Questions to whoever sits at the terminal. */

import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { Failure } from '../../errors.ts';
import type { Input } from '../asking.ts';
import type { Context } from '../context.ts';

export type Dialogue = {
  ask(question: string): Promise<string>;
  /** What is typed is not shown. A line break within it, which only pasting brings, is kept. */
  askSecret(question: string): Promise<string>;
  close(): void;
};

export function openDialogue(input: Input, { stderr, signal }: Pick<Context, 'stderr' | 'signal'>): Dialogue {
  // Shown is what answers a question that is not secret; the next line may be pasted along with it.
  let hidden = true;
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (!hidden) stderr.write(String(chunk));
      done();
    },
  });
  const lines = createInterface({ input, output, signal, terminal: true, historySize: 0 });
  const typed: string[] = [];
  let ended = false;
  let heard = () => {};
  lines.on('line', (line) => {
    hidden = true;
    typed.push(line);
    heard();
  });
  lines.on('SIGINT', () => lines.close());
  lines.on('close', () => {
    ended = true;
    heard();
  });

  async function nextLine(): Promise<string> {
    while (typed.length === 0 && !ended)
      await new Promise<void>((resolve) => {
        heard = resolve;
      });
    const line = typed.shift();
    if (line === undefined) throw new Failure('incomplete', 'stopped: nothing was written');
    return line;
  }

  return {
    async ask(question) {
      hidden = false;
      lines.setPrompt(question);
      lines.prompt();
      return await nextLine();
    },
    async askSecret(question) {
      stderr.write(question);
      try {
        const line = await nextLine();
        // What was pasted comes in one piece.
        await setImmediate();
        return [line, ...typed.splice(0), ...(lines.line ? [lines.line] : [])].join('\n');
      } finally {
        stderr.write('\n');
      }
    },
    close: () => lines.close(),
  };
}
