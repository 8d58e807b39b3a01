/** What `npm run build` makes of the sources: few files, and one of each module, for whoever imports it. */

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { built } from './helpers/built.ts';

const dist = dirname(dirname(fileURLToPath(built('src/cli.js'))));
const filesIn = (folder: string, ending: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => join(folder, file));

test('a module is in one file: whoever loads it gets the same one', () => {
  const programs = ['jobs', 'src'].flatMap((folder) => filesIn(join(dist, folder), '.js'));
  // esbuild marks each module that it puts into a file, and each part of it.
  const marks = /^ *\/\/ ((?:src|jobs|node_modules)\/.*\.(?:[cm]?js|ts))$/gm;
  const modules = programs.flatMap((file) => [
    ...new Set([...readFileSync(file, 'utf8').matchAll(marks)].map(([, module]) => module)),
  ]);
  expect(modules).toEqual(expect.arrayContaining(['src/base/errors.ts', 'src/job.ts', 'jobs/news.ts']));
  expect(modules.filter((module, at) => modules.indexOf(module) !== at)).toEqual([]);
});

test('each program that threads and processes of ours run is a file', () => {
  const started = filesIn('src', '.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/programFile\('([\w./-]+)', import\.meta\.url/g)].map(
      ([, name]) => join(dist, dirname(file), `${name}.js`),
    ),
  );
  expect(started).not.toEqual([]);
  expect(started.filter((file) => !existsSync(file))).toEqual([]);
});

test('the licences of what is put into the program go with it', () => {
  const notices = readFileSync(join(dist, 'licences.txt'), 'utf8').matchAll(/^Contains (.+):\n\n.+/gm);
  expect([...notices].map(([, name]) => name)).toEqual([
    'canonicalize',
    'commander',
    'croner',
    'csv-stringify',
    'drizzle-orm',
    'fastest-levenshtein',
    'ms',
    'undici',
    'zod',
  ]);
});

test('where a bug was is told by the lines of the sources', () => {
  const script = `import { listed } from ${JSON.stringify(built('src/job.js').href)}; listed(null);`;
  const args = ['--enable-source-maps', '--input-type=module', '-e', script];
  const { stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const [, file = '', line] = /\((?:file:\/\/)?(.*job\.ts):(\d+):\d+\)/.exec(stderr) ?? [];
  expect(relative('.', file)).toBe('src/job.ts');
  const lines = readFileSync('src/job.ts', 'utf8').split('\n');
  expect(lines.slice(Number(line) - 3, Number(line)).join()).toContain('listed');
});
