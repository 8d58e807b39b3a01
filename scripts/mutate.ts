/** Mutation testing of the rooms that protect data: which small changes of their code does no test notice? See docs/dev/testing.md. */

import { readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { LogLevel } from '@stryker-mutator/api/core';
import { Stryker } from '@stryker-mutator/core';

type Room = { code: string[]; tests: string[]; without?: string[] };

/** The code of a room, and the tests that have to notice: its own and those of the next door, without slow ones. */
const rooms: Record<string, Room> = {
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
    without: ['test/governor/{worlds,over-http}.test.ts'],
  },
  store: {
    code: ['src/store/{session,matching,rows,keys,pages,retire}.ts'],
    tests: [
      'test/store/**/*.test.ts',
      'test/mirror.test.ts',
      'test/mirror/**/*.test.ts',
      'test/reading/pages.test.ts',
      'test/cases/keys.test.ts',
    ],
    without: ['test/store/{failure,lock,filesystem,views}.test.ts', 'test/mirror/glance.test.ts'],
  },
  serve: {
    code: ['src/serve/access/{admission,counts,keys,limits}.ts'],
    tests: [
      'test/serve/{admission,counters,keys,usage}.test.ts',
      'test/commands/keys.test.ts',
      'test/contract/limits.test.ts',
    ],
  },
  sinks: {
    code: ['src/sinks/follow.ts', 'src/sinks/{lake,postgres}/dataset.ts'],
    tests: ['test/sinks/**/*.test.ts'],
    without: ['test/sinks/*/{built,start,recipes}.test.ts'],
  },
};

const usage = `npm run mutate -- ROOM [--part 0.2] [--seed 7]   a part of the changes to a room, drawn by a seed
The rooms are ${Object.keys(rooms).join(', ')}. --processes (2) says how many changes are tried at a time.
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    part: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    processes: { type: 'string', default: '2' },
    help: { type: 'boolean' },
  },
});
if (values.help) end(0, usage);
const [name = ''] = positionals;
const room = rooms[name] ?? end(64, usage);

Object.assign(process.env, {
  MUTATE_TESTS: JSON.stringify(room.tests),
  MUTATE_WITHOUT: JSON.stringify(room.without ?? []),
  MUTATE_PART: values.part,
  MUTATE_SEED: values.seed,
});
const sandbox = join(tmpdir(), `mutate-${process.pid}`);
const plugins = readdirSync('node_modules/@stryker-mutator').filter((name) => name.endsWith('-runner'));
const results = await new Stryker({
  mutate: room.code,
  plugins: [
    ...plugins.map((name) => `@stryker-mutator/${name}`),
    join(import.meta.dirname, 'mutate/plugins.mjs'),
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
  reporters: ['unnoticed'],
  allowEmpty: true,
  logLevel: 'error' as LogLevel,
}).runMutationTest();
rmSync(sandbox, { recursive: true, force: true });

const counted = results.filter(({ status }) => !['Ignored', 'CompileError'].includes(status));
const noticed = counted.filter(({ status }) => status === 'Killed' || status === 'Timeout');
process.stdout.write(
  `${name}: ${noticed.length} of ${counted.length} changes noticed, ${score(noticed.length, counted.length)} (part ${values.part}, seed ${values.seed})\n`,
);

function end(code: number, text: string): never {
  (code === 0 ? process.stdout : process.stderr).write(text);
  process.exit(code);
}

function score(part: number, whole: number): string {
  return whole === 0 ? 'nothing to measure' : `${((100 * part) / whole).toFixed(1)} %`;
}
