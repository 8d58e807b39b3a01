/** What a browser loads before the overview is whole, found in the built files as a browser finds it. */

import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** Scripts and styles: those that `index.html` names, and what they import. The overview draws its bars without the library of charts. */
export function firstViewOf(dist: string): string[] {
  const html = readFileSync(join(dist, 'index.html'), 'utf8');
  const named = [...html.matchAll(/(?:src|rel="stylesheet" href)="\/assets\/([^"]+)"/g)].map(
    ([, name = '']) => name,
  );
  const files = new Set<string>();
  const add = (name: string) => {
    const file = join(dist, 'assets', name);
    if (files.has(file)) return;
    files.add(file);
    if (name.endsWith('.js')) for (const imported of importsOf(file)) add(imported);
  };
  for (const name of named) add(name);
  return [...files];
}

/** In kB of 1,000 bytes, each file by itself, as they are sent. */
export function gzipKilobytes(files: readonly string[]): number {
  return files.reduce((sum, file) => sum + gzipSync(readFileSync(file), { level: 9 }).length, 0) / 1_000;
}

function importsOf(file: string): string[] {
  const statements = /(?:\bfrom|\bimport)\s*"(\.\/[^"]+\.js)"/g;
  return [...readFileSync(file, 'utf8').matchAll(statements)].map(([, name = '']) => basename(name));
}
