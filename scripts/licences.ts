/** The licences of bundled packages, which must go with them. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Packages that bring the text of a licence word for word, for those that bring none: `drizzle-orm`. */
const texts: Readonly<Record<string, string>> = { 'Apache-2.0': 'canonicalize/LICENSE' };

/** One notice a package. @param inputs the bundled files, from `root`. */
export function licencesOf(root: string, inputs: readonly string[]): string[] {
  const packages = join(root, 'node_modules');
  const found = inputs.flatMap((input) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? []);
  return [...new Set(found)].sort().map((name) => {
    const own = readdirSync(join(packages, name)).find((entry) => /^licen[cs]e/i.test(entry));
    const { license } = JSON.parse(readFileSync(join(packages, name, 'package.json'), 'utf8'));
    const file = own === undefined ? texts[license] : join(name, own);
    if (file === undefined) throw new Error(`${name} has no licence that could go with it`);
    return `Contains ${name}:\n\n${readFileSync(join(packages, file), 'utf8').trim()}`;
  });
}
