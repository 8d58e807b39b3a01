/** `market-mirror completion <shell>`: what a shell needs to complete our command lines, made from the program itself. */

import { Argument, Command, type Option } from 'commander';
import { listJobs } from '../job-list.ts';
import { bash } from './completion/bash.ts';
import { fish } from './completion/fish.ts';
import { zsh } from './completion/zsh.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';

const scripts: Record<string, (commands: readonly Described[]) => string> = { bash, zsh, fish };

export function completionCommand({ stdout }: Context, program: () => Promise<Command>): Command {
  const command = new Command('completion')
    .addArgument(new Argument('<shell>', 'the shell that is to complete').choices(Object.keys(scripts)))
    .action(async (shell: string) => {
      const jobs = (await listJobs()).map((job) => job.name);
      stdout.write(`${scripts[shell]?.(describe(await program(), jobs))}\n`);
    });
  return withExamples(
    command,
    [
      'bash, from the next shell on; make the folder where there is none',
      'completion bash > ~/.local/share/bash-completion/completions/market-mirror',
    ],
    ['zsh, in a folder of $fpath', 'completion zsh > ~/.zfunc/_market-mirror'],
    ['fish', 'completion fish > ~/.config/fish/completions/market-mirror.fish'],
  );
}

/** What a value may be: one of these words, a file, or nothing that could be guessed. */
export type Values = readonly string[] | 'file' | 'any';

export type DescribedOption = {
  /** `-o` and `--output`; most have the latter alone. */
  flags: readonly string[];
  about: string;
  /** Undefined: it takes none. */
  values: Values | undefined;
};

export type Described = {
  name: string;
  about: string;
  options: readonly DescribedOption[];
  /** By position; the last goes on for ever where `variadic`. */
  args: readonly { name: string; values: Values; variadic: boolean }[];
};

/** @param jobs the names that arguments called `job` or `what` may have. */
export function describe(program: Command, jobs: readonly string[]): Described[] {
  const names = program.commands.map((command) => command.name());
  const known: Record<string, Values> = { job: jobs, what: jobs, command: names, file: 'file' };
  return program.commands.map((command) => ({
    name: command.name(),
    about: command.description(),
    options: command.createHelp().visibleOptions(command).map(describeOption),
    args: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      values: argument.argChoices ?? known[argument.name()] ?? 'any',
      variadic: argument.variadic,
    })),
  }));
}

function describeOption(option: Option): DescribedOption {
  const { short, long, description: about, argChoices } = option;
  const values = option.required ? (argChoices ?? (/<file>/.test(option.flags) ? 'file' : 'any')) : undefined;
  return { flags: [short, long].filter((flag) => flag !== undefined), about, values };
}
