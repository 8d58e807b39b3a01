/** What a command loads is what whoever waits for it pays for: `npm run bench` measures how much that is. */

import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { jobListFile } from '../../src/job/list.ts';
import { loadJobs } from '../../src/job/load.ts';
import { listed } from '../../src/job.ts';
import { cliFile } from '../helpers/cli.ts';
import { setup } from '../helpers/setup.ts';

/** Writes down every module that a process loads, by ESM or by `require`. Our children have an environment of their own, and so no spy. */
const spy = `
import Module, { register } from 'node:module';
import { appendFileSync } from 'node:fs';
const file = process.env.LOADED;
const load = Module._load;
Module._load = (request, parent, isMain) => {
  appendFileSync(file, (Module._resolveFilename(request, parent, isMain)) + '\\n');
  return load(request, parent, isMain);
};
register('data:text/javascript,' + encodeURIComponent(\`
  import { appendFileSync } from 'node:fs';
  export async function load(url, context, next) {
    appendFileSync(\${JSON.stringify(file)}, url + '\\\\n');
    return await next(url, context);
  }\`));
`;

const OF_SINKS = ['pg', 'pg-copy-streams', 'hyparquet'];
const HEAVY = [
  'drizzle-orm',
  'undici',
  'bullmq',
  'ioredis',
  'zod',
  'pino',
  'log-update',
  'string-width',
  ...OF_SINKS,
];

async function setupSpy() {
  const { dir } = await setup({ rows: 3, walked: ['ai-signals'] });
  const [hook, loaded] = [join(dir, 'spy.mjs'), join(dir, 'loaded')];
  writeFileSync(hook, spy);
  writeFileSync(loaded, '');
  const env = {
    PATH: process.env['PATH'],
    MIRROR_DIR: dir,
    LOADED: loaded,
    NODE_OPTIONS: `--import "${hook}"`,
  };
  return {
    dir,
    env,
    found() {
      const files = [...new Set(readFileSync(loaded, 'utf8').split('\n'))];
      rmSync(hook);
      const programs = files.filter((file) => file.includes('/dist/'));
      return { programs, packages: new Set(files.flatMap(packagesIn)) };
    },
  };
}

async function loadedBy(...args: string[]) {
  const { dir, env, found } = await setupSpy();
  const { status, stderr } = spawnSync(process.execPath, [cliFile(), ...args], {
    cwd: dir,
    env,
    encoding: 'utf8',
  });
  return { status, stderr, ...found() };
}

/** By the process that `query` and `export` start, which is asked as they do. */
async function loadedByQuery(sql: string) {
  const { dir, env, found } = await setupSpy();
  const program = join(dirname(cliFile()), 'worker-main.js');
  const child = fork(program, ['query'], { cwd: dir, env, serialization: 'advanced' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const question = { dir, sql, params: {}, tables: { ai_signals: 'ai-signals' }, asOf: null };
  const answers: unknown[] = [];
  child.on('message', (answer: { piece?: unknown }) => {
    answers.push(answer);
    if ('piece' in answer) child.send('more');
    else child.disconnect();
  });
  child.send({ args: { ...question, form: { as: 'rows' } } });
  await once(child, 'exit');
  return { answers, ...found() };
}

const folderOf = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//;

/** The package that a file belongs to, or those that the build has put into it: it marks each module. */
function packagesIn(file: string): string[] {
  const [, name] = folderOf.exec(file) ?? [];
  if (name) return [name];
  if (!file.includes('/dist/')) return [];
  const path = file.startsWith('file:') ? fileURLToPath(file) : file;
  const marks = readFileSync(path, 'utf8').matchAll(/^ *\/\/ (node_modules\/.*)$/gm);
  return [...marks].flatMap(([, module = '']) => folderOf.exec(module)?.[1] ?? []);
}

test.each([
  ['status', ['better-sqlite3']],
  ['query --format table SELECT', ['commander']],
  ['--help', ['commander']],
])('reads without what writing takes: %s', async (line, needed) => {
  const { packages, programs, status, stderr } = await loadedBy(
    ...line.split(' ').map((word) => (word === 'SELECT' ? 'SELECT 1' : word)),
  );
  expect([status, stderr]).not.toEqual([70, expect.anything()]);
  expect([...packages]).toEqual(expect.arrayContaining(needed));
  expect(HEAVY.filter((name) => packages.has(name))).toEqual([]);
  // Parts that are always loaded together are in one file.
  if (line === 'status') expect(programs.length).toBeLessThan(8);
});

test('so does the process of a query', async () => {
  const { answers, packages, programs } = await loadedByQuery('SELECT count(*) FROM ai_signals');
  expect(answers.slice(1)).toEqual([{ piece: [[3]] }, { result: null }]);
  expect([...packages]).toEqual(expect.arrayContaining(['better-sqlite3']));
  expect([...HEAVY, 'prom-client'].filter((name) => packages.has(name))).toEqual([]);
  expect(programs.length).toBeLessThan(12);
});

test('what writes does load it, so that the spy is known to see', async () => {
  const { packages, programs } = await loadedBy('sync', 'news');
  // Five of them are jobs.
  expect(programs.length).toBeLessThan(25);
  expect([...packages]).toEqual(expect.arrayContaining(['drizzle-orm', 'undici', 'zod']));
  expect(OF_SINKS.filter((name) => packages.has(name))).toEqual([]);
});

test('the build writes down the jobs as they are', async () => {
  const built = fileURLToPath(jobListFile).replace(/jobs\.json$/, 'dist/jobs.json');
  expect(JSON.parse(readFileSync(built, 'utf8'))).toEqual((await loadJobs()).map(listed));
});
