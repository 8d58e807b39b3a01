/** The command line: one command a file; every failure is one line and an exit code that scripts can read. */

import { Command, CommanderError } from 'commander';
import { version } from './app.ts';
import { backupCommand } from './commands/backup.ts';
import { completionCommand } from './commands/completion.ts';
import type { Context } from './commands/context.ts';
import { demoCommand } from './commands/demo.ts';
import { doctorCommand } from './commands/doctor.ts';
import { exportCommand } from './commands/export.ts';
import { generalHelp, helpCommand, teach } from './commands/help.ts';
import { initCommand } from './commands/init.ts';
import { modelApiCommand } from './commands/model-api.ts';
import { planCommand } from './commands/plan.ts';
import { quarantineCommand } from './commands/quarantine.ts';
import { queryCommand } from './commands/query.ts';
import { startCommand } from './commands/start.ts';
import { statusCommand } from './commands/status.ts';
import { syncCommand } from './commands/sync.ts';
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
    await program(context).parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (thrown) {
    return report(thrown, context);
  }
}

/** Every command there is, with its help. */
export function program(context: Context): Command {
  const program = new Command('market-mirror')
    .description(
      'A complete, current, provably complete copy of the market data API in a local SQLite database.',
    )
    .version(version())
    .addHelpText('after', generalHelp)
    .commandsGroup('To begin:')
    .addCommand(initCommand(context))
    .addCommand(doctorCommand(context))
    .commandsGroup('To mirror:')
    .addCommand(syncCommand(context))
    .addCommand(startCommand(context))
    .commandsGroup('To read, without a call:')
    .addCommand(statusCommand(context))
    .addCommand(planCommand(context))
    .addCommand(queryCommand(context))
    .addCommand(exportCommand(context))
    .addCommand(backupCommand(context))
    .addCommand(quarantineCommand(context))
    .commandsGroup('To rehearse, on a model of the API:')
    .addCommand(demoCommand(context))
    .addCommand(modelApiCommand(context))
    .commandsGroup('To learn more:');
  program.addCommand(completionCommand(program, context)).addCommand(helpCommand(program));
  return teach(program, context);
}

function report(thrown: unknown, { stderr, environment }: Context): number {
  if (thrown instanceof CommanderError && thrown.exitCode === 0) return exitCodes.done;
  const failure = thrown instanceof Failure ? thrown : undefined;
  const { message, stack } = toError(thrown);
  stderr.write(`market-mirror: ${printable(oneLine(failure?.message ?? `a bug: ${message}`))}\n`);
  if (!failure && environment['LOG_LEVEL'] === 'debug') stderr.write(`${stack}\n`);
  return failure?.exitCode ?? exitCodes.bug;
}

const oneLine = (text: string) => text.replace(/\s*\n\s*/g, ' ').trim();
