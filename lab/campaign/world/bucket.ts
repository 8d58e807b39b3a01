/** A bucket that follows the mirror: a process that outlives every kill, and ways to it on which requests fail. */

import { startOrdered } from './processes.ts';

/** What befalls a request: before the bucket has done what is asked, or after. */
export type How = `${'kill' | 'cut'}-${'before' | 'after'}` | 500 | 503;
/** `at`: the number of the request on its way, from 1. */
export type Strike = { at: number; how: How };

export type Order = { way: number; strikes: Strike[] } | { folder: string };
/** A request was struck. */
export type Word = { way: number; how: How };

export type Bucket = Awaited<ReturnType<typeof openBucket>>;
export type Way = Bucket['ways'][number];

/** @param attacked how many ways there are on which requests fail. */
export async function openBucket(attacked: number) {
  /** How many lakes were started and killed, connections cut, and requests answered by 500 or 503. */
  const counts = { started: 0, killed: 0, cut: 0, refused: 0 };
  const kills: (() => void)[] = [];
  const struck = ({ way, how }: Word) => {
    if (how === 'kill-before' || how === 'kill-after') kills[way]?.();
    else counts[typeof how === 'number' ? 'refused' : 'cut'] += 1;
  };
  const server = await startOrdered<Record<string, string>[], Order, Word>(
    'bucket-process.ts',
    [String(attacked + 1)],
    struck,
  );
  const [environment = {}, ...others] = server.ready;
  return {
    /** What a lake in it needs in its environment, on a way where nothing fails. */
    environment,
    counts,
    ways: others.map((environment, at) => ({
      environment,
      /** Whom to kill, and when, from now on. @returns how many requests came since the last time. */
      async prepare(strikes: Strike[], kill: () => void) {
        kills[at + 1] = kill;
        return await server.order({ way: at + 1, strikes });
      },
    })),
    /** Writes what lies there into a folder. */
    async fetchInto(folder: string) {
      await server.order({ folder });
    },
    close: server.close,
  };
}
