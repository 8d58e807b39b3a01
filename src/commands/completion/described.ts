/** The commands as shells need to know them: options, arguments, and what their values may be. */

import type { Command, Option } from 'commander';

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
