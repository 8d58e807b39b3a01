/** What `query` and `export` have in common: where the SQL comes from, the times and bounds given, and the asking. */

import { readFileSync } from 'node:fs';
import { DAY_MS, isoTime } from '../clock.ts';
import { readLocalConfig } from '../config.ts';
import { Failure } from '../errors.ts';
import { type ListedJob, tablesOf } from '../job-list.ts';
import { printable, printableLines } from '../printable.ts';
import type { Answer, Ask, Question } from '../reading/query.ts';
import { millisecondsOf } from '../schedule.ts';
import type { AskingOptions } from './asking/options.ts';
import type { Context } from './context.ts';

export type Input = NodeJS.ReadableStream & { isTTY?: boolean };

/** What is asked, with the time it is to be answered for (null for now). */
export type Asked = Omit<Question, 'dir' | 'tables'>;

/** Asks the mirror, hands the answer to `read`, and then says on stderr what whoever reads it should know. */
export async function askMirror<T>(
  ask: Ask,
  asked: Asked,
  jobs: readonly ListedJob[],
  { timeout, maxAge, maxSeenAge }: AskingOptions,
  { environment, clock, signal, stderr }: Context,
  read: (answer: Answer) => Promise<T>,
): Promise<T> {
  const { dir } = readLocalConfig(environment);
  const parse = (text: string | undefined, what: string) =>
    text === undefined ? undefined : parseDuration(text, what);
  const bounds = {
    signal,
    now: clock.now,
    timeoutMs: parse(timeout, '--timeout'),
    maxAgeMs: parse(maxAge, '--max-age'),
    maxSeenAgeMs: parse(maxSeenAge, '--max-seen-age'),
  };
  try {
    return await ask({ dir, ...asked, tables: tablesOf(jobs) }, bounds, async (answer) => {
      const result = await read(answer);
      for (const note of answer.notes) stderr.write(`note: ${printable(note)}\n`);
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

const iso = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)\s?(Z|[+-]\d{2}:?\d{2})?)?$/i;

/**
 * Milliseconds from a duration such as `10m` or `2h`.
 * @param what names the option, for the error.
 */
export function parseDuration(text: string, what: string): number {
  const duration = millisecondsOf(text);
  if (duration === undefined)
    throw new Failure('usage', `${what}: '${text}' is no duration such as 90s, 10m, 2h or 3d`);
  return duration;
}

/**
 * A moment that is past, as ISO 8601 UTC with milliseconds: `2026-03-01`, `2026-03-01T12:00`, with an offset or in UTC,
 * or how long ago, such as `2h`.
 * @param what names the option, for the error.
 */
export function parseTime(text: string, what: string, now: number): string {
  const [, day, time = '00:00', zone = 'Z'] = iso.exec(text.trim()) ?? [];
  const ago = day ? undefined : millisecondsOf(text.replace(/\s*ago$/, ''));
  if (!day && ago === undefined) {
    const yesterday = isoTime(now - DAY_MS).slice(0, 10);
    throw new Failure(
      'usage',
      `${what}: '${text}' is no time: give one such as ${yesterday} or ${yesterday}T12:00Z (UTC), or how long ago, such as 2h or 1d`,
    );
  }
  const at = ago === undefined ? Date.parse(`${day}T${time}${zone}`) : now - ago;
  if (Number.isNaN(at) || (day && !isDay(day)))
    throw new Failure('usage', `${what}: there is no time '${text}'`);
  if (at > now) throw new Failure('usage', `${what}: ${isoTime(at)} is yet to come`);
  return isoTime(at);
}

/** `Date.parse` takes 30 February for 2 March. */
function isDay(text: string): boolean {
  const at = Date.parse(text);
  return !Number.isNaN(at) && isoTime(at).startsWith(text);
}
