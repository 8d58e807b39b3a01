/** Keeps the documentation short: counts the words of the pages that people write. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const docs = fileURLToPath(new URL('../docs', import.meta.url));

/** Made by `npm run docs`. */
const generated = ['cli.md', 'metrics.md', 'settings.md', 'tables.md'];

const folders = [
  { of: 'docs/, for users', folder: docs, most: 16_000 },
  { of: 'docs/dev/', folder: join(docs, 'dev'), most: 11_000 },
];

for (const { of, folder, most } of folders) {
  const pages = readdirSync(folder).filter((name) => name.endsWith('.md') && !generated.includes(name));
  const counted = pages.map((name) => ({ name, words: wordsIn(readFileSync(join(folder, name), 'utf8')) }));
  const words = counted.reduce((sum, page) => sum + page.words, 0);
  process.stdout.write(`${of}: ${words} words of at most ${most}\n`);
  if (words <= most) continue;
  const longest = counted.sort((one, other) => other.words - one.words).slice(0, 5);
  process.stderr.write(
    `Shorten what is told twice: ${longest.map((page) => `${page.name} ${page.words}`).join(', ')}\n`,
  );
  process.exitCode = 1;
}

function wordsIn(text: string): number {
  return text.split(/\s+/).filter((word) => /\w/.test(word)).length;
}
