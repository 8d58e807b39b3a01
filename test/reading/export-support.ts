/** A mirror to export from, and what exports are read back with. */

import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isoTime } from '../../src/clock.ts';
import type { Receipt } from '../../src/reading/export.ts';
import { runMain } from '../helpers/main.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';

/** A mirror with a folder to export into, and the command. */
export async function readyToExport(rows = 30) {
  const bench = await setup({ rows });
  await bench.mirror('ai-signals');
  const folder = join(bench.dir, 'out');
  mkdirSync(folder);
  const run = (...args: string[]) => runMain(['export', ...args], { MIRROR_DIR: bench.dir }, bench.clock);
  const place = (name: string) => join(folder, name);
  const receiptOf = (name: string) => JSON.parse(readFileSync(place(`${name}.meta.json`), 'utf8')) as Receipt;
  return { bench, folder, run, place, receiptOf, left: () => readdirSync(folder).sort() };
}

/** Publishes another snapshot, so that the next walk looks at all of it. */
export function publish({ clock, upstream }: Bench): void {
  clock.advance(60_000);
  upstream('ai-signals').generatedAt = isoTime(clock.now());
}

export const ndjson = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
