/** Errors that have no story of their own. That every error has an Error body is held where calls are made, in `calls.ts`. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { type Answer, caller, callerWith, serviceOf } from './calls.ts';
import { implementations } from './implementations.ts';
import { ErrorBody, listNames } from './specification.ts';

const PERIOD = 30 * 24 * 3_600_000;

describe.each(implementations)('errors of %s', (_, start) => {
  const service = serviceOf(start);

  it('503: “A required API service is temporarily unavailable”', async ({ skip }) => {
    const interrupt = service().interrupt ?? skip('nothing that it needs can be taken away');
    const call = await caller(service());
    const resume = await interrupt();
    onTestFinished(resume);
    for (const name of listNames) expect([name, (await call(name)).status]).toEqual([name, 503]);
    await resume();
    for (const name of listNames) expect([name, (await call(name)).status]).toEqual([name, 200]);
  });

  it('“Machine-readable error code”: the same for the same cause', async () => {
    const { url } = await service().openAccount();
    const limits = { rate: { calls: 1, periodMs: PERIOD, burst: 1 } };
    const overLimit = await caller(service(), { limits });
    expect(await overLimit('usage')).toMatchObject({ status: 200 });
    for (const [status, call] of [
      [401, callerWith(url, 'never-issued')],
      [403, await caller(service(), { scopes: [] })],
      [429, overLimit],
    ] as const) {
      const [one, other] = [await call('news'), await call('ai-signals')];
      expect([one.status, other.status]).toEqual([status, status]);
      expect(codeIn(one)).toBe(codeIn(other));
    }
  });
});

const codeIn = ({ body }: Answer) => ErrorBody.parse(body).error;
