/** CONTRIBUTING.md says where new things go. Here each of its lines is walked: a new thing is put there, and found. */

import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { copyProject, type ProjectCopy } from './helpers/project-copy.ts';

/** `put` does what the line says; the command `args` or `find` shows where it is noticed, which is to tell of a greeting. */
type Addition = { put(files: Files): void } & (
  | { args: string[] }
  | { find(project: ProjectCopy): Promise<string> | string }
);

type Files = Record<'create' | 'append', (file: string, text: string) => void> & {
  /** Puts the text behind the first place where `behind` stands in the file. */
  insert(file: string, behind: string, text: string): void;
};

const additions: Record<string, Addition> = {
  endpoint: {
    put: () => undefined,
    find: () => readFileSync('test/sixth-endpoint.test.ts', 'utf8').replaceAll('funding', 'greeting'),
  },
  command: {
    put({ create, insert }) {
      create(
        'src/commands/greet.ts',
        `import { Command } from 'commander';
         export const greetCommand = ({ stdout }) => new Command('greet').action(() => stdout.write('greeting'));`,
      );
      insert(
        'src/main.ts',
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
    async find(project) {
      await project.market(['init', '--url', 'https://api.example.com'], {});
      return readFileSync(join(project.folder, '.env'), 'utf8');
    },
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
    find: async (project) => (await project.run('tsx', 'lab/bench.ts', 'greeting')).stdout,
  },
};

test('every line that says where a new thing goes is walked', () => {
  const [, lines = ''] = readFileSync('CONTRIBUTING.md', 'utf8').split('## Living here');
  const things = [...lines.matchAll(/^\| (?!new)([a-z]+) \|.* \|$/gm)].map(([, thing]) => thing);
  expect(things).toEqual(Object.keys(additions));
});

test('a new thing is noticed where CONTRIBUTING.md says, once it is where CONTRIBUTING.md says', async () => {
  const project = copyProject('docs', 'scripts', 'lab', 'test/helpers');
  const change = (file: string, to: (text: string) => string) =>
    writeFileSync(join(project.folder, file), to(readFileSync(join(project.folder, file), 'utf8')));
  const files: Files = {
    create: (file, text) => writeFileSync(join(project.folder, file), text),
    append: (file, text) => appendFileSync(join(project.folder, file), text),
    insert: (file, behind, text) =>
      change(file, (before) => {
        expect(before, file).toContain(behind);
        return before.replace(behind, `${behind}${text}`);
      }),
  };
  for (const { put } of Object.values(additions)) put(files);
  const generated = await project.run('npm', 'run', 'generate', '--', '--name', 'greetings');
  expect(generated.code, generated.stderr).toBe(0);
  const commands = Object.entries(additions).flatMap(([thing, addition]) =>
    'args' in addition ? [[thing, addition.args] as const] : [],
  );
  const printed = await output(project, commands);
  for (const [thing, addition] of Object.entries(additions)) {
    const text = 'args' in addition ? printed[thing] : await addition.find(project);
    expect(text, thing).toContain('greeting');
  }
});

/** What commands print, by name: in one process, since the sources take longer to load than any of them to run. */
async function output(
  project: ProjectCopy,
  commands: (readonly [name: string, args: string[]])[],
): Promise<Record<string, string>> {
  writeFileSync(
    join(project.folder, 'commands.ts'),
    `import { loadJobs } from './src/load-jobs.ts';
     import { main } from './src/main.ts';
     import { systemClock as clock } from './src/clock.ts';
     import { openStore } from './src/store.ts';
     openStore('data', await loadJobs(), Date.now).close();
     const printed = {};
     for (const [name, args] of JSON.parse(process.argv[2])) {
       printed[name] = '';
       const stream = { write: (text) => void (printed[name] += text) };
       const signal = new AbortController().signal;
       const context = { environment: {}, clock, random: Math.random, signal, stdout: stream, stderr: stream };
       await main(args, context);
     }
     console.log(JSON.stringify(printed));`,
  );
  const { stdout, stderr } = await project.run('tsx', 'commands.ts', JSON.stringify(commands));
  expect(stdout, stderr).not.toBe('');
  return JSON.parse(stdout);
}

function tables(project: ProjectCopy): string {
  return readFileSync(join(project.folder, 'docs/tables.md'), 'utf8');
}
