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

  it('remembers what was asked and answered', async () => {
    const clock = virtualClock();
    const model = await openModel({ now: clock.now });
    const { headers, body } = await get(model, '/api/v1/news?offset=10&limit=2&q=');
    expect(model.calls).toEqual([
      {
        number: 1,
        at: clock.now(),
        method: 'GET',
        path: '/api/v1/news',
        query: { offset: '10', limit: '2', q: '' },
        endpoint: 'news',
        headers: expect.objectContaining({ host: `127.0.0.1:${model.port}` }),
        remoteAddress: '127.0.0.1',
        requestId: headers.get('x-request-id'),
        keyId: 'sample',
        inFlight: 1,
        refusedBy: null,
        status: 200,
        rowIds: body.rows.map((row) => row['id']),
        sent: true,
      },
    ]);
    await get(model, '/api/v1/usage');
    expect(model.callsTo('/api/v1/usage').map(({ number }) => number)).toEqual([2]);
  });

  it('keeps as many calls as it is told, and still counts all', async () => {
    const model = await openModel({ keepCalls: 5 });
    for (let call = 0; call < 23; call++) await get(model, '/api/v1/usage');
    expect(model.calls.length).toBeGreaterThanOrEqual(5);
    expect(model.calls.length).toBeLessThan(10);
    expect(model.calls.at(-1)?.number).toBe(23);
    expect((await get(model, '/api/v1/usage')).body).toMatchObject({ requests: { total: 24 } });
  });

  it('does the same for the same seed, down to the request ids', async () => {
    const play = async (seed: number) => {
      const model = await openModel({ seed });
      const { headers, body } = await get(model, '/api/v1/smart-wallets');
      return [headers.get('x-request-id'), body];
    };
    expect(await play(4)).toEqual(await play(4));
    expect(await play(4)).not.toEqual(await play(5));
  });
});
