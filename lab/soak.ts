/** `npm run soak`: more random lives of datasets than CI has time for. */

import type { Wildness } from '../test/helpers/scenario.ts';
import { freshSeed, listOf, oneOf, tool, whole } from './options.ts';
import { tryLives } from './soak/lives.ts';

type Options = {
  lives: number;
  seed: number;
  wildness: Wildness[];
  path?: string;
};

const wildnesses: readonly Wildness[] = ['interrupted', 'feed', 'orderly', 'any', 'tended'];
const usual = { seed: freshSeed(), wildness: ['feed', 'orderly', 'any', 'tended'] };
const command = tool('soak', 'Tries the promises of docs/reliability.md.')
  .option('--lives <number>', 'random lives of each wildness', whole(1), 300)
  .option('--seed <number>', 'tries the same again', whole())
  .option(
    '--wildness <kinds>',
    `of lives: ${wildnesses.join(', ')} (default: ${usual.wildness})`,
    listOf(oneOf(wildnesses)),
  )
  .option('--path <path>', 'replays a life that broke a promise, as printed then, and shortens it')
  .parse();
const given = { ...usual, ...command.opts<Partial<Options>>() } as Options;

const print = (line: string) => process.stdout.write(`${line}\n`);

print(`seed ${given.seed}`);
const { lives, seed, path } = given;
for (const kind of given.wildness) {
  const began = performance.now();
  const tally = await tryLives(kind, { count: lives, seed, ...(path ? { path } : {}) });
  const seconds = Math.round((performance.now() - began) / 1_000);
  const happened = Object.entries(tally).map(([what, times]) => `${times} ${what}`);
  print(`${kind}: ${happened.join(', ')} in ${seconds} s; every promise held`);
}
