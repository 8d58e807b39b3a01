/** `npm run bench`: how fast passes, answers and the page are, what the governor costs, and how long commands take to start. */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { BenchOptions } from './bench/options.ts';
import { oneOf, positive, tool, whole } from './options.ts';

/** Each is a script in `bench/` that measures one thing and prints it; a new one is found by its line here. */
const figures = {
  'pass-speed': 'a full mirror and an unchanged second pass, as ratios to the barest loop; peak memory',
  'governor-cost': 'what a permit of the governor costs a call, apart from all waiting',
  'start-time': 'how long commands take from start to end, beside a bare script',
  page: 'the page in a browser: its first view, tasks of the main thread, waiting for rows',
  serve: 'the service beside a bare server of the same bytes; pages from SQL; memory; walks beside it',
};
const names = Object.keys(figures) as (keyof typeof figures)[];
const width = Math.max(...names.map((name) => name.length));

type Figure = (typeof names)[number];

const command = tool('bench', 'Prints figures of speed; docs/performance.md says what they mean.')
  .argument('[figures...]', 'some of them; all if none is named', (name, before: Figure[] = []) => [
    ...before,
    oneOf(names)(name),
  ])
  .option(
    '--runs <number>',
    'runs of pass-speed, page and serve, of which the medians are shown',
    whole(1),
    5,
  )
  .option('--rows <number>', 'page and serve: rows of each dataset', whole(1_000), 100_000)
  .option('--keys <number>', 'serve: keys, each with an account of its own', whole(1), 100)
  .option('--minutes <number>', 'serve: how long its memory is watched', positive, 0.5)
  .addHelpText(
    'after',
    `\nFigures:\n${names.map((name) => `  ${name.padEnd(width)}  ${figures[name]}`).join('\n')}`,
  )
  .parse();
const [asked = names] = command.processedArgs as [Figure[]?];

for (const name of asked) {
  const script = fileURLToPath(new URL(`bench/${name}.ts`, import.meta.url));
  const { status } = spawnSync(
    process.execPath,
    ['--import', 'tsx', script, JSON.stringify(command.opts<BenchOptions>())],
    {
      stdio: 'inherit',
    },
  );
  if (status !== 0) process.exitCode = 1;
}
