/** `npm run bench`: how fast passes are, what the governor costs, and how long commands take to start. */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { listOf, oneOf, tool, whole } from './options.ts';

/** Each is a script in `bench/` that measures one thing and prints it; a new one is found by its line here. */
const figures = {
  'pass-speed': 'a full mirror and an unchanged second pass, as ratios to the barest loop; peak memory',
  'governor-cost': 'what a permit of the governor costs a call, apart from all waiting',
  'start-time': 'how long commands take from start to end, beside a bare script',
};
const names = Object.keys(figures) as (keyof typeof figures)[];
const width = Math.max(...names.map((name) => name.length));

const { only = names, runs } = tool(
  'bench',
  'Prints figures of speed; docs/performance.md says what they mean.',
)
  .option('--only <figures>', 'some of them, separated by commas; all if not given', listOf(oneOf(names)))
  .option('--runs <number>', 'runs of pass-speed, of which the medians are shown', whole(1), 5)
  .addHelpText(
    'after',
    `\nFigures:\n${names.map((name) => `  ${name.padEnd(width)}  ${figures[name]}`).join('\n')}`,
  )
  .parse()
  .opts<{ only?: (keyof typeof figures)[]; runs: number }>();

for (const name of only) {
  const script = fileURLToPath(new URL(`bench/${name}.ts`, import.meta.url));
  const { status } = spawnSync(process.execPath, ['--import', 'tsx', script, String(runs)], {
    stdio: 'inherit',
  });
  if (status !== 0) process.exitCode = 1;
}
