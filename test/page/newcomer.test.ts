/** What people ask every day is answered from the overview by the page alone, in at most four actions. */

import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { isoTime } from '../../src/clock.ts';
import { openLived } from './lived.ts';
import { datasetLine, faultsOf, settled, tableIn } from './support.ts';

const lived = await openLived();
afterAll(lived.close);

/** Counts the clicks on the page. @param typed texts that are typed beside them. */
async function ask({ typed = 0 } = {}): Promise<{
  page: Page;
  click(role: 'link' | 'button', name: RegExp | string): Promise<void>;
  actions(): number;
}> {
  const { page } = await lived.visit('/');
  let actions = typed;
  return {
    page,
    actions: () => actions,
    async click(role, name) {
      actions += 1;
      await page.getByRole(role, { name, exact: true }).first().click();
      await settled(page);
    },
  };
}

test('what is fresh, and why is one dataset not: its reason, what happens next, and the walk', async () => {
  const { page, click, actions } = await ask();
  await page.getByRole('button', { name: 'What the words mean' }).click();
  expect(await page.getByRole('dialog').innerText()).toMatch(/glance\s+a quick check of its first pages/);
  await page.keyboard.press('Escape');
  for (const job of ['ai-signals', 'meme-signals', 'smart-wallets'])
    expect(await datasetLine(page, job).innerText()).toContain('fresh');
  expect(await datasetLine(page, 'news').innerText()).toContain('stale');
  await click('link', /^news/);
  const problem = page.getByRole('list', { name: 'Problems' });
  expect(await problem.innerText()).toMatch(/last complete.*temporarily unavailable.*market-mirror start/s);
  await click('link', 'See the walk');
  await page.getByRole('heading', { level: 1, name: /^Walk \d+$/ }).waitFor();
  expect(await page.locator('main').innerText()).toContain('temporarily unavailable');
  expect(actions()).toBeLessThanOrEqual(4);
});

test('what changed in the last hour, field by field', async () => {
  const { page, click, actions } = await ask();
  await click('link', 'Changes');
  await click('link', '1 hour');
  const from = isoTime(lived.bench.clock.now() - 3_600_000);
  const expected = lived.bench.sql<{ job: string; key: string; change: string }>(
    'SELECT job, key, change FROM changes WHERE at > ? ORDER BY at DESC, job, key',
    from,
  );
  const lines = (await tableIn(page, 'Changes, the latest first')).slice(1);
  const words = { insert: 'new', update: 'changed', delete: 'gone' } as Record<string, string>;
  expect(lines.map(([, job, change]) => [job, change])).toEqual(
    expected.slice(0, 200).map(({ job, change }) => [job, words[change]]),
  );
  const status = lived.bench.sql<{ status: string; confidence: number }>(
    `SELECT status, confidence FROM ai_signals_history WHERE id = '${lived.changed}' AND _ended_by = 'update'`,
  )[0];
  const changed = lines.find(([, , change, , fields]) => change === 'changed' && fields?.includes('0.123'));
  expect(changed?.[4]).toContain(`confidence ${status?.confidence} → 0.123`);
  expect(changed?.[4]).toContain(`status ${status?.status} → closed`);
  expect(actions()).toBeLessThanOrEqual(4);

  // By dataset, kind and field, and of one walk.
  await page.goto(`${lived.url}/changes?job=ai-signals&field=confidence&since=7d`);
  const ofField = (await tableIn(page, 'Changes, the latest first')).slice(1);
  expect(ofField).toHaveLength(1);
  await page.goto(`${lived.url}/changes?job=ai-signals&field=rationale`);
  await page.getByText('Nothing changed in this time in ai-signals.').waitFor();
  const [walk] = lived.bench.sql<{ id: number; gone: number }>(
    'SELECT id, deleted AS gone FROM walks WHERE deleted > 0',
  );
  await page.goto(`${lived.url}/walks/${walk?.id}`);
  await page.getByRole('link', { name: 'field by field' }).click();
  await page.getByText(`, ${walk?.gone} gone`).waitFor();
});

test('what a row looked like an hour ago', async () => {
  const { page, click, actions } = await ask({ typed: 1 });
  await click('link', 'ai-signals');
  await page.getByRole('searchbox').fill(lived.changed);
  await page.waitForURL('**?q=*');
  await click('link', lived.changed);
  await click('link', 'an hour ago');
  const [then] = lived.bench.sql<{ confidence: number; status: string }>(
    `SELECT confidence, status FROM ai_signals_history WHERE id = '${lived.changed}' AND _ended_by = 'update'`,
  );
  const values = Object.fromEntries(await tableIn(page, 'Values of version 1'));
  expect([values['confidence'], values['status']]).toEqual([String(then?.confidence), then?.status]);
  expect(await tableIn(page, 'What differs from now')).toContainEqual(['status', then?.status, 'closed']);
  expect(actions()).toBeLessThanOrEqual(4);
});

test('changes that come are counted, and shown when they are asked for', async () => {
  const window = await lived.visit('/changes?job=smart-wallets', { width: 390 });
  const { page } = window;
  const before = (await tableIn(page, 'Changes, the latest first')).length;
  const { smartWallets } = lived.bench.model.data;
  smartWallets.rows.unshift(...smartWallets.make(3));
  lived.bench.clock.advance(60_000);
  await lived.bench.mirror('smart-wallets');
  await page.getByRole('button', { name: '3 new changes' }).waitFor();
  expect(await tableIn(page, 'Changes, the latest first')).toHaveLength(before);
  await page.getByRole('button', { name: '3 new changes' }).click();
  await expect.poll(async () => (await tableIn(page, 'Changes, the latest first')).length).toBe(before + 3);
  expect(await faultsOf(window)).toEqual([]);
});
