import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Lived, openLived } from './lived.ts';
import { settled, tableIn } from './support.ts';

const hostile = '<img src=x onerror=alert(1)>';

let lived: Lived;
beforeAll(async () => {
  lived = await openLived();
});
afterAll(() => lived.close());

const columnOf = (lines: readonly string[][], at: number) => lines.slice(1).map((line) => line[at]);

describe('walks', () => {
  test('are all there, the newest first, each with what it proves', async () => {
    const { page } = await lived.visit('/walks');
    const walks = lived.bench.sql<{ id: number; job: string; verdict: string | null; error: string | null }>(
      'SELECT id, job, verdict, error FROM walks ORDER BY id DESC',
    );
    const lines = await tableIn(page, /^Walks, newest first/);
    expect(columnOf(lines, 0)).toEqual(walks.map(({ id }) => String(id)));
    walks.forEach(({ job, verdict, error }, at) => {
      const text = lines[at + 1]?.join(' ');
      expect(text).toContain(job);
      if (verdict) expect(text).toContain(verdict);
      if (error) expect(text).toContain('unavailable');
    });
  });

  test('are filtered by dataset and outcome, and a link shows the same', async () => {
    const { page } = await lived.visit('/walks');
    await page.getByRole('combobox', { name: 'Dataset' }).selectOption('ai-signals');
    await page.waitForURL('**/walks?job=ai-signals');
    await settled(page);
    const ids = lived.bench.sql<{ id: number }>(
      `SELECT id FROM walks WHERE job = 'ai-signals' ORDER BY id DESC`,
    );
    const shown = columnOf(await tableIn(page, /^Walks, newest first/), 0);
    expect(shown).toEqual(ids.map(({ id }) => String(id)));
    const again = await lived.visit('/walks?job=ai-signals');
    expect(columnOf(await tableIn(again.page, /^Walks, newest first/), 0)).toEqual(shown);
  });

  test('tell their evidence, what they changed, and every call that they made', async () => {
    const [walk] = lived.bench.sql<{ id: number; rows: number; deleted: number }>(
      `SELECT id, "rows", deleted FROM walks WHERE job = 'ai-signals' AND deleted > 0`,
    );
    const { page } = await lived.visit(`/walks/${walk?.id}`);
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
});

describe('calls', () => {
  test('are all there, the newest first, with status and X-Request-ID', async () => {
    const { page } = await lived.visit('/calls');
    const lines = await tableIn(page, /^Calls, newest first/);
    const [heads = []] = lines;
    const calls = lived.bench.sql<{ request_id: string; status: number }>(
      'SELECT request_id, status FROM requests ORDER BY id DESC',
    );
    expect(columnOf(lines, heads.indexOf('X-Request-ID'))).toEqual(calls.map((call) => call.request_id));
    columnOf(lines, heads.indexOf('Status')).forEach((status, at) => {
      expect(status).toContain(String(calls[at]?.status));
    });
  });

  test('show their X-Request-ID whole on a wide screen, without being moved sideways', async () => {
    for (const path of ['/calls', '/walks/1']) {
      const { page } = await lived.visit(path);
      const table = page.getByRole('region', { name: /^Calls/ }).last();
      const [call] = lived.bench.sql<{ request_id: string }>(
        path === '/calls'
          ? 'SELECT request_id FROM requests ORDER BY id DESC LIMIT 1'
          : 'SELECT request_id FROM requests WHERE walk_id = 1 ORDER BY id LIMIT 1',
      );
      const [whole, id] = await Promise.all([
        table.boundingBox(),
        table.getByText(call?.request_id ?? '').boundingBox(),
      ]);
      expect((id?.x ?? Number.NaN) + (id?.width ?? 0)).toBeLessThan((whole?.x ?? 0) + (whole?.width ?? 0));
    }
  });

  test('are filtered by dataset and answer, and are those of the moment that is shown', async () => {
    for (const [search, where] of [
      ['?job=ai-signals&status=good', `job = 'ai-signals' AND error_code IS NULL`],
      ['?status=503', 'status = 503'],
      [`?at=${lived.before}`, `at <= '${lived.before}'`],
    ]) {
      const [{ n } = { n: 0 }] = lived.bench.sql<{ n: number }>(
        `SELECT count(*) AS n FROM requests WHERE ${where}`,
      );
      expect(n).toBeGreaterThan(0);
      const { page } = await lived.visit(`/calls${search}`);
      await page.getByText(new RegExp(`^${n} calls? in all$`)).waitFor();
    }
  });

  test('are those from one time until another, by the clock that is shown', async () => {
    const { page } = await lived.visit('/calls');
    const all = lived.bench.sql<{ n: number }>('SELECT count(*) AS n FROM requests')[0]?.n ?? 0;
    const countFrom = (time: string) =>
      lived.bench.sql<{ n: number }>('SELECT count(*) AS n FROM requests WHERE at >= ?', time)[0]?.n ?? 0;
    expect(countFrom('2026-11-21T14:00:00.000Z')).toBeLessThan(all);
    await page.getByLabel(/^From/).fill('2026-11-21T14:00');
    await page.waitForURL('**/calls?from=2026-11-21T14*');
    await page.getByText(`${countFrom('2026-11-21T14:00:00.000Z')} calls in all`).waitFor();
    await page.getByLabel(/^From/).fill('');
    await page.getByLabel(/^Until/).fill('2026-11-21T14:00');
    await page.getByText(`${all - countFrom('2026-11-21T14:00:00.000Z')} calls in all`).waitFor();
    await page.getByLabel(/^Until/).fill('');
    await page.getByLabel('Times').selectOption({ label: 'Local time' });
    await page.getByLabel(/^From/).fill('2026-11-21T15:00');
    await page.waitForURL('**/calls?from=2026-11-21T14*');
  });

  test('that went wrong are found, and lead to their walk', async () => {
    const { page } = await lived.visit('/calls?status=bad');
    const lines = await tableIn(page, /^Calls, newest first/);
    const bad = lived.bench.sql('SELECT id FROM requests WHERE error_code IS NOT NULL');
    expect(lines).toHaveLength(bad.length + 1);
    expect(lines[1]?.join(' ')).toContain('503');
    await page
      .getByRole('region', { name: /^Calls, newest first/ })
      .getByRole('link', { name: /^\d+$/ })
      .first()
      .click();
    await page.getByRole('heading', { name: /^Walk \d+$/ }).waitFor();
  });
});

describe('problems', () => {
  test('are those of status, each with what to do', async () => {
    const { page } = await lived.visit('/problems');
    const now = await page.getByRole('list', { name: 'Problems' }).innerText();
    expect(now).toMatch(/news[\s\S]*last complete[\s\S]*See the walk/);
    expect(now).toMatch(/ai-signals[\s\S]*quarantine[\s\S]*See the rows/);
  });

  test('show a refused row with its reason, its place and all of its body', async () => {
    const { page } = await lived.visit('/problems?job=ai-signals');
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
  });

  test('are those of the moment that is shown', async () => {
    const { page } = await lived.visit(`/problems?job=ai-signals&at=${lived.before}`);
    await page
      .getByText(/No row is refused|No row was refused/)
      .first()
      .waitFor();
  });

  test('list the fields of a dataset as they were discovered', async () => {
    const { page } = await lived.visit('/problems?job=news');
    const text = await page.locator('main').innerText();
    for (const { path } of lived.bench.sql<{ path: string }>(
      `SELECT path FROM fields WHERE job = 'news' LIMIT 5`,
    ))
      expect(text).toContain(path);
  });
});

test('a call is found by its X-Request-ID', async () => {
  const [call] = lived.bench.sql<{ request_id: string; status: number }>(
    'SELECT request_id, status FROM requests WHERE request_id IS NOT NULL ORDER BY id DESC LIMIT 1',
  );
  if (!call) throw new Error('no answer had an X-Request-ID');
  const { page } = await lived.visit('/calls');
  await page.getByRole('searchbox', { name: 'X-Request-ID' }).fill(call.request_id);
  await page.getByText('1 call in all').waitFor();
  await settled(page);
  const rows = await tableIn(page, 'Calls, newest first');
  expect(rows).toHaveLength(2);
  expect(rows[1]).toContain(call.request_id);
  expect(rows[1]).toContain(String(call.status));
});

test('text from elsewhere stays text', async () => {
  lived.bench.tamper(
    `INSERT INTO drift (job, kind, path, detail, first_seen_at, last_seen_at, times, request_id, walk_id)
     SELECT 'news', '${hostile}', '${hostile}', '${hostile}', started_at, started_at, 1, '${hostile}', id FROM walks LIMIT 1`,
  );
  const { page, messages } = await lived.visit('/problems');
  const [, ...rows] = await tableIn(page, 'Differences');
  expect(rows.flat().filter((text) => text.includes(hostile)).length).toBeGreaterThanOrEqual(4);
  expect(await page.locator('main img').count()).toBe(0);
  expect(messages).toEqual([]);
});

test('the past shows what had happened by then', async () => {
  const { page } = await lived.visit(`/walks?at=${lived.before}`);
  const [{ n } = { n: 0 }] = lived.bench.sql<{ n: number }>(
    'SELECT count(*) AS n FROM walks WHERE started_at <= ?',
    lived.before,
  );
  expect(await tableIn(page, 'Walks, newest first')).toHaveLength(n + 1);
});

test('a walk that waits says once for what, and until when', async () => {
  lived.bench.tamper(
    `UPDATE walks SET status = 'waiting', finished_at = NULL, waits_for = 'unavailable',
       waits_until = '2026-11-21T15:04:05.678Z', error = 'waiting until 2026-11-21T15:04:05.678Z: the API does not serve it at present'
     WHERE id = 1`,
  );
  const { page } = await lived.visit('/walks');
  const [, ...lines] = await tableIn(page, 'Walks, newest first');
  const told = lines.find(([id]) => id === '1')?.join(' ');
  expect(told).toContain('waits until 2026-11-21 15:04:05 UTC for the API, which is unavailable');
  expect(told?.match(/until/g)).toHaveLength(1);
});
