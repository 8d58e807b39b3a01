/** The page stays current. */

import { expect, onTestFinished, test, vi } from 'vitest';

test('it asks every five seconds while it is visible, with the ETag that it has, and views ask again after a commit', async () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });
  const page = { hidden: false, addEventListener() {} };
  vi.stubGlobal('document', page);
  vi.stubGlobal('addEventListener', () => {});
  let commit = 1;
  const asked: (string | undefined)[] = [];
  vi.stubGlobal('fetch', async (_: string, { headers }: { headers: Record<string, string> }) => {
    const known = headers['If-None-Match'];
    asked.push(known);
    const ETag = `W/"${commit}"`;
    if (known === ETag) return new Response(null, { status: 304 });
    return Response.json({ commit, at: new Date().toISOString() }, { headers: { ETag } });
  });
  const { keepLive, live } = await import('../../web/live.ts');
  keepLive();
  await vi.advanceTimersByTimeAsync(0);
  const { overview } = live.get();
  expect(live.get()).toMatchObject({ connection: 'live', version: 0, overview: { commit: 1 } });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked).toEqual([undefined, 'W/"1"', 'W/"1"']);
  expect(live.get().overview, 'nothing is drawn anew').toBe(overview);
  commit = 2;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(live.get()).toMatchObject({ version: 1, overview: { commit: 2 } });
  page.hidden = true;
  const before = asked.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked.length).toBe(before);
});
