/** Processes that take orders, and those that work in a folder, as Linux shows them. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** An order to a process, and its messages: first `ready`, then `done` for each order, and words of its own. */
type Numbered<Order> = { number: number; order: Order };
type Message<Ready, Word> = { ready: Ready } | { done: number; result: number } | { word: Word };

/**
 * Starts a script of this folder, which ends with this process at the latest.
 * @param hear called with each of its words, in the order in which it says them.
 */
export async function startOrdered<Ready, Order, Word>(
  script: string,
  args: string[],
  hear: (word: Word) => void,
) {
  const file = fileURLToPath(new URL(script, import.meta.url));
  const child = fork(file, args, { execArgv: ['--import', 'tsx'] });
  const gone = once(child, 'exit').then(([code, by]) => {
    throw new Error(`${script} ended with ${code ?? by}`);
  });
  gone.catch(() => undefined);
  const waiting = new Map<number, (result: number) => void>();
  const readied = new Promise<Ready>((resolve) => {
    child.on('message', (message: Message<Ready, Word>) => {
      if ('ready' in message) resolve(message.ready);
      else if ('word' in message) hear(message.word);
      else waiting.get(message.done)?.(message.result);
    });
  });
  const ready = await Promise.race([readied, gone]);
  let number = 0;
  return {
    ready,
    pid: child.pid ?? 0,
    /** Resolves once it is carried out: all words that were said before it are heard by then. */
    async order(order: Order): Promise<number> {
      number += 1;
      const done = new Promise<number>((resolve) => waiting.set(number, resolve));
      child.send({ number, order } satisfies Numbered<Order>);
      return await Promise.race([done, gone]);
    },
    async close(): Promise<void> {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** In the process: carries out orders from now on. @param carryOut may return a number, which the parent gets. */
export function takeOrders<Ready, Order>(ready: Ready, carryOut: (order: Order) => number): void {
  process.on('message', ({ number, order }: Numbered<Order>) =>
    process.send?.({ done: number, result: carryOut(order) }),
  );
  process.on('disconnect', () => process.exit());
  // Ctrl-C is for the campaign, which disconnects when it has looked around.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => undefined);
  process.send?.({ ready });
}

export const say = <Word>(word: Word) => process.send?.({ word });

type Process = { pid: number; name: string; folder: string };

/** Those whose working folder is this one or below it; a zombie does not count. */
export function processesIn(folder: string): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => look(Number(name)))
    .filter((found) => found !== undefined)
    .filter((found) => found.folder === folder || found.folder.startsWith(`${folder}/`));
}

function look(pid: number): Process | undefined {
  try {
    const [, name = '', state] = /\((.*)\) (\S)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return state === 'Z' ? undefined : { pid, name, folder: readlinkSync(`/proc/${pid}/cwd`) };
  } catch {
    // It ended meanwhile, or belongs to another user.
    return undefined;
  }
}

/** @returns false where there is no such process any more. */
export function signal(pid: number | undefined, name: NodeJS.Signals): boolean {
  if (!pid) return false;
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
