/**
 * `npm run mutate -- ROOM [--part 0.2] [--seed 7] [--concurrency 1]`: which small changes of a room's code does no test notice? Stryker
 * tries them one by one, by `stryker.config.json`. See docs/dev/testing.md.
 */

import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

/** Stryker takes a comma for the end of a pattern, also in braces. */
function files(folder: string, ...names: string[]): string[] {
  return names.map((name) => `${folder}/${name}.ts`);
}

/** Compiles what tests start in processes and threads of their own. */
const COMPILED = 'test/helpers/compiled.ts';

/** The code of a room, and the tests that have to notice: its own and those of the next door, without slow ones. */
const rooms: Record<string, { code: string[]; tests: string[]; without?: string[]; setup?: string[] }> = {
  walk: {
    code: ['src/walk.ts', 'src/walk/**/*.ts'],
    tests: [
      'test/walk/**/*.test.ts',
      'test/cases/{doubles,pages}.test.ts',
      'test/mirror/{glance,previous}.test.ts',
    ],
    without: ['test/walk/random.test.ts'],
  },
  validate: {
    code: ['src/validate.ts', 'src/validate/**/*.ts'],
    tests: ['test/validate.test.ts', 'test/validate/**/*.test.ts'],
  },
  governor: {
    code: ['src/governor.ts', 'src/governor/**/*.ts'],
    tests: ['test/governor/**/*.test.ts'],
    without: ['test/governor/over-http.test.ts'],
  },
  store: {
    code: files('src/store', 'session', 'take-rows', 'matching', 'rows', 'keys', 'pages', 'retire'),
    tests: [
      'test/store/{changes,quarantine,rebuild,retire,rows,walks}.test.ts',
      'test/mirror/{previous,resume}.test.ts',
      ...['test/reading/pages.test.ts', 'test/cases/keys.test.ts'],
    ],
    setup: [COMPILED],
  },
  serve: {
    code: files('src/serve/access', 'admission', 'counts', 'keys', 'limits'),
    tests: [
      'test/serve/{admission,counters,keys,usage}.test.ts',
      ...['test/commands/keys.test.ts', 'test/contract/limits.test.ts'],
    ],
  },
  sinks: {
    code: files('src/sinks', 'follow', 'lake/dataset', 'postgres/dataset'),
    tests: ['test/sinks/**/*.test.ts'],
    without: ['test/sinks/*/{built,start,recipes}.test.ts'],
  },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    part: { type: 'string', default: '1' },
    seed: { type: 'string', default: '1' },
    concurrency: { type: 'string', default: '2' },
  },
});
const room = rooms[positionals[0] ?? ''];
if (room) {
  const { tests, without = [], setup = [] } = room;
  const { part, seed, concurrency } = values;
  const { status } = spawnSync(
    'npx',
    [
      ...['stryker', 'run', '--mutate', room.code.join(','), '--concurrency', concurrency],
      ...['--tempDirName', join(tmpdir(), `mutate-${process.pid}`)],
    ],
    {
      stdio: 'inherit',
      env: { ...process.env, MUTATE: JSON.stringify({ tests, without, setup, part, seed }) },
    },
  );
  process.exitCode = status ?? 1;
} else {
  process.stderr.write(`npm run mutate -- ROOM: one of ${Object.keys(rooms).join(', ')}\n`);
  process.exitCode = 64;
}
