import { describe, expect, it } from 'vitest';
import { faults, startModelApi, when } from '../../model-api/index.ts';
import { get } from './support.ts';

describe('a model', () => {
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
});
