import { afterAll, beforeAll, expect, test } from 'vitest';
import { faultsOf, openSight, type Sight, sweep } from './support.ts';

let sight: Sight;
beforeAll(async () => {
  sight = await openSight({ walked: [] });
});
afterAll(() => sight.close());

test('every view says that there is nothing, and why', async () => {
  const views: Record<string, RegExp> = {
    '/': /never/,
    '/datasets/ai-signals': /has not been mirrored yet/,
    '/datasets/news': /has not been mirrored yet/,
    '/datasets/nothing': /no dataset of this name/,
    '/datasets/news/rows/none': /No row of this key/,
    '/walks': /No walk/,
    '/calls': /No call/,
    '/changes': /Nothing changed/,
    '/quota': /No call was made/,
    '/problems': /No row is refused/,
    '/sql': /SQL/,
  };
  const found = await sweep(sight, Object.keys(views), { width: 390 }, async (window, path) => {
    expect([path, await window.page.locator('main').innerText()]).toEqual([
      path,
      expect.stringMatching(views[path] ?? ''),
    ]);
    return await faultsOf(window);
  });
  expect(found).toEqual([]);
});

test('a dataset that was empty when it was opened has its rows, and values to choose from, after its first walk', async () => {
  const { page } = await sight.visit('/datasets/ai-signals');
  await sight.bench.mirror('ai-signals');
  await page.getByRole('region', { name: 'Rows of ai-signals' }).waitFor();
  await page.getByRole('region', { name: 'Values of quality_grade' }).waitFor();
});
