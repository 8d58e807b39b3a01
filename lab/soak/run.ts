/**
 * `npm run soak`: more random lives than CI has time for, then the figures of `docs/reliability.md`. Options:
 * `--lives 300` and `--row-passes 1000000` (0 leaves that part out), `--seed`; a life that breaks a promise
 * prints `--wildness`, `--seed` and `--path` that replay it. `--cost 10000,100000` measures what passes over so many
 * rows of `--jobs ai-signals,news` add to the write-ahead log and take of memory, and nothing else. `--year` lives
 * through a year of the default schedules and fails where the mirror outgrows its bound, and nothing else; `--days` and
 * `--lived-every` make it shorter or closer to life.
 */

import { parseArgs } from 'node:util';
import type { Wildness } from '../../test/helpers/scenario.ts';
import { costTable } from './cost.ts';
import { figuresTable } from './figures.ts';
import { tryLives } from './lives.ts';
import { liveYear } from './year.ts';

const { values: given } = parseArgs({
  options: {
    lives: { type: 'string', default: '300' },
    'row-passes': { type: 'string', default: '1000000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    wildness: { type: 'string' },
    path: { type: 'string' },
    cost: { type: 'string' },
    jobs: { type: 'string', default: 'ai-signals,news' },
    year: { type: 'boolean', default: false },
    days: { type: 'string', default: '365' },
    'lived-every': { type: 'string', default: '30' },
  },
});

const print = (line: string) => process.stdout.write(`${line}\n`);

if (given.year) await liveYear({ days: Number(given.days), livedEvery: Number(given['lived-every']), print });
else if (given.cost) print(await costTable(given.jobs.split(','), given.cost.split(',').map(Number)));
else await soak(Number(given.lives), given.path ? 0 : Number(given['row-passes']), Number(given.seed));

async function soak(count: number, rowPasses: number, seed: number): Promise<void> {
  print(`seed ${seed}`);
  const { wildness = 'orderly,any', path } = given;
  if (count > 0)
    for (const kind of wildness.split(',') as Wildness[]) {
      const began = performance.now();
      const tally = await tryLives(kind, { count, seed, ...(path ? { path } : {}) });
      const seconds = Math.round((performance.now() - began) / 1_000);
      const happened = Object.entries(tally).map(([what, times]) => `${times} ${what}`);
      print(`${kind}: ${happened.join(', ')} in ${seconds} s; every promise held`);
    }
  if (rowPasses > 0)
    print(`\nper million row-passes, ${rowPasses} of them each:\n\n${await figuresTable(rowPasses, seed)}`);
}
