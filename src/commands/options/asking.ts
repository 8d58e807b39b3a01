/** What `query` and `export` have in common: where the SQL comes from, its parameters, its limits, its proof. */

import { readFileSync } from 'node:fs';
import { readLocalConfig } from '../../config.ts';
import { Failure } from '../../errors.ts';
import { type ListedJob, tablesOf } from '../../job-list.ts';
import { printable, printableLines } from '../../printable.ts';
import { datedBy, notesOn, refuseForgotten, refuseOlder } from '../../reading/query/proof.ts';
import type { Answer, Ask, Params } from '../../reading/query.ts';
import type { Context } from '../context.ts';
import type { AskingOptions } from './options.ts';
import { parseDuration, parseTime } from './times.ts';

export type Input = NodeJS.ReadableStream & { isTTY?: boolean };

/** What is asked, with the time it is to be answered for (null for now). */
export type Asked = { sql: string; params: Params; asOf: string | null; survey?: boolean };

/**
 * Asks the mirror, hands the answer to `read` and says on stderr what whoever reads it should know; `read` adds to
 * these notes.
 */
export async function askMirror<T>(
  ask: Ask,
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
  const { text } = await import('node:stream/consumers');
  return await text(stdin);
}

function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (thrown) {
    throw new Failure('usage', `--file: ${file} cannot be read (${(thrown as NodeJS.ErrnoException).code})`);
  }
}
