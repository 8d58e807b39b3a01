/** The command line as users run it: the built program, in a process and a working folder of its own. */

import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished, TestRunner } from 'vitest';
import { built } from './built.ts';

/** Asks for the build only where a test starts the program: mutation silently leaves out a file that cannot be loaded. */
export const cliFile = () => fileURLToPath(built('src/cli.js'));

export type Ended = { code: number | null; stdout: string; stderr: string };

export type Running = { child: ChildProcess; output: () => string; ended: Promise<Ended> };

/**
 * Starts a command with nothing in its environment but a PATH and what is given; it ends with the test that starts it.
 * @param before shell commands that set the stage for the process, such as a limit.
 */
export function startCli(
  args: string[],
  environment: Record<string, string>,
  cwd: string,
  before = '',
): Running {
  const env = { PATH: process.env['PATH'] ?? '', HOME: cwd, ...environment };
  const command = ['sh', '-c', `${before} exec "$@"`, 'sh', process.execPath, cliFile(), ...args] as const;
  const child = spawn(command[0], command.slice(1), { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<Ended>((resolve) =>
    child.on('close', (code) => resolve({ code, stdout, stderr })),
  );
  // The campaign starts commands, too, outside any test.
  if (TestRunner.getCurrentTest())
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await ended;
    });
  return { child, output: () => stdout + stderr, ended };
}

export async function runCli(
  args: string[],
  environment: Record<string, string>,
  cwd: string,
): Promise<Ended> {
  return await startCli(args, environment, cwd).ended;
}
