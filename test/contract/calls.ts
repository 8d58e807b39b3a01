/** Calls over HTTP by a client that knows nothing but the specification, which it holds every answer to. */

import { request } from 'undici';
import { afterAll, beforeAll, expect } from 'vitest';
import type { AccountLimits, KeyTerms, Service, Start } from './implementation.ts';
import { ErrorBody, scopes } from './specification.ts';

/** Starts the implementation for the tests of a `describe`. */
export function serviceOf(start: Start): () => Service {
  let service: Service | undefined;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service?.close());
  return () => service ?? expect.fail('it has not started');
}

export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
};

/** GET of a path below /api/v1. */
export type Call = (path: string) => Promise<Answer>;

/** Calls of an account of their own, with a key of all scopes unless other terms are given. */
export async function caller(
  service: Service,
  { limits, ...terms }: Partial<KeyTerms> & { limits?: AccountLimits } = {},
): Promise<Call> {
  const account = await service.openAccount(limits);
  return callerWith(account.url, await account.issueKey({ scopes, ...terms }));
}

export function callerWith(url: string, key: string): Call {
  return (path) => ask(`${url}/api/v1/${path}`, bearer(key));
}

export const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** One request, and what holds for every answer there is. */
export async function ask(
  url: string,
  headers: Record<string, string>,
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' = 'GET',
): Promise<Answer> {
  const response = await request(url, { method, headers, body: method === 'GET' ? null : '{}' });
  const text = await response.body.text();
  const answer = { status: response.statusCode, headers: response.headers };
  const asked = `${method} ${url} → ${answer.status}`;
  expect(
    String(answer.headers['content-type']),
    `${asked}: “Responses are JSON (content type application/json)”`,
  ).toMatch(/^application\/json *(;|$)/i);
  const body: unknown = JSON.parse(text);
  if (answer.status !== 200) expectError(body, asked);
  // A shared cache may keep an answer to a request with Authorization only where one of these words allows it.
  expect(
    String(answer.headers['cache-control']),
    `${asked}: “Responses are private, non-shared content”`,
  ).not.toMatch(/^(?!.*\b(private|no-store)\b).*\b(public|s-maxage|must-revalidate)\b/i);
  return { ...answer, body };
}

function expectError(body: unknown, asked: string): void {
  const { data, error } = ErrorBody.safeParse(body);
  expect(error?.issues, `${asked}: “two required string fields and no others”`).toBeUndefined();
  expect(data?.error, `${asked}: “Machine-readable error code”`).toMatch(/^\S+$/);
  expect(data?.message, `${asked}: “Human-readable text”`).toMatch(/\S/);
}
