/** A machine that lacks one thing or another: its programs are stand-ins that write down how they are called. */

import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

type Ended = { code: number | null; said: string[]; called: string[]; complained: string[] };

export type BareMachine = {
  /** The checkout, in a folder with a space in its path. */
  folder: string;
  /** The only folder that programs are looked for in. */
  bin: string;
  /** Adds a program that says how it was called, and then does what the script says. */
  program(name: string, script?: string): void;
  /** Adds a program that only does what the script says. */
  quietProgram(name: string, script: string): void;
  /** Runs setup.sh from another folder. */
  setUp(...args: string[]): Promise<Ended>;
};

/** Leaves behind what `npm ci` and the build leave. */
const npmThatWorks = `
mkdir -p node_modules/better-sqlite3 dist/src
echo 'module.exports = class {}' > node_modules/better-sqlite3/index.js
touch node_modules/.package-lock.json dist/src/cli.js
chmod +x dist/src/cli.js`;

/** Has Node.js, the usual tools and nothing else; gone when the test ends. */
export function bareMachine(): BareMachine {
  const root = mkdtempSync(join(tmpdir(), 'mirror setup-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const bin = join(root, 'bin');
  const folder = join(root, 'a checkout');
  for (const made of [bin, ...['src', 'jobs', 'model-api', 'web'].map((name) => join(folder, name))])
    mkdirSync(made, { recursive: true });
  for (const file of ['setup.sh', 'package.json', 'package-lock.json', 'tsconfig.json'])
    copyFileSync(file, join(folder, file));

  const quietProgram = (name: string, script: string) => {
    // The place may be taken by a link to a real program.
    rmSync(join(bin, name), { force: true });
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  };
  const program = (name: string, script = '') => quietProgram(name, `echo "called: ${name} $*"\n${script}`);
  const setUp = (...args: string[]) =>
    new Promise<Ended>((resolve) => {
      const child = execFile(
        join(bin, 'sh'),
        [join(folder, 'setup.sh'), ...args],
        { cwd: tmpdir(), env: { PATH: bin, HOME: folder } },
        (_, stdout, stderr) => {
          const lines = stdout.split('\n').filter(Boolean);
          resolve({
            code: child.exitCode,
            said: lines.filter((line) => line.startsWith('setup: ')).map((line) => line.slice(7)),
            called: lines.filter((line) => line.startsWith('called: ')).map((line) => line.slice(8)),
            complained: stderr.split('\n').filter(Boolean),
          });
        },
      );
      child.stdin?.end();
    });

  for (const tool of ['dirname', 'env', 'find', 'mkdir', 'touch', 'chmod', 'sh'])
    symlinkSync(placeOf(tool), join(bin, tool));
  symlinkSync(process.execPath, join(bin, 'node'));
  quietProgram('id', 'echo 0');
  program('npm', npmThatWorks);
  return { folder, bin, program, quietProgram, setUp };
}

/** Where this machine has a program. */
export function placeOf(tool: string): string {
  return execFileSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).trim();
}
