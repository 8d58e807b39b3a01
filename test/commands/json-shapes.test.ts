/** What programs read is documented, member by member, in docs/reports.md. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { runMain } from '../helpers/main.ts';
import { type Bench, openBench } from '../helpers/mirror-bench.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench({ rows: 120 });
  for (const { name } of bench.jobs) await bench.mirror(name);
  await bench.mirror('ai-signals');
  return () => bench.close();
});

const page = readFileSync('docs/reports.md', 'utf8');
/** The text under a heading, up to the next of its kind. */
const section = (heading: string) => page.split(`${heading}\n`)[1]?.split(/^##+ /m)[0] ?? '';

/** Every name of a member, but those that are data: names of jobs. */
function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    bench.jobs.some((job) => job.name === name) ? [] : [name, ...namesIn(inner)],
  );
}

it.each([
  ['status --json', ['## status --json'], ['status', '--json']],
  ['plan --json', ['## plan --json', '## status --json'], ['plan', '--json']],
  ['the receipt of an export', ['### The receipt'], ['export', 'ai-signals', '--json', '-o', 'FILE']],
])('docs/reports.md names every member of %s', async (_, headings, args) => {
  const text = headings.map(section).join();
  const typed = args.map((arg) => (arg === 'FILE' ? join(bench.dir, 'signals.csv') : arg));
  const { stdout } = await runMain(typed, { MIRROR_DIR: bench.dir }, bench.clock);
  const shape = JSON.parse(stdout);
  expect(shape.version).toBe(1);
  const names = [...new Set(namesIn(shape))];
  expect(names.length).toBeGreaterThan(15);
  expect(names.filter((name) => !text.includes(`${name}\``))).toEqual([]);
});
