/** `npm run bench -- pass-speed --lines first,aged --runs 3`: passes of the built program in turn with the barest loop, and what they write to disk. */

import { number } from '../../src/output/numbers.ts';
import { markdownRow } from '../figures.ts';
import { heads, type Line, lines, readBenchOptions, rule, stallRow } from './lines.ts';

const { runs, rows, lines: asked } = readBenchOptions();

process.stdout.write(
  `${number(rows)} rows, medians of ${runs} runs; MB and bytes: written to disk (/proc/<pid>/io, write_bytes less cancelled_write_bytes)\n\n`,
);
print(heads, rule);
const stalls: number[] = [];
for (const name of asked) {
  const line: Line = lines[name];
  const measured = await line.measure({ rows, runs });
  print(...measured.rows);
  if (measured.stallMs !== undefined) stalls.push(measured.stallMs);
}
if (stalls.length > 0) print(stallRow(Math.max(...stalls)));

/** Row by row, since the whole table takes long. */
function print(...rows: readonly string[][]): void {
  process.stdout.write(`${rows.map(markdownRow).join('\n')}\n`);
}
