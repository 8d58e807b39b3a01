/**
 * CONTRIBUTING.md says where new things go, and that a sixth endpoint is one file. Here its text is put to the test, word for word:
 * a new thing of each kind is put there, and found.
 */

import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openReadOnly } from '../src/store/connection.ts';
import { listenOnLoopback } from './helpers/loopback.ts';
import { copyProject, type ProjectCopy } from './helpers/project-copy.ts';

const guide = readFileSync('CONTRIBUTING.md', 'utf8');
const [, jobFile = '', jobSource = ''] = /Write `(jobs\/[\w-]+\.ts)`:\n\n```ts\n(.*?)```/s.exec(guide) ?? [];
const generate = /^npm run generate -- --name \w+$/m.exec(guide)?.[0] ?? '';

/** `put` does what the line says; what the command `args` prints, or `find` finds, tells of it: of a greeting, unless `shows` is given. */
type Addition = { put(files: Files): void; shows?: string } & (
  | { args: string[] }
  | { find(project: ProjectCopy): Promise<string> | string }
);

type Files = Record<'create' | 'append', (file: string, text: string) => void> & {
  /** Puts the text behind the first place where `behind` stands in the file. */
  insert(file: string, behind: string, text: string): void;
};

const additions: Record<string, Addition> = {
  endpoint: {
    put: ({ create }) => create(jobFile, jobSource),
    args: ['sync', 'funding-rates'],
    shows: 'verified: 120 rows',
  },
  command: {
    put({ create, insert }) {
      create(
        'src/commands/greet.ts',
        `import { Command } from 'commander';
         export const greetCommand = ({ stdout }) => new Command('greet').action(() => stdout.write('greeting'));`,
      );
      insert(
        'src/commands.ts',
        `'To begin:': [`,
        `{ name: 'greet', about: '', load: async () => (await import('./commands/greet.ts')).greetCommand },`,
      );
    },
    args: ['greet'],
  },
  setting: {
    put: ({ insert }) =>
      insert(
        'src/config/settings.ts',
        'export const settings = {',
        `greeting: preset('MIRROR_GREETING', 'a greeting', 'good day', (text) => text),`,
      ),
    args: ['init'],
    shows: '.env is written',
  },
  table: {
    put: ({ append }) =>
      append(
        'src/store/schema.ts',
        `/** A greeting in a table. */
export const greetings = sqliteTable('greetings', { id: integer().primaryKey() });`,
      ),
    find: (project) => tables(project).match(/^### greetings$.*A greeting in a table\./ms)?.[0] ?? '',
  },
  view: {
    put: ({ insert }) =>
      insert(
        'jobs/ai-signals.ts',
        'views: [',
        `{ name: 'greeting', about: 'One row each.', sql: 'SELECT id FROM ai_signals', example: 'SELECT 1' },`,
      ),
    find: (project) => tables(project).match(/^### greeting$.*One row each\./ms)?.[0] ?? '',
  },
  check: {
    put: ({ insert }) => insert('src/doctor/files.ts', 'return [', `ok('greeting', 'good day'),`),
    args: ['doctor', '--offline', '--all'],
  },
  format: {
    put({ append, create, insert }) {
      create(
        'src/output/greet.ts',
        `export async function* greet(): AsyncGenerator<string, void> { yield 'greeting'; }`,
      );
      insert('src/output/answer.ts', 'export const formats = [', `'greet',`);
      append('src/output/print.ts', `import { greet } from './greet.ts';`);
      insert('src/output/print.ts', 'AsyncGenerator<string, void>> = {', `greet,`);
    },
    args: ['query', 'SELECT 1', '--format', 'greet'],
  },
  fault: {
    put({ append, insert }) {
      append('model-api/faults.ts', `export const greets = () => editPage(() => 'greeting');`);
      insert('model-api/fault-scripts.ts', 'NamedFault>> = {', `greet: plain('a greeting', faults.greets),`);
    },
    args: ['model-api', '--help'],
  },
  figure: {
    put({ create, insert }) {
      create('lab/bench/greeting.ts', `process.stdout.write('greeting: 1 ms');`);
      insert('lab/bench.ts', 'const figures = {', `greeting: 'how long a greeting takes',`);
    },
    find: async (project) => (await project.run('tsx', 'lab/bench.ts', '--help')).stdout,
  },
};

test('every line that says where a new thing goes is walked', () => {
  const [, lines = ''] = guide.split('## Living here');
  const things = [...lines.matchAll(/^\| (?!new)([a-z]+) \|.* \|$/gm)].map(([, thing]) => thing);
  expect(things).toEqual(Object.keys(additions));
});

test('a new thing is noticed where CONTRIBUTING.md says, once it is where CONTRIBUTING.md says', async () => {
  const project = copyProject('docs', 'scripts', 'lab', 'test/helpers');
  const written = new Set<string>();
  const write = (file: string, text: string, how: (file: string, text: string) => void = writeFileSync) => {
    written.add(file);
    how(join(project.folder, file), text);
  };
  const files: Files = {
    create: write,
    append: (file, text) => write(file, text, appendFileSync),
    insert(file, behind, text) {
      const before = readFileSync(join(project.folder, file), 'utf8');
      expect(before, file).toContain(behind);
      write(file, before.replace(behind, `${behind}${text}`));
    },
  };
  for (const { put } of Object.values(additions)) put(files);
  const [npm = '', ...args] = generate.split(' ');
  const generated = await project.run(npm, ...args);
  expect(generated.code, generated.stderr).toBe(0);
  // All else is made of these files.
  const made = project.changes().filter((file) => !written.has(file));
  expect(made.map((file) => file.replace(/\/\d{4}_/, '/NNNN_'))).toEqual([
    ...['docs/cli.md', 'docs/settings.md', 'docs/tables.md', 'drizzle/NNNN_funding_rates.sql'],
    ...['drizzle/meta/NNNN_snapshot.json', 'drizzle/meta/_journal.json'],
  ]);
  expect(tables(project)).toContain('| `rate` | real | yes | `rate`: per eight hours |');
  // Else tables that nobody added here would have no migration.
  const sql = made
    .filter((file) => file.endsWith('.sql'))
    .map((file) => readFileSync(join(project.folder, file), 'utf8'));
  expect(new Set([...sql.join().matchAll(/TABLE `(\w+)`/g)].map(([, table]) => table))).toEqual(
    new Set(['_funding_rates_rows', '_funding_rates_history_rows', '_funding_rates_volatile', 'greetings']),
  );

  const commands = Object.entries(additions).flatMap(([thing, addition]) =>
    'args' in addition ? [[thing, addition.args] as const] : [],
  );
  const printed = await output(project, commands, await serve());
  for (const [thing, addition] of Object.entries(additions)) {
    const text = 'args' in addition ? printed[thing] : await addition.find(project);
    expect(text, thing).toContain(addition.shows ?? 'greeting');
  }
  expect(readFileSync(join(project.folder, '.env'), 'utf8')).toContain('greeting');

  const database = openReadOnly(join(project.folder, 'data/mirror.db'));
  onTestFinished(() => void database.close());
  const shown = 'SELECT id, market, rate, age_seconds AS ageSeconds FROM funding_rates ORDER BY age_seconds';
  expect(database.prepare(shown).all()).toEqual(rates);
});

/** What commands print, by name: in one process, since the sources take longer to load than any of them to run. */
async function output(
  project: ProjectCopy,
  commands: (readonly [name: string, args: string[]])[],
  apiUrl: string,
): Promise<Record<string, string>> {
  const environment = { MARKET_API_URL: apiUrl, MARKET_API_KEY: 'k-1234' };
  writeFileSync(
    join(project.folder, 'commands.ts'),
    `import { main } from './src/commands.ts';
     import { systemClock as clock } from './src/base/clock.ts';
     const printed = {};
     for (const [name, args] of JSON.parse(process.argv[2])) {
       printed[name] = '';
       const stream = { write: (text) => void (printed[name] += text) };
       const { signal } = new AbortController();
       const parts = { environment: JSON.parse(process.argv[3]), clock, random: Math.random, signal };
       await main(args, { ...parts, stdout: stream, stderr: stream });
     }
     console.log(JSON.stringify(printed));`,
  );
  const given = [commands, environment].map((argument) => JSON.stringify(argument));
  const { stdout, stderr } = await project.run('tsx', 'commands.ts', ...given);
  expect(stdout, stderr).not.toBe('');
  return JSON.parse(stdout);
}

function tables(project: ProjectCopy): string {
  return readFileSync(join(project.folder, 'docs/tables.md'), 'utf8');
}

const rates = Array.from({ length: 120 }, (_, at) => ({
  id: `rate-${at}`,
  market: `M${at}-PERP`,
  rate: at % 10 === 0 ? null : at / 1e5,
  ageSeconds: at,
}));

/** A list as the specification describes lists. */
async function serve(): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    const [offset, limit] = [Number(searchParams.get('offset')), Number(searchParams.get('limit'))];
    const rows = rates.slice(offset, offset + limit);
    const hasMore = offset + limit < rates.length;
    const pagination = { offset, limit, total: rates.length, returned: rows.length, hasMore };
    response.writeHead(pathname === '/api/v1/funding-rates' ? 200 : 404, {
      'content-type': 'application/json',
    });
    response.end(JSON.stringify({ rows, pagination }));
  });
  const { url, close } = await listenOnLoopback(server);
  onTestFinished(close);
  return url;
}
