/** The work of the mirror: walks, calls and problems, now and in the past. */

import { expect, test } from 'vitest';
import { sharedLived } from './lived.ts';
import { go, settled, tableIn } from './support.ts';

const lived = await sharedLived();

const walksTable = /^Walks, newest first/;
const callsTable = /^Calls, newest first/;
const columnOf = (lines: readonly string[][], at: number) => lines.slice(1).map((line) => line[at]);

test('walks are all there, the newest first, each with what it proves, what it changed, and every call that it made', async () => {
  const window = await lived.visit('/walks');
  const { page } = window;
  const walks = lived.bench.sql<{ id: number; job: string; verdict: string | null; error: string | null }>(
    'SELECT id, job, verdict, error FROM walks ORDER BY id DESC',
  );
  const lines = await tableIn(page, walksTable);
  expect(columnOf(lines, 0)).toEqual(walks.map(({ id }) => String(id)));
  walks.forEach(({ job, verdict, error }, at) => {
    const text = lines[at + 1]?.join(' ');
    expect(text).toContain(job);
    if (verdict) expect(text).toContain(verdict);
    if (error) expect(text).toContain('unavailable');
  });

  const ofSignals = walks.filter(({ job }) => job === 'ai-signals').map(({ id }) => String(id));
  await page.getByRole('combobox', { name: 'Dataset' }).selectOption('ai-signals');
  await page.waitForURL('**/walks?job=eq.ai-signals');
  await settled(page);
  expect(columnOf(await tableIn(page, walksTable), 0)).toEqual(ofSignals);
  await page.reload();
  await settled(page);
  expect(columnOf(await tableIn(page, walksTable), 0)).toEqual(ofSignals);

  const [{ n } = { n: 0 }] = lived.bench.sql<{ n: number }>(
    'SELECT count(*) AS n FROM walks WHERE started_at <= ?',
    lived.before,
  );
  await go(window, `/walks?at=${lived.before}`);
  expect(await tableIn(page, 'Walks, newest first')).toHaveLength(n + 1);

  const [walk] = lived.bench.sql<{ id: number; rows: number }>(
    `SELECT id, "rows" FROM walks WHERE job = 'ai-signals' AND deleted > 0`,
  );
  await go(window, `/walks/${walk?.id}`);
  const evidence = await page.getByRole('region', { name: 'Evidence' }).innerText();
  expect(evidence).toContain(`${walk?.rows} rows on 2 pages`);
  expect(evidence).toContain('1 gone');
  const calls = lived.bench.sql<{ request_id: string }>(
    'SELECT request_id FROM requests WHERE walk_id = ? ORDER BY id DESC',
    walk?.id ?? null,
  );
  const text = await page.locator('main').innerText();
  for (const { request_id: id } of calls) expect(text).toContain(id);
});

test('calls are all there, the newest first, with status and an X-Request-ID that is whole on a wide screen', async () => {
  const window = await lived.visit('/calls');
  const { page } = window;
  const lines = await tableIn(page, callsTable);
  const [heads = []] = lines;
  const calls = lived.bench.sql<{ request_id: string; status: number; walk_id: number }>(
    'SELECT request_id, status, walk_id FROM requests ORDER BY id DESC',
  );
  expect(columnOf(lines, heads.indexOf('X-Request-ID'))).toEqual(calls.map((call) => call.request_id));
  columnOf(lines, heads.indexOf('Status')).forEach((status, at) => {
    expect(status).toContain(String(calls[at]?.status));
  });
  const ofFirstWalk = calls.findLast((call) => call.walk_id === 1);
  for (const [path, call] of [['/calls', calls[0]] as const, ['/walks/1', ofFirstWalk] as const]) {
    await go(window, path);
    const table = page.getByRole('region', { name: /^Calls/ }).last();
    const id = table.getByText(call?.request_id ?? '');
    const [whole, part] = await Promise.all([table.boundingBox(), id.boundingBox()]);
    const [end = Number.NaN, endOfId = Number.NaN] = [whole, part].map(
      (box) => box && box.x + box.width,
    ) as number[];
    expect(endOfId).toBeLessThan(end);
  }
});

test('calls are filtered by dataset, answer, time by the clock that is shown, and X-Request-ID, and are those of the moment; bad ones lead to their walk', async () => {
  const window = await lived.visit('/calls?error_code=not.is.null');
  const { page } = window;
  const bad = await tableIn(page, callsTable);
  expect(bad).toHaveLength(
    lived.bench.sql('SELECT id FROM requests WHERE error_code IS NOT NULL').length + 1,
  );
  expect(bad[1]?.join(' ')).toContain('503');
  await page.getByRole('region', { name: callsTable }).getByRole('link', { name: /^\d+$/ }).first().click();
  await page.getByRole('heading', { name: /^Walk \d+$/ }).waitFor();

  const count = (where: string) =>
    lived.bench.sql<{ n: number }>(`SELECT count(*) AS n FROM requests WHERE ${where}`)[0]?.n ?? 0;
  for (const [search, where] of [
    ['?job=eq.ai-signals&error_code=is.null', `job = 'ai-signals' AND error_code IS NULL`],
    ['?status=eq.503', 'status = 503'],
    [`?at=${lived.before}`, `at <= '${lived.before}'`],
  ] as const) {
    expect(count(where)).toBeGreaterThan(0);
    await go(window, `/calls${search}`);
    await page.getByText(new RegExp(`^${count(where)} calls? in all$`)).waitFor();
  }

  await go(window, '/calls');
  const [since, until] = [`at >= '2026-11-21T14:00:00.000Z'`, `at < '2026-11-21T14:00:00.000Z'`];
  expect(count(until)).toBeGreaterThan(0);
  await page.getByLabel(/^From/).fill('2026-11-21T14:00');
  await page.waitForURL('**/calls?from=2026-11-21T14*');
  await page.getByText(`${count(since)} calls in all`).waitFor();
  await page.getByLabel(/^From/).fill('');
  await page.getByLabel(/^Until/).fill('2026-11-21T14:00');
  await page.getByText(`${count(until)} calls in all`).waitFor();
  await page.getByLabel(/^Until/).fill('');
  await page.getByLabel('Times').selectOption({ label: 'Local time' });
  await page.getByLabel(/^From/).fill('2026-11-21T15:00');
  await page.waitForURL('**/calls?from=2026-11-21T14*');

  const [call] = lived.bench.sql<{ request_id: string; status: number }>(
    'SELECT request_id, status FROM requests WHERE request_id IS NOT NULL ORDER BY id DESC LIMIT 1',
  );
  if (!call) throw new Error('no answer had an X-Request-ID');
  await go(window, '/calls');
  await page.getByRole('searchbox', { name: 'X-Request-ID' }).fill(call.request_id);
  await page.getByText('1 call in all').waitFor();
  await settled(page);
  const rows = await tableIn(page, 'Calls, newest first');
  expect(rows).toHaveLength(2);
  expect(rows[1]).toEqual(expect.arrayContaining([call.request_id, String(call.status)]));
});

test('problems are those of status with what to do, and refused rows whole with their reason', async () => {
  const window = await lived.visit('/problems');
  const { page } = window;
  const now = await page.getByRole('list', { name: 'Problems' }).innerText();
  expect(now).toMatch(/news[\s\S]*last complete[\s\S]*See the walk/);
  expect(now).toMatch(/ai-signals[\s\S]*quarantine[\s\S]*See the rows/);

  await go(window, '/problems?job=eq.ai-signals');
  const refused = page.getByRole('region', { name: 'Refused rows, newest first' });
  const [row] = lived.bench.sql<{ key: string; body: string }>('SELECT key, body FROM quarantine');
  const text = await refused.innerText();
  expect(text).toContain(row?.key);
  expect(text).toContain('confidence: expected a value of type number, received string');
  await refused.getByRole('button', { name: /show all of Body/ }).click();
  const dialog = page.getByRole('dialog');
  expect(JSON.parse(await dialog.locator('pre').innerText())).toEqual(JSON.parse(row?.body ?? ''));
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  // Then there was none.
  await go(window, `/problems?job=eq.ai-signals&at=${lived.before}`);
  const none = page.getByText(/No row is refused|No row was refused/);
  await none.first().waitFor();
});

test('the problems of a dataset are also those of all: that no daemon runs', async () => {
  const { page } = await lived.visit('/problems?job=eq.smart-wallets');
  expect(await page.getByRole('list', { name: 'Problems' }).innerText()).toContain('No daemon is running');
  expect(await page.locator('main').innerText()).not.toContain('Nothing is wrong');
});
