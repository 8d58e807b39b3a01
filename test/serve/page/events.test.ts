import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openLiveEvents } from '../../../src/serve/ui/live.ts';
import type { Overview } from '../../../src/serve/ui/wire.ts';
import { setupPage } from './support.ts';

/** A listener over HTTP. */
function listening(answer: Response) {
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  onTestFinished(() => reader.cancel().catch(() => undefined));
  let text = '';
  let isOver = false;
  const read = (async () => {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      text += new TextDecoder().decode(value);
    }
    isOver = true;
  })();
  read.catch(() => undefined);
  return { text: () => text, isOver: () => isOver };
}

describe('whoever listens', () => {
  test('is told when something is committed, and not otherwise', async () => {
    const { bench, get } = await setupPage({ walked: [] });
    const answer = await get('/page/events');
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    const { text } = listening(answer);
    const first = /^retry: 2000\n\nevent: listening\ndata: \{"commit":(\d+)\}\n\n/;
    await expect.poll(text).toMatch(first);
    const commitOf = async () => ((await (await get('/page/overview')).json()) as Overview).commit;
    const [begin = '', commit] = first.exec(text()) ?? [];
    expect([text(), await commitOf()]).toEqual([begin, Number(commit)]);
    await bench.mirror('news');
    await expect.poll(() => text().length).toBeGreaterThan(begin.length);
    expect(text().slice(begin.length)).toMatch(/^(data: \{"at":"2026-11-21T12:00:\d\d\.\d{3}Z"\}\n\n)+$/);
    expect(await commitOf()).not.toBe(Number(commit));
  });

  test('is let go, well, when the service ends', async () => {
    const { service, get } = await setupPage({ walked: [] });
    const { text, isOver } = listening(await get('/page/events'));
    await expect.poll(text).toContain('retry');
    service.drain();
    await expect.poll(isOver).toBe(true);
    expect((await get('/page/events')).status).toBe(503);
  });

  test('by a key that is revoked is let go', async () => {
    const { get, comeByKey, issue, revoke, bench } = await setupPage({ walked: [] });
    const { key, record } = issue({ scopes: ['page:read'] });
    const { text, isOver } = listening(await get('/page/events', { cookie: await comeByKey(key) }));
    await expect.poll(text).toContain('retry');
    revoke(record.id);
    await bench.mirror('news');
    await expect.poll(isOver).toBe(true);
    expect(text()).not.toContain('"at"');
  });
});

describe('looking', () => {
  function setup() {
    const repeats = new Map<number, () => void>();
    let looks = 0;
    let state = 'one';
    const events = openLiveEvents(
      () => {
        looks += 1;
        return { state, commit: 5 };
      },
      () => 0,
      (work, ms) => {
        repeats.set(ms, work);
        return () => void repeats.delete(ms);
      },
    );
    const listen = (owner = 'a') => {
      const gone = new AbortController();
      const told: string[] = [];
      const stream = events.listen(owner, gone.signal, () => true);
      const over = stream?.(async (piece) => void told.push(String(piece)));
      over?.catch(() => undefined);
      return { told, leave: () => gone.abort(), isHeard: stream !== undefined };
    };
    const slow = () => {
      const told: string[] = [];
      let take = () => {};
      const write = (piece: unknown) => {
        told.push(String(piece));
        return new Promise<void>((resolve) => {
          take = resolve;
        });
      };
      events
        .listen(
          'slow',
          new AbortController().signal,
          () => true,
        )?.(write)
        .catch(() => undefined);
      return { told, take: () => take() };
    };
    return {
      listen,
      slow,
      repeats,
      looks: () => looks,
      change: (to: string) => {
        state = to;
        repeats.get(250)?.();
      },
    };
  }

  test('is done once for all, and only while somebody listens', async () => {
    const { listen, repeats, looks, change } = setup();
    expect(repeats.size).toBe(0);
    const listeners = [listen(), listen(), listen()];
    expect([repeats.size, looks()]).toEqual([2, 1]);
    change('two');
    change('two');
    expect(looks()).toBe(3);
    for (const { told, leave } of listeners) {
      await expect
        .poll(() => told)
        .toEqual([
          'retry: 2000\n\nevent: listening\ndata: {"commit":5}\n\n',
          'data: {"at":"1970-01-01T00:00:00.000Z"}\n\n',
        ]);
      leave();
    }
    expect(repeats.size).toBe(0);
  });

  test('keeps nothing of those who have left', async () => {
    const { listen, repeats } = setup();
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const comeAndGo = () => {
      const { told, leave } = listen();
      leave();
      return new WeakRef(told);
    };
    const seen = comeAndGo();
    expect(repeats.size).toBe(0);
    const isKept = () => {
      collect();
      return seen.deref() !== undefined;
    };
    await expect.poll(isKept).toBe(false);
  });

  test('a line every 15 seconds shows that the connection lives', async () => {
    const { listen, repeats } = setup();
    const { told } = listen();
    await new Promise(setImmediate);
    repeats.get(15_000)?.();
    expect(told.at(-1)).toBe(': here\n\n');
  });

  test('is for news: one who is slow gets the latest of them, once', async () => {
    const { slow, change } = setup();
    const { told, take } = slow();
    for (const state of ['two', 'three', 'four']) change(state);
    expect(told).toHaveLength(1);
    take();
    await expect.poll(() => told).toHaveLength(2);
    take();
    await new Promise(setImmediate);
    expect(told).toHaveLength(2);
  });
});
