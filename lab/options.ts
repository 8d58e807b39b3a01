/** The command line of what measures: `--help` prints its options, and a mistake is one line and exit code 64. */

import { Command, InvalidArgumentError } from 'commander';
import { exitCodes } from '../src/base/errors.ts';

/** @param name as in `npm run <name>`. */
export function tool(name: string, about: string): Command {
  return new Command(`npm run ${name} --`)
    .description(about)
    .showSuggestionAfterError(false)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? exitCodes.done : exitCodes.usage));
}

/** Reads a whole number, at least `least`. */
export function whole(least = 0): (text: string) => number {
  return (text) => {
    const number = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
    if (!(number >= least)) throw new InvalidArgumentError(`It is a whole number, at least ${least}.`);
    return number;
  };
}

/** Reads a number above zero, such as 0.5. */
export function positive(text: string): number {
  const number = /^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN;
  if (!(number > 0)) throw new InvalidArgumentError('It is a number above 0.');
  return number;
}

/** Reads several, separated by commas. */
export function listOf<T>(readOne: (text: string) => T): (text: string) => T[] {
  return (text) => text.split(',').map(readOne);
}

/** Reads one of these names. */
export function oneOf<Name extends string>(names: readonly Name[]): (text: string) => Name {
  return (text) => {
    const found = names.find((name) => name === text);
    if (!found) throw new InvalidArgumentError(`It is one of ${names.join(', ')}.`);
    return found;
  };
}

/** Another one in every run, unless the option is given. */
export const freshSeed = () => Date.now() % 2 ** 31;
