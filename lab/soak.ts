/** `npm run soak`: more random lives of datasets than CI has time for, and the figures of `docs/reliability.md`; with `--year` only a year. */

import type { Wildness } from '../test/helpers/scenario.ts';
import { freshSeed, listOf, oneOf, tool, whole } from './options.ts';

type Options = {
  lives: number;
  rowPasses: number;
  seed: number;
  wildness: Wildness[];
  path?: string;
  year?: true;
  days: number;
  livedEvery: number;
};

const wildnesses: readonly Wildness[] = ['interrupted', 'feed', 'orderly', 'any'];
const usual = { seed: freshSeed(), wildness: ['feed', 'orderly', 'any'] };
const command = tool('soak', 'Tries the promises of docs/reliability.md, and prints its figures.')
  .option('--lives <number>', 'random lives of each wildness; 0 leaves them out', whole(), 300)
  .option(
    '--row-passes <number>',
    'for each row of the table of missed rows; 0 leaves it out',
    whole(),
    1_000_000,
  )
  .option('--seed <number>', 'tries the same again', whole())
  .option(
    '--wildness <kinds>',
    `of lives: ${wildnesses.join(', ')} (default: ${usual.wildness})`,
    listOf(oneOf(wildnesses)),
  )
  .option('--path <path>', 'replays a life that broke a promise, as printed then')
  .option('--year', 'a year of the default schedules; fails if the mirror outgrows its bound')
  .option('--days <number>', 'for --year', whole(1), 365)
  .option(
    '--lived-every <number>',
    'for --year: one day in so many is lived, the others repeat it',
    whole(1),
    30,
  )
  .parse();
const given = { ...usual, ...command.opts<Partial<Options>>() } as Options;

const print = (line: string) => process.stdout.write(`${line}\n`);

// Each loads what it needs: a command line that is refused waits for none of it.
if (given.year) {
  const { liveYear } = await import('./soak/year.ts');
  await liveYear({ days: given.days, livedEvery: given.livedEvery, print });
} else await soak(given);

async function soak({ lives, rowPasses, seed, wildness, path }: Options): Promise<void> {
  const { tryLives } = await import('./soak/lives.ts');
  print(`seed ${seed}`);
  if (lives > 0)
    for (const kind of wildness) {
      const began = performance.now();
      const tally = await tryLives(kind, { count: lives, seed, ...(path ? { path } : {}) });
      const seconds = Math.round((performance.now() - began) / 1_000);
      const happened = Object.entries(tally).map(([what, times]) => `${times} ${what}`);
      print(`${kind}: ${happened.join(', ')} in ${seconds} s; every promise held`);
    }
  if (rowPasses === 0 || path) return;
  const { missedRowsTable, sideBySideTable } = await import('./soak/missed-rows.ts');
  print(`\nper million row-passes, ${rowPasses} of them each:\n\n${await missedRowsTable(rowPasses, seed)}`);
  print(`\nthe same with four calls side by side:\n\n${await sideBySideTable(rowPasses, seed)}`);
}
