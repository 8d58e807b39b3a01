/**
 * A full mirror and an unchanged second pass, as ratios to the ceiling measured in the same run:
 * `npm run bench -- pass-speed --runs 5`.
 */

import { inColumns } from '../../src/output/text.ts';
import { median } from '../figures.ts';
import { learnApi, measurePass, type Pass, withFolder, withLargeApi } from '../passes.ts';
import { readBenchOptions } from './options.ts';

type Run = Record<'ceilingFirst' | 'ceilingAgain' | 'mirrorFirst' | 'mirrorAgain', Pass>;
type Figure = 'rowsPerSecond' | 'longestStallMs' | 'peakMb';

const JOB = 'ai-signals';
const ROWS = 100_000;
const { runs: RUNS } = readBenchOptions();

const { runs, small } = await withLargeApi(ROWS, async (url) => {
  const learnt = await learnApi(url);
  const runs: Run[] = [];
  for (let run = 0; run < RUNS; run += 1)
    runs.push(await withFolder((folder) => measureRun(url, folder, learnt)));
  const small: Pass[] = [];
  await withLargeApi(ROWS / 10, async (smallUrl) => {
    for (let run = 0; run < RUNS; run += 1)
      small.push(await withFolder((folder) => measurePass(JOB, smallUrl, folder, learnt)));
  });
  return { runs, small };
});

const heads = ['', 'ceiling rows/s', 'mirror rows/s', 'ratio', 'target', 'stall ms', 'peak MB'];
const table = inColumns(
  [heads, row('first mirror', 'First', 0.7), row('unchanged pass', 'Again', 0.6)],
  heads.map((head) => (head === '' ? 'left' : 'right')),
);
const smallPeak = median(small.map(({ peakMb }) => peakMb));
process.stdout.write(`${ROWS.toLocaleString('en-US')} rows, medians of ${RUNS} runs\n${table}\n`);
process.stdout.write(
  `peak memory at ${(ROWS / 10).toLocaleString('en-US')} rows: ${smallPeak.toFixed(0)} MB\n`,
);

function row(name: string, pass: 'First' | 'Again', target: number): string[] {
  const of = (side: 'ceiling' | 'mirror', figure: Figure) =>
    median(runs.map((run) => run[`${side}${pass}`][figure]));
  const ratio = median(
    runs.map((run) => run[`mirror${pass}`].rowsPerSecond / run[`ceiling${pass}`].rowsPerSecond),
  );
  return [
    name,
    of('ceiling', 'rowsPerSecond').toFixed(0),
    of('mirror', 'rowsPerSecond').toFixed(0),
    ratio.toFixed(2),
    `≥ ${target}`,
    of('mirror', 'longestStallMs').toFixed(0),
    of('mirror', 'peakMb').toFixed(0),
  ];
}

async function measureRun(url: string, folder: string, learnt: string): Promise<Run> {
  const ceilingFirst = measurePass('ceiling', url, folder);
  const mirrorFirst = measurePass(JOB, url, folder, learnt);
  await fetch(`${url}/publish`);
  const ceilingAgain = measurePass('ceiling', url, folder);
  const mirrorAgain = measurePass(JOB, url, folder);
  return { ceilingFirst, mirrorFirst, ceilingAgain, mirrorAgain };
}
