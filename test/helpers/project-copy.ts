/** The project in a folder of its own, where a test may change its files and run its commands. */

import { execFile } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Ended } from './cli.ts';
import { temporaryFolder } from './folder.ts';
import { compiledFolder } from './program-file.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const copied = ['drizzle', 'drizzle.config.ts', 'jobs', 'model-api', 'package.json', 'src', 'tsconfig.json'];

export type ProjectCopy = {
  folder: string;
  /** Runs a program of `node_modules/.bin`, or npm itself. */
  run(program: string, ...args: string[]): Promise<Ended>;
  /** Runs `market-mirror` of the copy. */
  market(args: string[], environment: Record<string, string>): Promise<Ended>;
  /** The files that are new, changed or gone, in the order of their names. */
  changes(): string[];
};

/** Copies what the program is made of; the copy is removed when the test ends. */
export function copyProject(...more: string[]): ProjectCopy {
  const folder = temporaryFolder();
  const sources = [...copied, ...more];
  for (const name of sources) cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return openCopy(folder, sources, ['--import', 'tsx', 'src/cli.ts']);
}

/** The compiled program with its migrations, for a test that changes no source: it starts in a third of the time. */
export function copyProgram(): ProjectCopy {
  const folder = temporaryFolder();
  cpSync(compiledFolder(), folder, { recursive: true });
  rmSync(join(folder, 'drizzle'));
  cpSync(join(root, 'drizzle'), join(folder, 'drizzle'), { recursive: true });
  return openCopy(folder, ['drizzle'], ['dist/src/cli.js']);
}

function openCopy(folder: string, sources: string[], program: string[]): ProjectCopy {
  const before = contents(folder, sources);
  const path = `${join(folder, 'node_modules', '.bin')}:${process.env['PATH']}`;

  const run = (program: string, args: string[], environment: Record<string, string>) =>
    new Promise<Ended>((resolve) => {
      const env = { PATH: path, HOME: folder, ...environment };
      const child = execFile(program, args, { cwd: folder, env }, (_, stdout, stderr) =>
        resolve({ code: child.exitCode, stdout, stderr }),
      );
      child.stdin?.end();
    });
  return {
    folder,
    run: (program, ...args) => run(program, args, {}),
    market: (args, environment) => run(process.execPath, [...program, ...args], environment),
    changes() {
      const after = contents(folder, sources);
      const names = new Set([...before.keys(), ...after.keys()]);
      return [...names].filter((name) => before.get(name) !== after.get(name)).sort();
    },
  };
}

function contents(folder: string, sources: string[]): Map<string, string> {
  const files = sources.flatMap((name) => {
    const source = join(folder, name);
    if (!statSync(source).isDirectory()) return [name];
    return readdirSync(source, { recursive: true, encoding: 'utf8' })
      .filter((file) => statSync(join(source, file)).isFile())
      .map((file) => join(name, file));
  });
  return new Map(files.map((file) => [file, readFileSync(join(folder, file), 'latin1')]));
}
