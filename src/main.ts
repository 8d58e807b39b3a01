/** The command line: runs one command; every failure is one line and an exit code that scripts can read. */

import type { CommanderError } from 'commander';
import type { Context } from './commands/context.ts';
import { program } from './commands.ts';
import { exitCodes, Failure, toError } from './errors.ts';
import { printable } from './printable.ts';

/** Runs one command to its end. `argv` begins with the command's name. @returns the exit code. */
export async function main(argv: string[], surroundings: Omit<Context, 'exit'>): Promise<number> {
  let exitCode: number = exitCodes.done;
  const context = {
    ...surroundings,
    exit: (code: number) => {
      exitCode = code;
    },
  };
  try {
    const called = await program(context, (name) => argv.includes(name));
    await called.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (thrown) {
    return report(thrown, context);
  }
}

function report(thrown: unknown, { stderr, environment }: Context): number {
  if (isHelpGiven(thrown)) return exitCodes.done;
  const failure = thrown instanceof Failure ? thrown : undefined;
  const { message, stack } = toError(thrown);
  stderr.write(`market-mirror: ${printable(oneLine(failure?.message ?? `a bug: ${message}`))}\n`);
  if (!failure && environment['LOG_LEVEL'] === 'debug') stderr.write(`${stack}\n`);
  return failure?.exitCode ?? exitCodes.bug;
}

/** The commands that the build leaves in files of their own bring a commander, and so a class, of their own. */
function isHelpGiven(thrown: unknown): boolean {
  const { code, exitCode } = toError(thrown) as Partial<CommanderError>;
  return exitCode === 0 && /^commander\./.test(code ?? '');
}

const oneLine = (text: string) => text.replace(/\s*\n\s*/g, ' ').trim();
