import { afterAll, beforeAll, expect, test } from 'vitest';
import { faultsOf, openSight, type Sight } from './support.ts';

let sight: Sight;
beforeAll(async () => {
  sight = await openSight({ walked: [] });
});
afterAll(() => sight.close());

test.each([
  ['/', /never/],
  ['/datasets/ai-signals', /has not been mirrored yet/],
  ['/datasets/news', /has not been mirrored yet/],
  ['/datasets/nothing', /no dataset of this name/],
  ['/datasets/news/rows/none', /No row of this key/],
  ['/walks', /No walk/],
  ['/calls', /No call/],
  ['/changes', /Nothing changed/],
  ['/quota', /No call was made/],
  ['/problems', /No row is refused/],
  ['/sql', /SQL/],
])('%s says that there is nothing, and why', async (path, words) => {
  const window = await sight.visit(path, { width: 390 });
  expect(await window.page.locator('main').innerText()).toMatch(words);
  expect(await faultsOf(window)).toEqual([]);
});

test('a dataset that was empty when it was opened has its rows, and values to choose from, after its first walk', async () => {
  const { page } = await sight.visit('/datasets/ai-signals');
  await sight.bench.mirror('ai-signals');
  await page.getByRole('region', { name: 'Rows of ai-signals' }).waitFor();
  await page.getByRole('region', { name: 'Values of quality_grade' }).waitFor();
});
