/** The licences of bundled packages, which must go with them. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One notice a package. @param inputs the bundled files, from `root`. */
export function licencesOf(root: string, inputs: readonly string[]): string[] {
  const found = inputs.flatMap((input) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? []);
  return [...new Set(found)].map((name) => {
    const folder = join(root, 'node_modules', name);
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no licence that could go with it`);
    return `Contains ${name}:\n\n${readFileSync(join(folder, file), 'utf8').trim()}`;
  });
}
