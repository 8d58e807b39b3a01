/** The licences of bundled packages, which must go with them. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Texts of licences by their name, for packages that bring none: `drizzle-orm`. */
const texts = new URL('licences/', import.meta.url);

/** One notice a package. @param inputs the bundled files, from `root`. */
export function licencesOf(root: string, inputs: readonly string[]): string[] {
  const found = inputs.flatMap((input) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? []);
  return [...new Set(found)].sort().map((name) => {
    const folder = join(root, 'node_modules', name);
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? textOf(folder, name) : readFileSync(join(folder, file), 'utf8');
    return `Contains ${name}:\n\n${text.trim()}`;
  });
}

function textOf(folder: string, name: string): string {
  const { license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { license?: string };
  const file = `${license}.txt`;
  if (!readdirSync(texts).includes(file)) throw new Error(`${name} has no licence that could go with it`);
  return readFileSync(new URL(file, texts), 'utf8');
}
