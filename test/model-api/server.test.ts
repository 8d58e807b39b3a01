import { describe, expect, it } from 'vitest';
import { faults, startModelApi, when } from '../../model-api/index.ts';
import { freePort } from '../helpers/loopback.ts';
import { get, openModel, virtualClock } from './support.ts';

describe('a model', () => {
  it('listens on the port that it is given, and says so when it is taken', async () => {
    const { port } = await openModel();
    await expect(startModelApi({ port })).rejects.toThrow(/EADDRINUSE/);
    const free = await freePort();
    expect((await openModel({ port: free })).url).toBe(`http://127.0.0.1:${free}`);
  });

  it('ends open and waiting connections when it closes', async () => {
    const model = await startModelApi({
      faults: [
        when({ endpoint: 'news' }, faults.slow(60_000)),
        when({ endpoint: 'usage' }, faults.hang()),
        when({ endpoint: 'memeSignals' }, faults.hangMidBody()),
      ],
    });
    const ended = Promise.allSettled(
      ['news', 'usage', 'meme-signals'].map((name) => get(model, `/api/v1/${name}`)),
    );
    await expect.poll(() => model.calls.map(({ status }) => status)).toEqual([200, 200, 200]);
    const started = performance.now();
    await model.close();
    expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(performance.now() - started).toBeLessThan(30_000);
  });

  it('waits by the clock that it is given', async () => {
    const clock = virtualClock();
    const waits: number[] = [];
    const model = await openModel({
      now: clock.now,
      latencyMs: () => 86_400_000,
      faults: [() => faults.slow(1)],
      async delay(ms) {
        waits.push(ms);
        clock.advance(ms);
      },
    });
    const before = clock.now();
    expect((await get(model, '/api/v1/news')).status).toBe(200);
    expect(waits).toEqual([86_400_001]);
    expect([model.calls[0]?.at, clock.now()]).toEqual([before, before + 86_400_001]);
  });
});
