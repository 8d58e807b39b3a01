/**
 * `npm run soak`: more random lives than CI has time for, then the figures of `docs/reliability.md`. Options:
 * `--lives 300` and `--row-passes 1000000` (0 leaves that part out), `--seed`; a life that breaks a promise
 * prints `--wildness`, `--seed` and `--path` that replay it.
 */

import { parseArgs } from 'node:util';
import type { Wildness } from '../test/helpers/scenario.ts';
import { figuresTable } from './figures.ts';
import { tryLives } from './lives.ts';

const { values: given } = parseArgs({
  options: {
    lives: { type: 'string', default: '300' },
    'row-passes': { type: 'string', default: '1000000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    wildness: { type: 'string' },
    path: { type: 'string' },
  },
});

const seed = Number(given.seed);
const count = Number(given.lives);
const rowPasses = Number(given['row-passes']);
const print = (line: string) => process.stdout.write(`${line}\n`);

print(`seed ${seed}`);
if (count > 0)
  for (const wildness of (given.wildness?.split(',') ?? ['orderly', 'any']) as Wildness[]) {
    const began = performance.now();
    const tally = await tryLives(wildness, { count, seed, ...(given.path ? { path: given.path } : {}) });
    const seconds = Math.round((performance.now() - began) / 1_000);
    const happened = Object.entries(tally).map(([what, times]) => `${times} ${what}`);
    print(`${wildness}: ${happened.join(', ')} in ${seconds} s; every promise held`);
  }
if (rowPasses > 0 && !given.path)
  print(`\nper million row-passes, ${rowPasses} of them each:\n\n${await figuresTable(rowPasses, seed)}`);
