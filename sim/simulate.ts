/** `npm run simulate [-- text seeds]`: the table of docs/governor.md, or its rows whose name holds the text. */

import { type PolicyName, policies } from './policies.ts';
import { type Result, run, runOptimum, type Scenario } from './run.ts';
import { scenarios } from './scenarios.ts';

const [wanted = '', seeds = '30', ...chosen] = process.argv.slice(2);
const names = (chosen.length > 0 ? chosen : Object.keys(policies)) as PolicyName[];

process.stdout.write(
  '| world | policy | first sync: time ÷ optimum, median | worst | 429s, median | most | after it: ÷ optimum, median | worst | 429s per 10,000, median | most |\n|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n',
);
for (const scenario of scenarios.filter(({ name }) => name.includes(wanted))) {
  const optimum = await overSeeds((seed) => runOptimum(scenario, seed));
  for (const name of names) {
    const results = await overSeeds((seed) => run(scenario, seed, policies[name]));
    process.stdout.write(row(scenario, name, results, optimum));
  }
}

async function overSeeds(simulate: (seed: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let seed = 1; seed <= Number(seeds); seed += 1) results.push(await simulate(seed));
  return results;
}

function row(scenario: Scenario, policy: string, results: Result[], optimum: Result[]): string {
  const ratio = (of: (result: Result) => number) =>
    results.map((result, index) => of(result) / of(optimum[index] as Result));
  const per10k = results.map(({ afterRefusals }) => (afterRefusals * 10_000) / scenario.after);
  const cells = [
    ...spread(
      ratio(({ firstMs }) => firstMs),
      2,
    ),
    ...spread(
      results.map(({ firstRefusals }) => firstRefusals),
      0,
    ),
    ...spread(
      ratio(({ afterMs }) => afterMs),
      2,
    ),
    ...spread(per10k, 0),
  ];
  return `| ${scenario.name} | ${policy} | ${cells.join(' | ')} |\n`;
}

function spread(values: number[], digits: number): string[] {
  const sorted = values.toSorted((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  return [median, sorted.at(-1) ?? Number.NaN].map((value) => value.toFixed(digits));
}
