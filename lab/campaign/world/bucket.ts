/** A bucket that follows the mirror: a process that outlives every kill, and ways to it on which requests fail. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What befalls a request: before the bucket has done what is asked, or after. */
export type How = `${'kill' | 'cut'}-${'before' | 'after'}` | 500 | 503;
/** `at`: the number of the request on its way, from 1. */
export type Strike = { at: number; how: How };

export type Order = { number: number } & ({ way: number; strikes: Strike[] } | { folder: string });
export type Word =
  | { word: 'ready'; ways: Record<string, string>[] }
  | { word: 'struck'; way: number; how: How }
  | { word: 'done'; order: number; met: number };

export type Bucket = {
  /** What a lake in it needs in its environment, on a way where nothing fails. */
  environment: Record<string, string>;
  /** How many lakes were started and killed, connections cut, and requests answered by 500 or 503. */
  counts: { started: number; killed: number; cut: number; refused: number };
  ways: readonly Way[];
  /** Writes what lies there into a folder. */
  fetchInto(folder: string): Promise<void>;
  close(): Promise<void>;
};

export type Way = {
  environment: Record<string, string>;
  /** Whom to kill, and when, from now on. @returns how many requests came since the last time. */
  prepare(strikes: Strike[], kill: () => void): Promise<number>;
};

/** @param attacked how many ways there are on which requests fail. */
export async function openBucket(attacked: number): Promise<Bucket> {
  const program = fileURLToPath(new URL('bucket-process.ts', import.meta.url));
  const child = fork(program, [String(attacked + 1)], { execArgv: ['--import', 'tsx'] });
  const gone = once(child, 'exit').then(([code, by]) => {
    throw new Error(`the bucket ended with ${code ?? by}`);
  });
  gone.catch(() => undefined);
  const counts = { started: 0, killed: 0, cut: 0, refused: 0 };
  const waiting = new Map<number, (met: number) => void>();
  const kills: (() => void)[] = [];
  const ready = new Promise<Record<string, string>[]>((resolve) => {
    child.on('message', (word: Word) => {
      if (word.word === 'ready') resolve(word.ways);
      else if (word.word === 'done') waiting.get(word.order)?.(word.met);
      else struck(word);
    });
  });
  const [environment = {}, ...others] = await Promise.race([ready, gone]);

  function struck({ way, how }: Extract<Word, { word: 'struck' }>): void {
    if (how === 'kill-before' || how === 'kill-after') kills[way]?.();
    else counts[typeof how === 'number' ? 'refused' : 'cut'] += 1;
  }

  let orders = 0;
  async function order(wanted: { way: number; strikes: Strike[] } | { folder: string }): Promise<number> {
    orders += 1;
    const number = orders;
    const answered = new Promise<number>((resolve) => waiting.set(number, resolve));
    child.send({ number, ...wanted } satisfies Order);
    const met = await Promise.race([answered, gone]);
    waiting.delete(number);
    return met;
  }

  return {
    environment,
    counts,
    ways: others.map((way, at) => ({
      environment: way,
      async prepare(strikes, kill) {
        kills[at + 1] = kill;
        return await order({ way: at + 1, strikes });
      },
    })),
    async fetchInto(folder) {
      await order({ folder });
    },
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}
