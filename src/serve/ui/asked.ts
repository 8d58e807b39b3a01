/** What is sent to the page's endpoints, read and checked. */

import { isoTime } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import type { Params } from '../../reading/query.ts';
import type { PageAsked } from '../http/app.ts';

/** Of a body. */
export const MOST_BYTES = 256 * 1_024;

/** Of one answer: a browser has to hold them. */
export const MOST_ROWS = 100_000;

/** What is wrong with a request, as its answer says it. */
export class Unfit extends Error {
  readonly status: number;
  readonly error: string;

  constructor(status: 400 | 403 | 413 | 415, error: string, message: string) {
    super(message);
    this.status = status;
    this.error = error;
  }
}

/** The object that was sent as JSON. @throws Unfit */
export async function readJson(asked: PageAsked): Promise<Readonly<Record<string, unknown>>> {
  const type = asked.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  // Other pages may send forms without asking, but no JSON.
  if (type !== 'application/json') throw new Unfit(415, 'unsupported_media_type', 'The body must be JSON.');
  const text = await asked.body(MOST_BYTES);
  if (text === undefined)
    throw new Unfit(413, 'content_too_large', `The body may have ${MOST_BYTES / 1_024} kB at most.`);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {}
  throw unfit('The body must be an object in JSON.');
}

/** What is asked of the mirror. @throws Unfit, and Failure `usage` for a time that is yet to come. */
export function readQuestion(
  given: Readonly<Record<string, unknown>>,
  now: number,
): { sql: string; params: Params; asOf: string | null } {
  const { sql, params = {}, asOf = null } = given;
  if (typeof sql !== 'string') throw unfit('sql must be a text.');
  return { sql, params: readParams(params), asOf: readMoment(asOf, now) };
}

export function readLimit({ limit }: Readonly<Record<string, unknown>>): number {
  if (Number.isInteger(limit) && Number(limit) >= 1) return Math.min(Number(limit), MOST_ROWS);
  throw unfit('limit must be a whole number above 0.');
}

/** What is to be downloaded. @throws as `readQuestion` does. */
export function readDownload(given: Readonly<Record<string, unknown>>, now: number) {
  const { format, name = 'market-mirror' } = given;
  if (format !== 'csv' && format !== 'ndjson' && format !== 'parquet')
    throw unfit('format must be csv, ndjson or parquet.');
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name))
    throw unfit('name must be 1 to 64 letters, digits, hyphens and underscores.');
  return { ...readQuestion(given, now), format, name } as const;
}

function readParams(given: unknown): Params {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw unfit('params must be an object.');
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, readParam(name, value)]));
}

/** SQLite is given every number as a real unless it is a bigint. */
function readParam(name: string, value: unknown): string | number | bigint | null {
  if (Number.isSafeInteger(value)) return BigInt(value as number);
  if (typeof value === 'number' || typeof value === 'string' || value === null) return value;
  throw unfit(`params: ${name} must be a text, a number or null.`);
}

function readMoment(given: unknown, now: number): string | null {
  if (given === null) return null;
  const at = typeof given === 'string' && /^\d{4}-\d\d-\d\dT/.test(given) ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(at)) throw unfit('asOf must be a time such as 2026-03-01T12:00:00Z, or null.');
  if (at > now) throw new Failure('usage', `${isoTime(at)} is yet to come`);
  return isoTime(at);
}

const unfit = (message: string) => new Unfit(400, 'bad_request', message);
