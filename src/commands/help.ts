/** `market-mirror help`, and what makes every command's help teach: examples, and the name that was meant. */

import { type Argument, Command, type Option } from 'commander';
import { exitCodes, Failure } from '../base/errors.ts';
import { nearest } from '../base/near.ts';
import type { Context } from './context.ts';

/** What is typed after `market-mirror`, and what it is for. */
type Example = readonly [about: string, typed: string];

/** The examples stand at the end of the command's help; tests run them. */
export function withExamples(command: Command, ...examples: Example[]): Command {
  const lines = examples.flatMap(([about, typed]) => [`  # ${about}`, `  $ market-mirror ${typed}`]);
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}

const meanings: Record<keyof typeof exitCodes, string> = {
  done: 'done and complete',
  usage: 'wrong usage',
  contract: 'the API broke its contract',
  unreachable: 'the API is unreachable',
  bug: 'a bug',
  disk: 'the disk or the database failed',
  incomplete: 'incomplete for now: quota, a limit, busy; try again',
  key: 'the key is refused or lacks a scope',
  config: 'wrong configuration',
};

/** What holds for every command. */
export const generalHelp = `
Settings are read from the environment and from .env in the working folder.
init writes a .env that explains them.

Exit codes:
${Object.entries(exitCodes)
  .map(([kind, code]) => `  ${String(code).padEnd(4)}${meanings[kind as keyof typeof exitCodes]}`)
  .join('\n')}`;

export function helpCommand(program: Command): Command {
  return new Command('help')
    .description('list all commands, or show how one is used')
    .argument('[command]', 'the command that is shown')
    .action((name?: string) => {
      const named = name === undefined ? program : program.commands.find((known) => known.name() === name);
      if (named) return named.outputHelp();
      const names = program.commands.map((known) => known.name());
      throw new Failure(
        'usage',
        `unknown command '${name}'${nearest(name ?? '', names)}; see market-mirror --help`,
      );
    });
}

/** Every mistake on the command line becomes a Failure that says what may have been meant, and where it stands. */
export function teach(
  program: Command,
  { stdout, stderr, hint }: Pick<Context, 'stdout' | 'stderr' | 'hint'>,
): Command {
  for (const command of [program, ...program.commands]) {
    const called = command === program ? program.name() : `${program.name()} ${command.name()}`;
    for (const choice of [...command.options, ...command.registeredArguments]) suggestChoices(choice, called);
    command
      .configureOutput({
        writeOut: (text) => stdout.write(hint(text)),
        writeErr: (text) => stderr.write(hint(text)),
        // Said in one line, like every failure.
        outputError: () => undefined,
      })
      .exitOverride((error) => {
        if (error.exitCode === 0) throw error;
        // commander shows the help, as its message, where no command is given.
        const mistake = error.code === 'commander.help' ? 'a command is missing' : inOurWords(error.message);
        throw new Failure('usage', `${mistake}; see ${called} --help`);
      });
  }
  return program;
}

function inOurWords(message: string): string {
  return message
    .replace(/^error: /, '')
    .replace(/\.$/, '')
    .replace(/\s*\(Did you mean/, ' (did you mean');
}

function suggestChoices(choice: Option | Argument, called: string): void {
  const { argChoices } = choice;
  if (!argChoices) return;
  const name = 'long' in choice ? choice.long : choice.name();
  choice.argParser((given: string) => {
    if (argChoices.includes(given)) return given;
    const known = argChoices.join(', ');
    throw new Failure(
      'usage',
      `${name} is one of ${known}, not '${given}'${nearest(given, argChoices)}; see ${called} --help`,
    );
  });
}
