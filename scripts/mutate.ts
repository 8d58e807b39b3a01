/**
 * Mutation testing of the rooms that protect data: `npm run mutate -- walk [--part 0.2] [--seed 7] [--lines REV]`. Changes the code of a room in
 * small ways, one after the other, and says which changes no test of the room noticed.
 */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { LogLevel } from '@stryker-mutator/api/core';
import { Stryker } from '@stryker-mutator/core';

/**
 * The code of a room, and the tests that have to notice: its own, and those of the next door that run in this process;
 * without those that would take minutes for each change.
 */
const rooms: Record<string, { code: string[]; tests: string[]; without?: string[] }> = {
  walk: {
    code: ['src/walk.ts', 'src/walk/**/*.ts'],
    tests: ['test/walk/**/*.test.ts'],
    without: ['test/walk/random.test.ts'],
  },
  validate: {
    code: ['src/validate.ts', 'src/validate/**/*.ts'],
    tests: ['test/validate.test.ts', 'test/validate/**/*.test.ts'],
  },
  governor: {
    code: ['src/governor.ts', 'src/governor/**/*.ts'],
    tests: ['test/governor/**/*.test.ts'],
    without: ['test/governor/worlds.test.ts'],
  },
  store: {
    code: ['src/store/{session,group-commit,rows,retire,orders,rowids}.ts'],
    tests: ['test/store/**/*.test.ts', 'test/mirror.test.ts', 'test/mirror/**/*.test.ts'],
    without: [
      'test/store/{failure,lock,filesystem,views}.test.ts',
      'test/mirror/{glance,prefetched}.test.ts',
    ],
  },
  serve: {
    code: ['src/serve/service/{admission,auth,counts,keys,limits}.ts'],
    tests: [
      'test/serve/{keys,admission}/**/*.test.ts',
      'test/serve/{admission,counters,keys,limits,usage}.test.ts',
      'test/commands/keys.test.ts',
      'test/contract/limits.test.ts',
    ],
    without: ['test/serve/admission/processes.test.ts'],
  },
  sinks: {
    code: ['src/sinks/follow.ts', 'src/sinks/{lake,postgres}/dataset.ts'],
    tests: ['test/sinks/**/*.test.ts'],
    without: ['test/sinks/*/{start,recipes}.test.ts'],
  },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    part: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    lines: { type: 'string' },
    most: { type: 'string', default: '40' },
    processes: { type: 'string', default: '2' },
  },
});
const [name = ''] = positionals;
const room = rooms[name];
if (!room) {
  process.stderr.write(`mutate: name one of ${Object.keys(rooms).join(', ')}\n`);
  process.exit(64);
}

Object.assign(process.env, {
  MUTATE_TESTS: JSON.stringify(room.tests),
  MUTATE_WITHOUT: JSON.stringify(room.without ?? []),
  MUTATE_PART: values.part,
  MUTATE_SEED: values.seed,
});
const sandbox = join(tmpdir(), `mutate-${process.pid}`);
const plugins = readdirSync('node_modules/@stryker-mutator').filter((name) => name.endsWith('-runner'));
const mutate = values.lines === undefined ? room.code : changedLines(room.code, values.lines);
if (mutate.length === 0) {
  process.stdout.write(`${name}: no line of it has changed since ${values.lines}\n`);
  process.exit();
}
const results = await new Stryker({
  mutate,
  plugins: [
    ...plugins.map((name) => `@stryker-mutator/${name}`),
    join(import.meta.dirname, 'mutate/sample.mjs'),
  ],
  checkers: ['sample'],
  testRunner: 'vitest',
  vitest: { configFile: 'scripts/mutate/vitest.config.ts', related: false },
  // TypeScript 7 has no API for Stryker to read settings by: named as no file, they are left alone.
  tsconfigFile: 'none',
  // A changed message is no broken promise.
  mutator: { excludedMutations: ['StringLiteral'] },
  // A test file that cannot be loaded there is silently left out: all that any of them imports must be copied.
  ignorePatterns: ['dist'],
  tempDirName: sandbox,
  coverageAnalysis: 'perTest',
  concurrency: Number(values.processes),
  // A mutant that loops for ever is ended by its hit count; time is for what merely waits.
  dryRunTimeoutMinutes: 30,
  timeoutMS: 30_000,
  timeoutFactor: 3,
  reporters: [],
  allowEmpty: true,
  logLevel: 'error' as LogLevel,
}).runMutationTest();
rmSync(sandbox, { recursive: true, force: true });

const counted = results.filter(({ status }) => !['Ignored', 'CompileError'].includes(status));
const noticed = counted.filter(({ status }) => status === 'Killed' || status === 'Timeout');
const unnoticed = counted.filter((mutant) => !noticed.includes(mutant));
for (const { fileName, location, replacement = '', status } of unnoticed.slice(0, Number(values.most))) {
  const path = fileName.slice(fileName.lastIndexOf('src/'));
  const line = readFileSync(path, 'utf8').split('\n')[location.start.line - 1]?.trim();
  const change = replacement.replace(/\s+/g, ' ').slice(0, 80);
  process.stdout.write(`${path}:${location.start.line} ${status}: ${line}\n    → ${change}\n`);
}
if (unnoticed.length > Number(values.most))
  process.stdout.write(`(and ${unnoticed.length - Number(values.most)} more)\n`);
process.stdout.write(
  `${name}: ${noticed.length} of ${counted.length} changes noticed, ${score(noticed.length, counted.length)} (part ${values.part}, seed ${values.seed})\n`,
);

function score(part: number, whole: number): string {
  return whole === 0 ? 'nothing to measure' : `${((100 * part) / whole).toFixed(1)} %`;
}

/** The lines of these files that have changed since a revision, as Stryker takes them. */
function changedLines(code: readonly string[], since: string): string[] {
  const paths = code.map((pattern) => `:(glob)${pattern}`);
  const diff = execFileSync('git', ['diff', '--unified=0', since, '--', ...paths], { encoding: 'utf8' });
  let file = '';
  return diff.split('\n').flatMap((line) => {
    file = /^\+\+\+ b\/(.*)$/.exec(line)?.[1] ?? file;
    const [, from, count = '1'] = /^@@ \S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    if (from === undefined || count === '0') return [];
    return [`${file}:${from}-${Number(from) + Number(count) - 1}`];
  });
}
