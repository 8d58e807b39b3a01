import { describe, expect, it } from 'vitest';
import { Failure } from '../../src/errors.ts';
import { callOnce, fine, never, setup } from './bench.ts';

const HOUR = 3_600_000;

describe.each([
  [401, HOUR, HOUR, /the API refused the key; it is tried again at \d{4}-\S+Z; .*market-mirror doctor/],
  [
    403,
    HOUR / 12,
    24 * HOUR,
    /news: the key lacks the scope .*; it is tried again at \d{4}-\S+Z; .*market-mirror doctor/,
  ],
])('a key that was refused by a %i', (status, firstMs, everyMs, line) => {
  const refusedBy =
    (first: ReturnType<typeof setup>) =>
    async (key: string, options: { again?: boolean } = {}) => {
      const { governor } = first.open(`${key} ${Math.random()}`, {
        keyDigest: (salt) => `${salt.length}${key}`,
        ...options,
      });
      const made = callOnce(governor, { ...fine, status: key === 'good' ? 200 : status });
      const refusal = await made.then(
        () => undefined,
        (error: Error) => error,
      );
      governor.close();
      return refusal;
    };

  /** An account whose key another endpoint has accepted. */
  const allWell = async () => {
    const first = setup();
    await callOnce(first.governor, fine, 'usage');
    await first.governor.close();
    return first;
  };

  it('is not tried again by the next process, but for one call from time to time; the line says when, and how to try now', async () => {
    const first = await allWell();
    const run = refusedBy(first);
    expect(await run('revoked')).toBeUndefined();
    const refused = await run('revoked');
    expect(refused).toBeInstanceOf(Failure);
    expect(refused?.message).toMatch(line);
    for (const waitMs of [firstMs, everyMs, everyMs]) {
      await first.clock.sleep(waitMs - 1);
      expect(await run('revoked')).toBeInstanceOf(Failure);
      await first.clock.sleep(1);
      expect(await run('revoked')).toBeUndefined();
      expect(await run('revoked')).toBeInstanceOf(Failure);
    }
  });

  it('stays refused where another call of the same process fails otherwise', async () => {
    const first = setup({ keyDigest: (salt) => `${salt.length}revoked` });
    const completeNews = await first.governor.acquire('news', never);
    const completeUsage = await first.governor.acquire('usage', never);
    completeNews({ ...fine, status });
    completeUsage({ ...fine, status: 503 });
    await first.governor.close();
    expect(await refusedBy(first)('revoked')).toBeInstanceOf(Failure);
  });

  it('is tried at once where a person wants it, and another key in any case', async () => {
    const run = refusedBy(await allWell());
    await run('revoked');
    expect(await run('revoked')).toBeInstanceOf(Failure);
    expect(await run('revoked', { again: true })).toBeUndefined();
    expect(await run('revoked')).toBeInstanceOf(Failure);
    expect(await run('good')).toBeUndefined();
    expect(await run('good')).toBeUndefined();
  });

  it('is tried at once by a process that is told of another one, and nothing else is learnt by that', async () => {
    const { governor, shared } = setup();
    await callOnce(governor, fine, 'usage');
    await callOnce(governor, { ...fine, status });
    await expect(governor.acquire('news', never)).rejects.toBeInstanceOf(Failure);
    const quota = shared.state?.quota;
    governor.keyChanged();
    expect(shared.state?.quota).toEqual(quota);
    await governor.acquire('news', never);
  });

  it('is taken for another one where nobody noted which it was', async () => {
    const first = setup();
    await callOnce(first.governor, { ...fine, status });
    await first.governor.close();
    expect(await refusedBy(first)('revoked')).toBeUndefined();
  });
});
