/** Holds the house to its eight layers, and each package and each dangerous word to its room. */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** From the ground up: a room knows those of its own layer and of the layers before it. */
const layers: readonly (readonly string[])[] = [
  ['base', 'config', 'job', 'jobs', 'output'],
  ['api', 'governor'],
  ['walk', 'validate'],
  ['store'],
  ['mirror', 'plan', 'queue', 'app'],
  ['reading', 'reports', 'sinks'],
  ['serve'],
  ['daemon', 'doctor', 'commands', 'worker-main', 'cli'],
];

/** Packages that these rooms alone may import. */
const packages: Record<string, readonly string[]> = {
  'better-sqlite3': ['store'],
  bullmq: ['queue'],
  ioredis: ['queue'],
  undici: ['api'],
  hyparquet: ['sinks'],
  'prom-client': ['serve'],
  pg: ['sinks'],
  'pg-copy-streams': ['sinks'],
  preact: ['web'],
  uplot: ['web'],
};

/** Packages of the leaves that run in a browser as well. */
const browserPackages = ['ms'];

/** Words that only some files may use. */
const words = [
  { pattern: /\.reveal\(/, only: /^src\/api\//, because: 'only the client that sends the key may see it' },
  {
    pattern: /\bDate\.now\b|\bMath\.random\b|\bnew Date\(\)/,
    only: /^(model-api\/.*|src\/(base\/clock|cli|commands\/model-api)|web\/clock)\.ts$/,
    because: 'time and chance come in as parameters',
  },
  {
    pattern: /\bprocess\.env\b/,
    only: /^src\/(cli|base\/environment)\.ts$/,
    because: 'settings come in as parameters, and the rest of the environment may be secret',
  },
];

type Import = { from: string; to: string; typeOnly: boolean };

const files = ['src', 'jobs', 'model-api', 'web'].flatMap(typeScriptIn);
const imports = files.flatMap(importsOf);

test('every import runs down, or stays in its layer', () => {
  expect(imports.filter(({ to }) => to.startsWith('src/')).length).toBeGreaterThan(100);
  expect(imports.flatMap(violation)).toEqual([]);
});

/** Of `serve`, from the ground up: a room knows those before it. */
const roomsOfServe = ['http', 'access', 'answers', 'page', 'process', 'serve'];

test('serve is http <- access <- answers <- page: a lower room knows none above it', () => {
  const roomIn = (file: string) =>
    roomsOfServe.indexOf(/^src\/serve(?:\/(\w+))?\b.*\.ts$/.exec(file)?.[1] ?? 'serve');
  const inside = imports.filter(({ from, to }) => [from, to].every((file) => /^src\/serve\b/.test(file)));
  expect(new Set(inside.map(({ from }) => roomIn(from)))).toEqual(new Set(roomsOfServe.keys()));
  expect(inside.filter(({ from, to }) => roomIn(from) < roomIn(to))).toEqual([]);
});

test('no files import each other in a circle, not even for their types', () => {
  const reached = new Map<string, Set<string>>();
  const reach = (file: string): Set<string> => {
    const known = reached.get(file);
    if (known) return known;
    const all = new Set<string>();
    reached.set(file, all);
    for (const { from, to } of imports)
      if (from === file) for (const further of [to, ...reach(to)]) all.add(further);
    return all;
  };
  expect(files.filter((file) => reach(file).has(file))).toEqual([]);
});

test.each(Object.entries(packages))('%s is used only in %s, and is used there', (name, rooms) => {
  const users = imports
    .filter(({ to }) => to === name || to.startsWith(`${name}/`))
    .map(({ from }) => roomOf(from));
  expect([...new Set(users)].sort()).toEqual(rooms);
});

test.each(words)('$pattern stays where it belongs: $because', ({ pattern, only }) => {
  const users = files.filter((file) => pattern.test(codeOf(file)));
  expect(users.filter((file) => only.test(file))).not.toEqual([]);
  expect(users.filter((file) => !only.test(file))).toEqual([]);
});

test('a file says in its first line what it is about', () => {
  const silent = [...files, ...typeScriptIn('scripts'), ...typeScriptIn('lab')].filter(
    (file) => !/^(#!.*\n)?\/\*\*/.test(read(file)),
  );
  expect(silent.filter((file) => !file.startsWith('jobs/'))).toEqual([]);
});

test('every room has its layer, and the top of src can be seen at a glance', () => {
  const rooms = new Set(files.filter((file) => file.startsWith('src/')).map(roomOf));
  expect([...rooms].filter((room) => layerOf(room) < 0)).toEqual([]);
  expect(rooms.size).toBeLessThanOrEqual(22);
});

function violation({ from, to, typeOnly }: Import): string[] {
  if (/^(lab|scripts|test)\//.test(to)) return [`${from} imports ${to}, which is not shipped`];
  if (!/^(src|jobs|model-api|web)\//.test(to)) return [];
  const [here, there] = [roomOf(from), roomOf(to)];
  if (here === there || mayImport(here, there, to, typeOnly)) return [];
  return [`${from} imports ${to}: see "The house" in CONTRIBUTING.md`];
}

function mayImport(here: string, there: string, to: string, typeOnly: boolean): boolean {
  // The model and the mirror can catch each other's mistakes only while they share nothing.
  if (here === 'model-api') return false;
  if (there === 'model-api') return here === 'commands' && to === 'model-api/index.ts';
  if (here === 'jobs') return to === 'src/job.ts';
  if (there === 'jobs' || there === 'web') return false;
  // Browsers are sent what `web` imports: types, and leaves that need no Node.js.
  if (here === 'web') return typeOnly || (layerOf(there) === 0 && isPure(to));
  return layerOf(there) <= layerOf(here);
}

/** The room of a file: `src/walk.ts` and the folder `src/walk/` are one. */
function roomOf(file: string): string {
  return file
    .replace(/^src\//, '')
    .replace(/\.tsx?$/, '')
    .replace(/\/.*/, '');
}

function layerOf(room: string): number {
  return layers.findIndex((rooms) => rooms.includes(room));
}

/** Whether it runs in a browser: it imports no part of Node.js, no other package than those above, and nothing that does. */
function isPure(file: string): boolean {
  return imports
    .filter(({ from, typeOnly }) => from === file && !typeOnly)
    .every(({ to }) => browserPackages.includes(to) || (to.startsWith('src/') && isPure(to)));
}

function importsOf(file: string): Import[] {
  const statements =
    /^(?:import|export)\s+(?<type>type\s)?(?<names>[^;'"]*?)\s*from\s*'(?<module>[^']+)'|^import '(?<bare>[^']+)'|\bimport\('(?<late>[^']+)'\)/gm;
  return [...read(file).matchAll(statements)].map(({ groups = {} }) => {
    const module = groups['module'] ?? groups['bare'] ?? groups['late'] ?? '';
    return {
      from: file,
      to: module.startsWith('.') ? normalize(join(dirname(file), module)) : module,
      typeOnly: Boolean(groups['type']) || /^\{(\s*type\s[^,}]+,?)+\s*\}$/.test(groups['names'] ?? ''),
    };
  });
}

function typeScriptIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => join(folder, file));
}

/** Without comments, which may speak of anything. */
function codeOf(file: string): string {
  return read(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}
