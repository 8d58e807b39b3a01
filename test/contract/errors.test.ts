/** Answers that are errors. That every one has an Error body is held by `calls.ts`, of every answer that is no success. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { type Call, caller, callerWith, serviceOf } from './calls.ts';
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

  it('error: “Machine-readable error code”; message: “Human-readable text”', async () => {
    const stranger = callerWith((await service().openAccount()).url, 'never-issued');
    const reader = await caller(service(), { scopes: [] });
    const over = await caller(service(), { limits: { rate: { calls: 1, periodMs: PERIOD, burst: 1 } } });
    await over('news');
    const refused = async (call: Call, status: number) => {
      const bodies = [await call('news'), await call('ai-signals')].map((answer) => {
        expect(answer.status).toBe(status);
        return ErrorBody.parse(answer.body);
      });
      for (const { error, message } of bodies) {
        expect(error, 'one word, so that a program can compare it').toMatch(/^\S+$/);
        expect(message.trim()).not.toBe('');
      }
      expect(bodies[0]?.error, 'the same for the same cause').toBe(bodies[1]?.error);
    };
    await refused(stranger, 401);
    await refused(reader, 403);
    await refused(over, 429);
  });
});
