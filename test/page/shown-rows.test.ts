/** How rows are shown, and taken along as they are shown. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Lived, openLived } from './lived.ts';
import { settled, tableIn } from './support.ts';

let lived: Lived;
beforeAll(async () => {
  lived = await openLived();
});
afterAll(() => lived.close());

test('columns are chosen, and a link shows the same ones', async () => {
  const { page } = await lived.visit('/datasets/ai-signals');
  await page.getByText(/^Columns \d+ of/).click();
  await page.getByRole('button', { name: 'First only' }).click();
  await page.getByRole('checkbox', { name: 'regime' }).check();
  const headsIn = async () => {
    await settled(page);
    const [heads = []] = await tableIn(page, 'Rows of ai-signals');
    return heads;
  };
  await expect.poll(headsIn).toEqual(['row', 'id', 'regime']);
  await page.reload();
  expect(await headsIn()).toEqual(['row', 'id', 'regime']);
});

test('addresses are links, times are times, and numbers stand below each other', async () => {
  const { page } = await lived.visit('/datasets/news');
  await page.getByText(/^Columns \d+ of/).click();
  await page.getByRole('button', { name: 'All' }).click();
  await settled(page);
  const rows = page.getByRole('region', { name: 'Rows of news' });
  const link = rows.locator('td a[href^="https://"]').first();
  await link.waitFor();
  expect(await link.getAttribute('rel')).toContain('noopener');
  expect(await rows.locator('td time').first().innerText()).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
  const heads = await rows.locator('th.number').count();
  expect(heads).toBeGreaterThan(0);
  const alignments = await rows
    .locator('th.number, td.number')
    .evaluateAll((cells) => [...new Set(cells.map((cell) => getComputedStyle(cell).textAlign))]);
  expect(alignments).toEqual(['right']);
});

test('a column of numbers is charted by day, as SQL counts it', async () => {
  const { page } = await lived.visit(
    '/datasets/ai-signals?show=chart&value=confidence&time=timestamp&by=day',
  );
  await page.getByRole('figure').getByText('Numbers').click();
  const [, ...lines] = await tableIn(page, /: numbers$/);
  const days = lived.bench.sql<{ avg: number; min: number; max: number }>(
    `SELECT avg(confidence) AS avg, min(confidence) AS min, max(confidence) AS max
     FROM ai_signals GROUP BY date(timestamp) ORDER BY date(timestamp)`,
  );
  expect(lines.map((line) => line.slice(1).map(Number))).toEqual(
    days.map(({ avg, min, max }) => [avg, min, max]),
  );
});

test('what is found is what is downloaded, with its receipt', async () => {
  const { page } = await lived.visit(`/datasets/ai-signals?q=${lived.changed}`);
  await page.getByText('Download', { exact: true }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'NDJSON' }).click(),
  ]);
  const chunks: Buffer[] = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
  const lines = Buffer.concat(chunks).toString().trim().split('\n');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(lived.changed);
  const receipt = await page.getByRole('link', { name: 'Its receipt' }).getAttribute('href');
  const answer = await page.request.get(`${lived.url}${receipt}`);
  expect(answer.status()).toBe(200);
  expect(await answer.text()).toContain('ai-signals');
});
