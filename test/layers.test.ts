/** The plan of the house as data: who may import whom, and which rules hold in every file. */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

type Room = {
  /** What it may import; the leaves, of which everything is made, may be imported wherever there is no `strict`. */
  imports?: readonly string[];
  /** What it may import types of. */
  types?: readonly string[];
  /** The only files that other rooms may import, where they are not all of it. */
  doors?: readonly string[];
  strict?: true;
};

const leaves = [
  'errors',
  'page',
  'alive',
  'disk',
  'clock',
  'schedule',
  'secret',
  'near',
  'printable',
  'log',
  'version',
  'releases',
  'socket-path',
  'atomic-file',
];

/** From the bottom up: a room imports only rooms above it in this list, so no arrow runs back. */
const rooms: Record<string, Room> = {
  ...Object.fromEntries(leaves.map((leaf) => [leaf, { strict: true }])),
  log: { imports: ['printable'], strict: true },
  disk: { imports: ['errors'], strict: true },
  'socket-path': { imports: ['errors'], strict: true },
  'atomic-file': { imports: ['errors', 'disk'], strict: true },
  'model-api': { strict: true, doors: ['model-api/index.ts'] },

  job: { strict: true },
  jobs: { imports: ['job'], strict: true },
  key: {},
  config: { imports: ['key'], types: ['job'] },
  'load-jobs': { imports: ['job'] },
  'job-list': { imports: ['job', 'load-jobs'] },

  governor: { doors: ['src/governor/gate.ts', 'src/governor/describe.ts'] },
  api: { types: ['governor', 'key'], doors: ['src/api/client.ts'] },
  validate: { imports: ['job'], doors: ['src/validate.ts'] },
  walk: {},

  'store/sql': {},
  'store/schema': { imports: ['job', 'store/sql'] },
  'store/db': { imports: ['store/sql'] },
  'store/records': { imports: ['job', 'store/sql', 'store/schema', 'store/db'], types: ['config'] },
  'store/fields': { imports: ['job', 'store/schema', 'store/db'], types: ['store/records'] },
  'store/walk': {
    imports: ['job', 'walk', 'store/sql', 'store/schema', 'store/db', 'store/records', 'store/fields'],
  },
  store: {
    imports: ['job', 'store/sql', 'store/schema', 'store/db', 'store/records', 'store/fields', 'store/walk'],
    doors: ['src/store/index.ts', 'src/store/read.ts'],
  },

  'on-change': { types: ['store'], doors: ['src/on-change.ts'] },
  mirror: { imports: ['job', 'walk', 'validate', 'store'], types: ['api'], doors: ['src/mirror.ts'] },
  queue: { imports: ['job'], types: ['mirror'], doors: ['src/queue/index.ts', 'src/queue/examine.ts'] },
  plan: { imports: ['governor', 'store'], types: ['job-list'] },
  output: {},
  reading: {
    imports: ['output', 'plan', 'store'],
    types: ['job-list', 'queue'],
    doors: ['status', 'query', 'export', 'backup', 'quarantine'].map(
      (subject) => `src/reading/${subject}.ts`,
    ),
  },
  app: {
    imports: ['api', 'config', 'governor', 'job-list', 'load-jobs', 'mirror', 'on-change', 'store'],
    types: ['job', 'key'],
  },
  daemon: {
    imports: ['app', 'governor', 'job', 'job-list', 'plan', 'queue', 'reading', 'store'],
    types: ['mirror'],
    doors: ['src/daemon.ts'],
  },
  doctor: {
    imports: ['app', 'config', 'job-list', 'queue', 'reading', 'store'],
    types: ['api', 'job'],
    doors: ['src/doctor.ts'],
  },
  commands: {
    imports: [
      'app',
      'config',
      'daemon',
      'doctor',
      'governor',
      'job-list',
      'load-jobs',
      'model-api',
      'output',
      'plan',
      'reading',
    ],
    types: ['job', 'mirror', 'store'],
  },
  main: { imports: ['commands'] },
  outputs: {},
  'dot-env': { imports: ['config'] },
  cli: { imports: ['dot-env', 'main', 'outputs'] },
};

/** Packages that one room alone may import. */
const packages: Record<string, string> = {
  'better-sqlite3': 'store/db',
  bullmq: 'queue',
  ioredis: 'queue',
  undici: 'api',
};

/** Words that only some files may use. */
const words: { pattern: RegExp; only: RegExp; because: string }[] = [
  { pattern: /\.reveal\(/, only: /^src\/api\//, because: 'only the client that sends the key may see it' },
  {
    pattern: /\bDate\.now\b|\bMath\.random\b|\bnew Date\(\)/,
    only: /^(model-api\/.*|src\/(clock|cli|commands\/model-api))\.ts$/,
    because: 'time and chance come in as parameters',
  },
];

type Import = { from: string; to: string; typeOnly: boolean };

const files = typeScriptIn('src', 'jobs', 'model-api');
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

test('every import follows the plan', () => {
  expect(imports.filter(({ to }) => to.startsWith('src/')).length).toBeGreaterThan(100);
  expect(imports.flatMap(violation)).toEqual([]);
});

test.each(Object.entries(packages))('%s is used only in %s, and is used there', (name, room) => {
  const users = imports
    .filter(({ to }) => to === name || to.startsWith(`${name}/`))
    .map(({ from }) => roomOf(from));
  expect([...new Set(users)]).toEqual([room]);
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

  test('in fewer than 100, mostly', () => {
    const sorted = lengths(files).sort((one, other) => one.lines - other.lines);
    expect(sorted[Math.floor(sorted.length / 2)]?.lines).toBeLessThan(100);
  });
});

function violation({ from, to, typeOnly }: Import): string[] {
  if (/^(lab|scripts|test)\//.test(to)) return [`${from} imports ${to}, which is not shipped`];
  if (!/^(src|jobs|model-api)\//.test(to)) return [];
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
  const path = file.replace(/^src\//, '').replace(/\.ts$/, '');
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
        .filter((file) => file.endsWith('.ts'))
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
