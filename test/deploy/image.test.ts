/** The image: built as far as that goes without an engine, in the very context that an engine would see. */

import { execFile } from 'node:child_process';
import { cpSync, type Dirent, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../helpers/folder.ts';

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  bin: Record<string, string>;
  files: string[];
  scripts: Record<string, string>;
};
const { scripts } = manifest;
const program = manifest.bin['market-mirror'] ?? '';
const home = '/opt/market-mirror';

const [first = [], last = []] = stagesOf(readFileSync('deploy/Dockerfile', 'utf8'));
const textsOf = (stage: readonly Instruction[], name: string) =>
  stage.filter(([found]) => found === name).map(([, text]) => text);
const commandsOf = (stage: readonly Instruction[]) =>
  textsOf(stage, 'RUN').flatMap((text) => text.split(' && '));

describe('the image', () => {
  const copied = textsOf(last, 'COPY').map(
    (text) => new RegExp(`^--from=build ${home}/(\\S+)`).exec(text)?.[1] ?? text,
  );

  test('is built from what the ignore file leaves, and has no use for the rest', async () => {
    const patterns = patternsOf(readFileSync('deploy/Dockerfile.dockerignore', 'utf8'));
    for (const { path, isKept } of patterns)
      expect(!isKept || existsSync(path.replace(/\/\*.*/, '')), path).toBe(true);
    expect(textsOf(first, 'COPY')).toEqual(['. .']);

    const folder = temporaryFolder();
    for (const file of contextOf(patterns)) {
      mkdirSync(join(folder, dirname(file)), { recursive: true });
      cpSync(file, join(folder, file), { verbatimSymlinks: true });
    }
    for (const step of commandsOf(first).flatMap(withoutEngine)) {
      const { code, said } = await runIn(folder, step);
      expect(code, `${step}: ${said}`).toBe(0);
    }

    const made = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    for (const path of copied) expect(made.some(matcherOf(path)), path).toBe(true);
    expect(made).toEqual(expect.arrayContaining(['dist/web/index.html', 'dist/jobs.json']));
    expect(await runIn(folder, `node ${program} --version`)).toMatchObject({ code: 0 });
  });

  test('holds all that the package ships', () => {
    expect(copied).toEqual(expect.arrayContaining([...manifest.files, 'node_modules', 'package.json']));
  });

  test('runs its program as a user without rights, and nothing as root after that', () => {
    expect(commandsOf(last)).toContain(`ln -s ${home}/${program} /usr/local/bin/market-mirror`);
    expect(textsOf(last, 'USER')).toEqual(['node']);
    const asUser = last.slice(last.findIndex(([name]) => name === 'USER')).map(([name]) => name);
    expect(asUser).not.toContain('RUN');
    expect([...textsOf(last, 'ENTRYPOINT'), ...textsOf(last, 'CMD')].map((text) => JSON.parse(text))).toEqual(
      [['tini', '--', 'market-mirror'], ['start']],
    );
  });
});

type Instruction = [name: string, text: string];

/** The instructions of each stage of a Dockerfile, those of several lines in one. */
function stagesOf(text: string): Instruction[][] {
  const stages: Instruction[][] = [];
  const whole = text.replaceAll(/^#.*\n/gm, '').replaceAll(/\s*\\\n\s*/g, ' ');
  for (const [, name = '', rest = ''] of whole.matchAll(/^([A-Z]+) (.*)$/gm)) {
    if (name === 'FROM') stages.push([]);
    stages.at(-1)?.push([name, rest]);
  }
  return stages;
}

type Pattern = { path: string; isKept: boolean };

/** The patterns of an ignore file, in their order: the last one that matches decides. */
function patternsOf(text: string): Pattern[] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => ({ path: line.replace(/^!/, ''), isKept: line.startsWith('!') }));
}

/** Whether a path is what the pattern names, or lies in it. */
function matcherOf(pattern: string): (path: string) => boolean {
  const escaped = pattern.replaceAll(/[.+^$()|[\]{}\\]/g, '\\$&');
  const matching = escaped.replaceAll(/\*\*|\*|\?/g, (wild) =>
    wild === '**' ? '.*' : wild === '*' ? '[^/]*' : '[^/]',
  );
  const expression = new RegExp(`^${matching}(/|$)`);
  return (path) => expression.test(path);
}

/** The files that an engine would be sent; links stand for themselves. */
function contextOf(patterns: readonly Pattern[]): string[] {
  const deciders = patterns.map(({ path, isKept }) => ({ matches: matcherOf(path), isKept }));
  const isKept = (file: string) => deciders.findLast(({ matches }) => matches(file))?.isKept ?? true;
  // What is installed or made here is large, and would have to be named to be let in.
  const named = new Set(patterns.map(({ path }) => path));
  const isLarge = (name: string) => ['.git', 'node_modules', 'dist'].includes(name) && !named.has(name);
  return readdirSync('.', { withFileTypes: true })
    .filter(({ name }) => !isLarge(name))
    .flatMap((entry) => filesOf(entry, '.'))
    .filter(isKept);
}

function filesOf(entry: Dirent, folder: string): string[] {
  const path = join(folder, entry.name);
  if (!entry.isDirectory()) return [path];
  return readdirSync(path, { withFileTypes: true }).flatMap((within) => filesOf(within, path));
}

/** What `npm run prepare` does there, but to check types once more. */
const buildSteps = (scripts['build'] ?? '')
  .split(' && ')
  .filter((step) => !step.startsWith('tsc '))
  .map((step) => step.replace(/^(?=tsx )/, 'node_modules/.bin/'));

/**
 * The steps of the image that can be run here, instead of one of its own. Packages are neither fetched nor dropped: those of the
 * project are linked, and what npm does after an installation is done.
 */
function withoutEngine(command: string): string[] {
  if (command.startsWith('apt-get ') || command.startsWith('rm -rf /var/lib/apt/')) return [];
  if (command.startsWith('npm prune ')) return [];
  if (!command.startsWith('npm ci ')) return [command];
  const link = `ln -s '${join(process.cwd(), 'node_modules')}' node_modules`;
  return [link, ...buildSteps];
}

function runIn(folder: string, command: string): Promise<{ code: number | null; said: string }> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder };
  return new Promise((resolve) => {
    const child = execFile('sh', ['-c', command], { cwd: folder, env }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, said: stdout + stderr }),
    );
  });
}
