/** Which version of market-mirror this is. */

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packageFile = fileURLToPath(import.meta.resolve('#package'));

export function version(): string {
  return (readJson(packageFile) as { version: string }).version;
}

/** The same for people, with the commit that was built, and how many migrations a database of this version has had. */
export function versionLine(): string {
  const journal = fileURLToPath(import.meta.resolve('#drizzle/meta/_journal.json'));
  const { entries } = readJson(journal) as { entries: unknown[] };
  return `${version()} (commit ${commitOf() ?? 'unknown'}, database ${entries.length})`;
}

function commitOf(): string | null {
  try {
    return (readJson(join(dirname(packageFile), 'dist/build.json')) as { commit: string | null }).commit;
  } catch {
    return null;
  }
}

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));
