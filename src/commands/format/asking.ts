/** What `query` and `export` have in common: where the SQL comes from, its parameters, its limits, its proof. */

import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { type Command, InvalidArgumentError } from 'commander';
import { readLocalConfig } from '../../config.ts';
import { Failure } from '../../errors.ts';
import type { ListedJob } from '../../job-list.ts';
import { printable, printableLines } from '../../printable.ts';
import { datedBy, notesOn, refuseForgotten, refuseOlder } from '../../report/query/proof.ts';
import { type Answer, ask, type Params } from '../../report/query.ts';
import { parseDuration, parseTime } from '../../report/time.ts';
import type { Context } from '../context.ts';
import { tablesOf } from './datasets.ts';

export type AskingOptions = { param?: Params; timeout?: string; maxAge?: string; asOf?: string };

export type Input = NodeJS.ReadableStream & { isTTY?: boolean };

/** What is asked, with the time it is to be answered for (null for now). */
export type Asked = { sql: string; params: Params; asOf: string | null; survey?: boolean };

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
      'refuse with exit code 75 where a dataset is older than this, such as 10m',
    )
    .option(
      '--as-of <time>',
      'answer as the mirror stood then: 2026-03-01, 2026-03-01T12:00Z, or 2h for two hours ago',
    );
}

/**
 * Asks the mirror, hands the answer to `read` and says on stderr what whoever reads it should know; `read` adds to
 * these notes.
 */
export async function askMirror<T>(
  asked: Asked,
  jobs: readonly ListedJob[],
  options: AskingOptions,
  { environment, clock, signal, stderr }: Context,
  read: (answer: Answer, notes: string[]) => Promise<T>,
): Promise<T> {
  const { dir } = readLocalConfig(environment);
  const timeoutMs = options.timeout === undefined ? undefined : parseDuration(options.timeout, '--timeout');
  const maxAgeMs = options.maxAge === undefined ? undefined : parseDuration(options.maxAge, '--max-age');
  const question = { dir, ...asked, tables: tablesOf(jobs) };
  try {
    return await ask(question, { signal, timeoutMs }, async (answer) => {
      const moment = asked.asOf === null ? clock.now() : Date.parse(asked.asOf);
      const sources = datedBy(answer.sources, moment);
      if (asked.asOf !== null) refuseForgotten(sources, asked.asOf);
      if (maxAgeMs !== undefined) refuseOlder(sources, maxAgeMs, moment);
      const notes = notesOn(sources, asked.asOf);
      const result = await read({ ...answer, sources }, notes);
      for (const note of notes) stderr.write(`note: ${printable(note)}\n`);
      return result;
    });
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    const [message = '', ...place] = thrown.message.split('\n');
    if (place.length > 0) stderr.write(`${printableLines(place.join('\n'))}\n`);
    throw new Failure(thrown.kind, printable(message), { cause: thrown });
  }
}

export function readAsOf({ asOf }: AskingOptions, { clock }: Context): string | null {
  return asOf === undefined ? null : parseTime(asOf, '--as-of', clock.now());
}

/** The SQL from the argument, from a file, or from standard input where there is neither. */
export async function readSql(
  given: string | undefined,
  file: string | undefined,
  stdin: Input,
): Promise<string> {
  if (given !== undefined && file !== undefined)
    throw new Failure('usage', 'give either SQL or --file, not both');
  if (file !== undefined) return readFile(file);
  if (given !== undefined && given !== '-') return given;
  if (given === undefined && stdin.isTTY)
    throw new Failure('usage', 'give some SQL, such as market-mirror query "SELECT * FROM freshness"');
  return await text(stdin);
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    throw new Failure('usage', `--file: ${file} cannot be read (${(thrown as NodeJS.ErrnoException).code})`);
  }
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
