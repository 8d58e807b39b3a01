/** What `query` and `export` have in common on the command line. */

import { type Command, InvalidArgumentError } from 'commander';
import type { Params } from '../../reading/query.ts';

export type AskingOptions = {
  param?: Params;
  timeout?: string;
  maxAge?: string;
  maxSeenAge?: string;
  asOf?: string;
};

export function withAskingOptions(command: Command): Command {
  return command
    .option(
      '--param <name=value>',
      'the value of :name as text; name:=value for a number, null, true or false',
      addParam,
    )
    .option('--timeout <duration>', 'end the query after this time, such as 30s')
    .option(
      '--max-age <duration>',
      'refuse with exit code 75 where a dataset was proven complete longer ago than this, such as 10m',
    )
    .option(
      '--max-seen-age <duration>',
      'refuse with exit code 75 where new rows of a dataset were looked for longer ago than this',
    )
    .option(
      '--as-of <time>',
      'answer as the mirror stood then: 2026-03-01, 2026-03-01T12:00Z, or 2h for two hours ago',
    );
}

function addParam(written: string, before?: Params): Params {
  const [, name, typed, value] = /^[:@$]?(\w+)(:?)=(.*)$/su.exec(written) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError(
      'write it as name=value, or name:=value for a number, null, true or false',
    );
  return { ...before, [name]: typed ? typedValue(value) : value };
}

function typedValue(written: string): string | number | bigint | null {
  const words: Record<string, number | null> = { null: null, true: 1, false: 0 };
  const word = words[written];
  if (word !== undefined) return word;
  if (/^-?\d+$/.test(written)) return BigInt(written);
  const number = Number(written);
  if (written.trim() === '' || Number.isNaN(number))
    throw new InvalidArgumentError(`'${written}' is no number, null, true or false; name=value gives a text`);
  return number;
}
