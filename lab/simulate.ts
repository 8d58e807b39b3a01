/** `npm run simulate`: the governor in worlds of virtual time, beside an optimum that knows every limit. */

import { markdownRow, median } from './figures.ts';
import { tool, whole } from './options.ts';
import { type Result, run, runOptimum, type Scenario } from './simulate/run.ts';
import { scenarios } from './simulate/scenarios.ts';

const heads = [
  ...['world', 'first sync: ms added, median', 'time ÷ optimum, median', 'worst', '429s, median', 'most'],
  ...['after it: ÷ optimum, median', 'worst', '429s per 10,000, median', 'most'],
];
const rule = heads.map((_, at) => (at === 0 ? '---' : '--:'));

await tool('simulate', 'Prints the table of docs/dev/governor-figures.md.')
  .argument('[text]', 'only worlds whose name has this text', '')
  .argument('[seeds]', 'of each world', whole(1), 5)
  .action(printWorlds)
  .parseAsync();

/** Row by row, since the whole table takes minutes. */
async function printWorlds(text: string, seeds: number): Promise<void> {
  print(heads);
  print(rule);
  for (const scenario of scenarios.filter(({ name }) => name.includes(text))) {
    const optimum = await overSeeds(seeds, (seed) => runOptimum(scenario, seed));
    print(row(scenario, await overSeeds(seeds, (seed) => run(scenario, seed)), optimum));
  }
}

function print(cells: readonly string[]): void {
  process.stdout.write(`${markdownRow(cells)}\n`);
}

async function overSeeds(seeds: number, simulate: (seed: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let seed = 1; seed <= seeds; seed += 1) results.push(await simulate(seed));
  return results;
}

function row(scenario: Scenario, results: Result[], optimum: Result[]): string[] {
  const against = (of: (result: Result, best: Result) => number) =>
    results.map((result, index) => of(result, optimum[index] as Result));
  const added = against((result, best) => result.firstMs - best.firstMs);
  return [
    scenario.name,
    median(added).toFixed(0),
    ...spread(
      against((result, best) => result.firstMs / best.firstMs),
      2,
    ),
    ...spread(
      results.map(({ firstRefusals }) => firstRefusals),
      0,
    ),
    ...spread(
      against((result, best) => result.afterMs / best.afterMs),
      2,
    ),
    ...spread(
      results.map(({ afterRefusals }) => (afterRefusals * 10_000) / scenario.after),
      0,
    ),
  ];
}

/** Median and largest. */
function spread(values: number[], digits: number): string[] {
  return [median(values), Math.max(...values)].map((value) => value.toFixed(digits));
}
