/** `npm run simulate`: the governor in worlds of virtual time, beside an optimum that knows every limit. */

import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { median } from './figures.ts';
import { tool, whole } from './options.ts';
import { type Result, run, runOptimum, type Scenario } from './simulate/run.ts';
import { scenarios } from './simulate/scenarios.ts';

type Task = { world: number; seeds: number };

if (process.send) process.once('message', async (task) => process.send?.(await rowOf(task as Task)));
else await readCommandLine();

async function readCommandLine(): Promise<void> {
  const program = tool('simulate', 'Prints the table of docs/dev/governor-figures.md.')
    .argument('[text]', 'only worlds whose name has this text')
    .argument('[seeds]', 'of each world', whole(1), 30)
    .action((text = '', seeds: number) => printTable(text, seeds));
  await program.parseAsync();
}

async function printTable(wanted: string, seeds: number): Promise<void> {
  const tasks = scenarios.flatMap(({ name }, world) => (name.includes(wanted) ? [{ world, seeds }] : []));
  process.stdout.write(
    '| world | first sync: ms added, median | time ÷ optimum, median | worst | 429s, median | most ' +
      '| after it: ÷ optimum, median | worst | 429s per 10,000, median | most |\n' +
      '|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n',
  );
  const running: Promise<string>[] = [];
  for (const task of tasks) {
    // As many at once as there are cores; printed in their order, each as soon as it is its turn.
    if (running.length >= availableParallelism()) process.stdout.write((await running.shift()) ?? '');
    running.push(inProcess(task));
  }
  for (const row of running) process.stdout.write(await row);
}

function inProcess(task: Task): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url));
    child.send(task);
    child.once('message', (row) => {
      child.disconnect();
      resolve(row as string);
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`a simulation ended with exit code ${code}`)));
  });
}

async function rowOf({ world, seeds }: Task): Promise<string> {
  const scenario = scenarios[world] as Scenario;
  const over = async (simulate: (seed: number) => Promise<Result>) => {
    const results: Result[] = [];
    for (let seed = 1; seed <= seeds; seed += 1) results.push(await simulate(seed));
    return results;
  };
  const optimum = await over((seed) => runOptimum(scenario, seed));
  return row(scenario, await over((seed) => run(scenario, seed)), optimum);
}

function row(scenario: Scenario, results: Result[], optimum: Result[]): string {
  const against = (of: (result: Result, best: Result) => number) =>
    results.map((result, index) => of(result, optimum[index] as Result));
  const per10k = results.map(({ afterRefusals }) => (afterRefusals * 10_000) / scenario.after);
  const cells = [
    spread(
      against((result, best) => result.firstMs - best.firstMs),
      0,
    ).slice(0, 1),
    spread(
      against((result, best) => result.firstMs / best.firstMs),
      2,
    ),
    spread(
      results.map(({ firstRefusals }) => firstRefusals),
      0,
    ),
    spread(
      against((result, best) => result.afterMs / best.afterMs),
      2,
    ),
    spread(per10k, 0),
  ];
  return `| ${scenario.name} | ${cells.flat().join(' | ')} |\n`;
}

/** Median and largest. */
function spread(values: number[], digits: number): string[] {
  const largest = values.length === 0 ? Number.NaN : Math.max(...values);
  return [median(values), largest].map((value) => value.toFixed(digits));
}
