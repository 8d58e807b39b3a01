/** The page stays current. */

import { expect, onTestFinished, test, vi } from 'vitest';

test.each([
  ['nothing', 1],
  ['something', 2],
])(
  'where %s was committed between reading the overview and listening, it is asked for %i times',
  async (_, since) => {
    vi.useFakeTimers();
    onTestFinished(() => {
      vi.unstubAllGlobals();
      vi.useRealTimers();
    });
    const sources: EventTarget[] = [];
    vi.stubGlobal('document', { hidden: false, addEventListener() {} });
    vi.stubGlobal('addEventListener', () => {});
    vi.stubGlobal(
      'EventSource',
      class extends EventTarget {
        constructor() {
          super();
          sources.push(this);
        }
      },
    );
    let commit = 1;
    let asked = 0;
    vi.stubGlobal('fetch', async () => {
      asked += 1;
      return Response.json({ commit, at: new Date().toISOString() });
    });
    // A module of this test's own: it keeps what it knows, and is loaded once a page.
    const address = `../../web/live.ts?${since}`;
    const { keepLive, live } = (await import(address)) as typeof import('../../web/live.ts');
    keepLive();
    await vi.advanceTimersByTimeAsync(0);
    expect([asked, live.get().connection, live.get().version]).toEqual([1, 'connecting', 0]);
    commit = since;
    const [source] = sources;
    source?.dispatchEvent(new Event('open'));
    source?.dispatchEvent(Object.assign(new Event('listening'), { data: JSON.stringify({ commit }) }));
    await vi.advanceTimersByTimeAsync(10_000);
    const { connection, overview, version } = live.get();
    expect([asked, connection, overview?.commit, version]).toEqual([since, 'live', since, since - 1]);
  },
);
