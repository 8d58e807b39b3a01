/** What the page sends, read and checked, and how it hears of a failure: by a line `failed` of `QueryLine`, whatever it sent. */

import { isoTime } from '../../base/clock.ts';
import type { FailureKind } from '../../base/errors.ts';
import { parsePastTime } from '../../base/time.ts';
import type { Params } from '../../reading/query.ts';
import type { Call } from '../http/handler.ts';
import { readBody } from '../http/request.ts';
import { type HttpResponse, jsonResponse, retryAfter } from '../http/response.ts';
import type { TranslatedSql } from './ask.ts';

const MAX_BODY_BYTES = 256 * 1_024;

/** Rows of one response: a browser has to hold them. */
const MAX_ROWS = 100_000;

/** A request that breaks the contract. */
export class BadRequest extends Error {
  readonly status: number;

  constructor(message: string, status: 400 | 413 | 415 = 400) {
    super(message);
    this.status = status;
  }
}

/** The object that was sent as JSON. @throws BadRequest */
export async function readJson(call: Call): Promise<Readonly<Record<string, unknown>>> {
  const type = call.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  // Other pages may send forms without asking, but no JSON.
  if (type !== 'application/json') throw new BadRequest('The body must be JSON.', 415);
  const text = await readBody(call, MAX_BODY_BYTES);
  if (text === undefined)
    throw new BadRequest(`The body may have ${MAX_BODY_BYTES / 1_024} kB at most.`, 413);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {}
  throw new BadRequest('The body must be an object in JSON.');
}

/** A query of the mirror. `whole`: see `TranslatedSql`. */
export type ReadQuestion = {
  sql: string;
  params: Params;
  asOf: string | null;
  whole?: TranslatedSql['whole'];
};

/** Makes SQL of a question in the grammar of `/mirror/v1`. */
export type Translate = (ask: string, facets: readonly string[] | null) => TranslatedSql;

/** @throws BadRequest, and what `translate` throws. */
export function readQuestion(
  { sql, params = {}, asOf = null, ask, facets = null }: Readonly<Record<string, unknown>>,
  now: number,
  translate: Translate,
): ReadQuestion {
  if (typeof ask === 'string') {
    const names = Array.isArray(facets) ? facets.map(String) : null;
    return { ...translate(ask, names), asOf: readTime(asOf, now) };
  }
  if (typeof sql !== 'string') throw new BadRequest('sql must be a text.');
  if (typeof params !== 'object' || params === null || Array.isArray(params))
    throw new BadRequest('params must be an object.');
  const bound = Object.entries(params).map(([name, value]) => [name, readParam(name, value)]);
  return { sql, params: Object.fromEntries(bound), asOf: readTime(asOf, now) };
}

export function readLimit({ limit }: Readonly<Record<string, unknown>>): number {
  if (Number.isInteger(limit) && Number(limit) >= 1) return Math.min(Number(limit), MAX_ROWS);
  throw new BadRequest('limit must be a whole number above 0.');
}

/** SQLite takes every number for a real unless it is a bigint. */
function readParam(name: string, value: unknown): string | number | bigint | null {
  if (Number.isSafeInteger(value)) return BigInt(value as number);
  if (typeof value === 'number' || typeof value === 'string' || value === null) return value;
  throw new BadRequest(`params: ${name} must be a text, a number or null.`);
}

function readTime(value: unknown, now: number): string | null {
  if (value === null) return null;
  if (typeof value !== 'string') throw new BadRequest('asOf must be a text or null.');
  const at = parsePastTime(value, now);
  if ('problem' in at) throw new BadRequest(at.problem);
  return isoTime(at.ms);
}

/** @param waitSeconds until it is worth trying again. */
export function failedResponse(
  status: number,
  kind: FailureKind,
  message: string,
  waitSeconds: number | null = null,
): HttpResponse {
  return jsonResponse(status, { failed: { kind, message } }, retryAfter(waitSeconds));
}

const BUSY_SECONDS = 2;

export const busyResponse = (what: string): HttpResponse =>
  failedResponse(503, 'incomplete', `too many ${what} at the same time: try again in a moment`, BUSY_SECONDS);
