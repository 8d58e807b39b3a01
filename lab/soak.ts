/** `npm run soak`: more random lives of datasets than CI has time for. */

import { freshSeed, listOf, oneOf, positive, tool, whole } from './options.ts';
import { type LifeWildness, tryLives, wildnesses } from './soak/lives.ts';

type Options = {
  minutes: number;
  lives?: number;
  seed: number;
  livesOf: LifeWildness[];
  path?: string;
};

const command = tool('soak', 'Tries the promises of docs/reliability.md in random lives of datasets.')
  .option('--minutes <number>', 'how long, over all kinds of lives', positive, 10)
  .option('--lives <number>', 'so many of each kind at most', whole(1))
  .option('--seed <number>', 'tries the same again', whole(), freshSeed())
  .option('--lives-of <kinds>', `kinds of lives: ${wildnesses.join(', ')}`, listOf(oneOf(wildnesses)), [
    ...wildnesses,
  ])
  .option('--path <path>', 'replays a life that broke a promise, as printed then, and shortens it')
  .parse();
const { minutes, lives = 1_000_000, seed, livesOf, path } = command.opts<Options>();

const print = (line: string) => process.stdout.write(`${line}\n`);

print(`seed ${seed}`);
const began = performance.now();
const end = began + minutes * 60_000;
// Whole lives get as much time as all the others.
const shares = livesOf.map((kind) => (kind === 'whole' ? wildnesses.length - 1 : 1));
for (const [at, kind] of livesOf.entries()) {
  const now = performance.now();
  const left = shares.slice(at).reduce((sum, share) => sum + share, 0);
  const until = now + ((end - now) * (shares[at] ?? 1)) / left;
  const tally = await tryLives(kind, { lives, until, seed, ...(path ? { path } : {}) });
  const happened = Object.entries(tally)
    .sort()
    .map(([what, times]) => `${what} ${times}`);
  const seconds = Math.round((performance.now() - now) / 1_000);
  print(`${kind}: ${tally['lives']} lives in ${seconds} s, every promise held\n  ${happened.join(', ')}`);
}
