/** Holds the house to its plan, and every file to the rules that hold in all of them. */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { leaves, packages, rooms, words } from './layers/plan.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

type Import = { from: string; to: string; typeOnly: boolean };

const files = typeScriptIn('src', 'jobs', 'model-api', 'web');
const imports = files.flatMap(importsOf);

test('the plan has no arrow that runs back', () => {
  const order = Object.keys(rooms);
  for (const [name, { imports = [], types = [] }] of Object.entries(rooms))
    for (const other of [...imports, ...types])
      expect(order.indexOf(other), `${name} → ${other}`).toBeLessThan(order.indexOf(name));
});

test('the plan names every room and no other', () => {
  expect([...new Set(files.map(roomOf))].sort()).toEqual(Object.keys(rooms).sort());
});

test('CONTRIBUTING.md tells of every room that is a folder', () => {
  const [house = ''] = read('CONTRIBUTING.md').split('## Living here');
  const folders = Object.keys(rooms).filter((room) => files.some((file) => file.includes(`${room}/`)));
  expect(folders.filter((room) => !new RegExp(`\\b${room.replace('store/', '')}\\b`).test(house))).toEqual(
    [],
  );
});

test('every arrow of the plan is used', () => {
  const drawn = Object.entries(rooms).flatMap(([name, { imports: values = [], types = [] }]) => [
    ...values.map((other) => `${name} → ${other}`),
    ...types.map((other) => `${name} → ${other}`),
  ]);
  const used = new Set(imports.map(({ from, to }) => `${roomOf(from)} → ${roomOf(to)}`));
  expect(drawn.filter((arrow) => !used.has(arrow))).toEqual([]);
});

test('every import follows the plan', () => {
  expect(imports.filter(({ to }) => to.startsWith('src/')).length).toBeGreaterThan(100);
  expect(imports.flatMap(violation)).toEqual([]);
});

test('the page knows of the service what they say to each other, and nothing else', () => {
  const known = imports.filter(({ from, to }) => roomOf(from) === 'web' && to.startsWith('src/'));
  expect([...new Set(known.map(({ to }) => to))]).toEqual(['src/serve/page/wire.ts']);
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

test.each(Object.entries(packages))('%s is used only in %s, and is used there', (name, only) => {
  const users = imports
    .filter(({ to }) => to === name || to.startsWith(`${name}/`))
    .map(({ from }) => roomOf(from));
  expect([...new Set(users)].sort()).toEqual([only].flat());
});

test.each(words)('$pattern stays where it belongs: $because', ({ pattern, only }) => {
  const users = files.filter((file) => pattern.test(codeOf(file)));
  expect(users.filter((file) => only.test(file))).not.toEqual([]);
  expect(users.filter((file) => !only.test(file))).toEqual([]);
});

describe('a file tells one story', () => {
  const lengths = (list: string[]) =>
    list.map((file) => ({ file, lines: read(file).split('\n').length - 1 }));

  test('in at most 300 lines', () => {
    const all = lengths([...files, ...typeScriptIn('test', 'scripts', 'lab')]);
    expect(all.filter(({ lines }) => lines > 300)).toEqual([]);
  });

  test('in at most 150, four times in five', () => {
    const long = lengths(files).filter(({ lines }) => lines > 150);
    expect(long.length).toBeLessThan(files.length / 5);
  });

  test('and says in its first line what it is about', () => {
    const silent = [...files, ...typeScriptIn('scripts', 'lab')].filter(
      (file) => !/^(#!.*\n)?\/\*\*/.test(read(file)),
    );
    expect(silent.filter((file) => !file.startsWith('jobs/'))).toEqual([]);
  });
});

function violation({ from, to, typeOnly }: Import): string[] {
  if (/^(lab|scripts|test)\//.test(to)) return [`${from} imports ${to}, which is not shipped`];
  if (!/^(src|jobs|model-api|web)\//.test(to)) return [];
  const [here, there] = [roomOf(from), roomOf(to)];
  if (here === there) return [];
  const { imports = [], types = [], strict } = rooms[here] ?? {};
  const may = strict ? imports : [...leaves, ...imports];
  const allowed = may.includes(there) || (typeOnly && types.includes(there));
  const doors = rooms[there]?.doors;
  const where = 'see "The house" in CONTRIBUTING.md';
  if (!allowed)
    return [
      `${from} imports ${to}: ${here} may import only ${may.join(', ') || 'nothing of ours'}` +
        `${types.length > 0 ? `, and types of ${types.join(', ')}` : ''}; ${where}`,
    ];
  if (doors && !doors.includes(to))
    return [`${from} imports ${to}: others enter ${there} only by ${doors.join(' or ')}; ${where}`];
  return [];
}

/** `src/walk.ts` and the folder `src/walk/` are one room; `store` has rooms of its own. */
function roomOf(file: string): string {
  const path = file.replace(/^src\//, '').replace(/\.tsx?$/, '');
  const inner = path.split('/').slice(0, 2).join('/');
  return inner in rooms ? inner : path.replace(/\/.*/, '');
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

function typeScriptIn(...folders: string[]): string[] {
  const all = readdirSync(root, { recursive: false, withFileTypes: true }).map(({ name }) => name);
  return folders
    .filter((folder) => all.includes(folder))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.tsx?$/.test(file))
        .map((file) => join(folder, file)),
    );
}

/** Without comments, which may speak of anything. */
function codeOf(file: string): string {
  return read(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}
