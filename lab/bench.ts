/** `npm run bench`: how fast passes and answers are, and how long commands take to start. */

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type BenchOptions, lineNames, lines, serveTables } from './bench/lines.ts';
import { listOf, oneOf, positive, tool, whole } from './options.ts';

/** Each is a script in `bench/` that measures one thing and prints it; a new one is found by its line here. */
const figures = {
  'pass-speed': 'passes beside the barest loop, as whole processes; what they write, peak memory, stalls',
  'start-time': 'how long commands take from start to end, beside a bare script',
  serve: 'pages beside a bare server; others beside questions that never end; memory; at rest',
};
const names = Object.keys(figures) as (keyof typeof figures)[];

type Figure = (typeof names)[number];

const command = tool('bench', 'Prints figures of speed; docs/dev/performance.md says what they mean.')
  .argument('[figures...]', 'some of them; all if none is named', (name, before: Figure[] = []) => [
    ...before,
    oneOf(names)(name),
  ])
  .option('--runs <number>', 'runs of pass-speed, of which the medians are shown', whole(1), 5)
  .option('--rows <number>', 'pass-speed and serve: rows of each dataset', whole(1_000), 100_000)
  .option(
    '--lines <names>',
    'some lines of pass-speed, such as first,aged',
    listOf(oneOf(lineNames)),
    lineNames,
  )
  .option('--tables <names>', `some tables of serve: ${serveTables.join(', ')}`, listOf(oneOf(serveTables)), [
    ...serveTables,
  ])
  .option('--keys <number>', 'serve: keys, each with an account of its own', whole(1), 100)
  .option('--minutes <number>', 'serve: how long each line of beside and idle is watched', positive, 0.5)
  .addHelpText(
    'after',
    `
Figures:
${described(figures)}

Lines of pass-speed:
${described(Object.fromEntries(lineNames.map((name) => [name, lines[name].about])))}

One line in less than a minute, after npm run build:
  npm run bench -- pass-speed --lines aged --runs 3`,
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

function described(about: Record<string, string>): string {
  const width = Math.max(...Object.keys(about).map((name) => name.length));
  return Object.entries(about)
    .map(([name, text]) => `  ${name.padEnd(width)}  ${text}`)
    .join('\n');
}
