/** The program as users run it. `npm test` builds it, `npx vitest` does not. */

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const sources = ['src', 'jobs', 'web', 'tsconfig.json', 'tsconfig.build.json'];
let isChecked = false;

/**
 * The address of a file of the built program, such as `src/cli.js`.
 * @throws one line where sources have changed since it was built: the test would say nothing of them.
 */
export function built(file: string): URL {
  if (!isChecked) refuseStale();
  isChecked = true;
  return new URL(`../../dist/${file}`, import.meta.url);
}

function refuseStale(): void {
  const builtAt = changedAt('dist/src/cli.js');
  const changed = sources.flatMap(filesIn).find((file) => changedAt(file) > builtAt);
  if (changed) throw new Error(`dist/ is older than ${changed}: run npm run build`);
}

function filesIn(source: string): string[] {
  if (!statSync(join(root, source)).isDirectory()) return [source];
  const found = readdirSync(join(root, source), { recursive: true, encoding: 'utf8' });
  return found.filter((name) => /\.(tsx?|css|html)$/.test(name)).map((name) => join(source, name));
}

function changedAt(file: string): number {
  return statSync(join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
