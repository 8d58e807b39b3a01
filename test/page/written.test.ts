/** The page over a mirror that is changed meanwhile, by a walk or behind its back. */

import { afterAll, expect, onTestFinished, test } from 'vitest';
import { isoTime } from '../../src/base/clock.ts';
import type { SinkNote } from '../../src/reading/status.ts';
import { isLock, tryLock } from '../../src/store.ts';
import { openLived } from './lived.ts';
import { datasetLine, faultsOf, go, lookAgain, openSight, rowsOf, settled, tableIn } from './support.ts';

const lived = await openLived();
afterAll(lived.close);

const hostile = '<img src=x onerror=alert(1)>';

test('held rows are said beside the rows, now and in the past', async () => {
  const before = isoTime(lived.bench.clock.now());
  lived.bench.clock.advance(2_000);
  lived.bench.tamper(
    `UPDATE _smart_wallets_rows SET _held_since = '${before}', _held_reason = 'unproven' WHERE number <= 7`,
  );
  onTestFinished(() => {
    lived.bench.tamper('UPDATE _smart_wallets_rows SET _held_since = NULL, _held_reason = NULL');
    lived.bench.clock.advance(2_000);
  });
  for (const path of ['/', `/?at=${isoTime(lived.bench.clock.now())}`]) {
    const { page } = await lived.visit(path);
    expect([path, await rowsOf(page, 'smart-wallets').innerText()]).toEqual([path, '130 (7 held)']);
    expect(await rowsOf(page, 'meme-signals').innerText()).toBe('130');
    expect(await datasetLine(page, 'smart-wallets').innerText()).not.toContain('_held_since');
  }
});

/** A daemon that has noted this of its sinks. */
function daemonWith(notes: { ship?: SinkNote; lake?: SinkNote }): void {
  const lock = tryLock(lived.bench.dir, 'daemon');
  if (!isLock(lock)) throw new Error('a daemon holds the folder');
  onTestFinished(lock.release);
  lock.note(JSON.stringify({ queue: null, serve: null, ...notes }));
  // Longer than an overview is kept.
  lived.bench.clock.advance(2_000);
}

test('each sink says whether all changes have arrived, or how many have not, how old they are and what helps', async () => {
  const now = lived.bench.clock.now();
  const seqs = Object.fromEntries(
    lived.bench
      .sql<{ job: string; seq: number }>(
        'SELECT job, last_seq AS seq FROM _datasets WHERE last_seq IS NOT NULL',
      )
      .map(({ job, seq }) => [job, seq]),
  );
  const trouble = {
    message: 'Postgres db:5432/reports cannot be reached (ECONNREFUSED)',
    nextTry: isoTime(now + 30_000),
    since: isoTime(now - 600_000),
  };
  const { 'ai-signals': _, ...others } = seqs;
  daemonWith({ ship: { seqs: others, trouble }, lake: { seqs, trouble: null } });
  const [missing] = lived.bench.sql<{ changes: number }>(
    `SELECT sum(inserted + updated + deleted) AS changes FROM walks WHERE job = 'ai-signals'`,
  );
  const window = await lived.visit('/', { width: 390 });
  const shown = window.page.getByRole('region', { name: 'Follows the mirror' });
  const [postgres = '', lake = ''] = await shown.getByRole('listitem').allInnerTexts();
  expect(postgres).toContain(`${missing?.changes} changes behind, the oldest 2h`);
  expect(postgres).toContain('Nothing has arrived since');
  expect(postgres).toContain(trouble.message);
  expect(postgres).toMatch(/→ The daemon tries again (in \d+s|now).*docs\/ship\.md/);
  expect(lake).toMatch(/Lake up to date all changes have arrived/);
  const problem = window.page
    .getByRole('listitem')
    .filter({ hasText: 'nothing has arrived in Postgres since' });
  expect(await problem.count()).toBe(1);
  expect(await faultsOf(window)).toEqual([]);
});

test('changes that come are said, and shown when they are asked for', async () => {
  const window = await lived.visit('/changes?job=eq.smart-wallets', { width: 390 });
  const { page } = window;
  const rows = page.locator('.walk-changes').getByRole('listitem');
  const before = await rows.count();
  const { smartWallets } = lived.bench.model.data;
  smartWallets.rows.unshift(...smartWallets.make(3));
  lived.bench.clock.advance(60_000);
  await lived.bench.mirror('smart-wallets');
  await lookAgain(page);
  const button = page.getByRole('button', { name: 'Show newer changes' });
  await button.waitFor();
  expect(await rows.count()).toBe(before);
  await button.click();
  await expect.poll(() => rows.count()).toBe(before + 3);
  expect(await button.count()).toBe(0);
  expect(await faultsOf(window)).toEqual([]);
});

test('a link to an answer shows the same once the data are others', async () => {
  const count = 'SELECT count(*) AS n FROM ai_signals';
  const { page } = await lived.visit(linkTo(count));
  const first = await tableIn(page, 'Rows of the answer');
  const link = await page.getByRole('link', { name: 'Link to this answer' }).getAttribute('href');
  lived.bench.clock.advance(60_000);
  lived.bench.model.data.aiSignals.rows.unshift(...lived.bench.model.data.aiSignals.make(3));
  await lived.bench.mirror('ai-signals');
  await page.goto(`${lived.url}${linkTo(`${count} WHERE 1`)}`);
  await settled(page);
  expect(await tableIn(page, 'Rows of the answer')).not.toEqual(first);
  await page.goto(`${lived.url}${link}`);
  await settled(page);
  expect(await tableIn(page, 'Rows of the answer')).toEqual(first);
});

const linkTo = (sql: string) => `/sql#${new URLSearchParams({ sql })}`;

test('a version that is being read stays open when a newer one comes', async () => {
  const { page } = await lived.visit(`/datasets/ai-signals/rows/${lived.changed}`);
  const values = page.getByRole('region', { name: 'Values of version 2' });
  await values.waitFor();
  const { aiSignals } = lived.bench.model.data;
  const at = aiSignals.rows.findIndex(({ id }) => id === lived.changed);
  aiSignals.rows[at] = { ...aiSignals.rows[at], confidence: 0.456 } as never;
  lived.bench.clock.advance(60_000);
  aiSignals.generatedAt = isoTime(lived.bench.clock.now());
  await lived.bench.mirror('ai-signals');
  await lookAgain(page);
  await page.getByRole('heading', { name: 'Version 3: changed' }).waitFor();
  expect(await values.isVisible()).toBe(true);
});

test('of a row with very many versions, the number of each is true, and an early moment is not denied', async () => {
  const key = lived.added;
  const [row] = lived.bench.sql<{ at: string }>(
    `SELECT _first_seen_at AS at FROM ai_signals WHERE _key = ?`,
    key,
  );
  const begun = Date.parse(row?.at ?? '');
  // The trigger keeps each version.
  const changes = Array.from({ length: 210 }, (_, at) => isoTime(begun + (at + 1) * 1_000));
  lived.bench.tamper(
    changes.map((at) => `UPDATE _ai_signals_rows SET _changed_at = '${at}' WHERE _key = '${key}';`).join(''),
  );
  const window = await lived.visit(`/datasets/ai-signals/rows/${key}`);
  const { page } = window;
  await page.getByText('Current version: 211, since').waitFor();
  const titles = page.getByRole('heading', { name: /^Version/ });
  expect(await titles.first().innerText()).toBe('Version 211: changed');
  expect(await titles.last().innerText()).toBe('Version 11: oldest that is shown');
  await go(window, `/datasets/ai-signals/rows/${key}?at=${isoTime(begun + 4_500)}`);
  await page.getByText('of its 211 versions all came after that moment').waitFor();
  expect(await page.locator('main').innerText()).not.toContain('not there at that moment');
});

test('every row that one proof removed names its walk, however many they were', async () => {
  const sight = await openSight({ rows: 1_500, walked: ['ai-signals'] });
  onTestFinished(sight.close);
  const { bench } = sight;
  const { aiSignals } = bench.model.data;
  aiSignals.rows.splice(0, 1_200);
  // So many are removed once two proofs agree.
  for (let proof = 0; proof < 2; proof += 1) {
    bench.clock.advance(60_000);
    aiSignals.generatedAt = isoTime(bench.clock.now());
    await bench.mirror('ai-signals');
  }
  const [removed] = bench.sql<{ rows: number; numbers: number }>(
    `SELECT count(*) AS rows, count(DISTINCT _valid_to) AS numbers FROM ai_signals_history WHERE _ended_by = 'delete'`,
  );
  expect(removed).toEqual({ rows: 1_200, numbers: 1 });
  const [walk] = bench.sql<{ id: number }>('SELECT id FROM walks WHERE deleted > 0');
  const { page } = await sight.visit('/datasets/ai-signals?show=removed&order=_valid_to.asc');
  for (const order of ['ascending', 'descending'] as const) {
    if (order === 'descending')
      await page
        .getByRole('columnheader', { name: /^removed/ })
        .getByRole('button')
        .click();
    await settled(page);
    const [heads = [], ...rows] = await tableIn(page, 'Removed rows of ai-signals');
    const at = heads.findIndex((head) => head.startsWith('removed'));
    expect(rows.length).toBeGreaterThan(20);
    const walks = new Set(rows.map((row) => row[at]?.replace(/.*by walk /s, '')));
    expect([order, ...walks]).toEqual([order, String(walk?.id)]);
  }
});

test('rows that are held are marked, and a click shows them alone', async () => {
  const window = await lived.visit('/');
  const { page } = window;
  // Rows that are held are marked.
  lived.bench.tamper(
    `UPDATE _news_rows SET _held_since = _changed_at, _held_reason = 'unproven' WHERE rowid % 2 = 0`,
  );
  await go(window, '/datasets/news');
  await page.getByRole('link', { name: 'held', exact: true }).first().click();
  await page.waitForURL('**?_held_since=*');
  const [held] = lived.bench.sql<{ n: number }>(
    'SELECT count(*) AS n FROM news WHERE _held_since IS NOT NULL',
  );
  await page.getByText(`${held?.n} of 130 rows`).waitFor();
});

test('text from elsewhere stays text', async () => {
  lived.bench.tamper(
    `INSERT INTO drift (job, kind, path, detail, first_seen_at, last_seen_at, times, request_id, walk_id)
     SELECT 'news', '${hostile}', '${hostile}', '${hostile}', started_at, started_at, 1, '${hostile}', id FROM walks LIMIT 1`,
  );
  const { page, messages } = await lived.visit('/problems');
  const [, ...rows] = await tableIn(page, /^Differences/);
  expect(rows.flat().filter((text) => text.includes(hostile)).length).toBeGreaterThanOrEqual(3);
  expect(await page.locator('main img').count()).toBe(0);
  expect(messages).toEqual([]);
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

test('a value that is being read stays the same while rows come above it', async () => {
  const { page } = await lived.visit('/problems?job=eq.ai-signals&show=all');
  const refused = page.locator('section[aria-label="Refused rows, newest first"] tbody tr');
  await refused.getByRole('button', { name: /show all of Body/ }).click();
  const whole = page.getByRole('dialog').locator('pre');
  const before = await whole.innerText();
  lived.bench.tamper(`INSERT INTO quarantine (job, key, identity, body, problems, walk_id, first_seen_at, last_seen_at, times)
    SELECT job, 'other', 'other', replace(body, key, 'other'), problems, walk_id, first_seen_at, last_seen_at, 1 FROM quarantine`);
  lived.bench.clock.advance(60_000);
  await lived.bench.mirror('smart-wallets');
  await lookAgain(page);
  await expect.poll(() => refused.count()).toBe(2);
  expect(await whole.innerText()).toBe(before);
});

test('a page of a list leads on, and from the second on holds to the calls that there were', async () => {
  lived.bench.tamper(copies(200));
  const ids = () =>
    lived.bench
      .sql<{ request_id: string }>('SELECT request_id FROM requests ORDER BY id DESC')
      .map((call) => call.request_id);
  const before = ids();
  const window = await lived.visit('/calls');
  const { page } = window;
  const turns = page.getByRole('navigation', { name: 'Pages' });
  const shown = async () => {
    await settled(page);
    const [heads = [], ...lines] = await tableIn(page, /^Calls, newest first/);
    return lines.map((line) => line[heads.indexOf('X-Request-ID')]);
  };
  await turns.waitFor();
  expect(await faultsOf(window)).toEqual([]);
  expect(await shown()).toEqual(before.slice(0, 50));
  await turns.getByRole('button', { name: 'next page' }).click();
  await expect.poll(shown).toEqual(before.slice(50, 100));
  lived.bench.tamper(copies(3));
  await turns.getByRole('button', { name: 'next page' }).click();
  await expect.poll(shown).toEqual(before.slice(100, 150));
  await turns.getByRole('button', { name: 'page before' }).click();
  await expect.poll(shown).toEqual(before.slice(50, 100));
  await turns.getByRole('button', { name: 'first page' }).click();
  await expect.poll(shown).toEqual(ids().slice(0, 50));
});

/** So many more calls. */
const copies = (
  calls: number,
) => `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${calls})
    INSERT INTO requests (at, job, walk_id, status, url, ms, bytes, request_id)
    SELECT at, job, walk_id, status, url, ms, bytes, 'copy-' || (id + i) FROM n, (SELECT * FROM requests ORDER BY id DESC LIMIT 1)`;

test('where no daemon runs and all is stale, that is one problem, and on each dataset, too', async () => {
  lived.bench.clock.advance(24 * 3_600_000);
  const window = await lived.visit('/');
  const { page } = window;
  const problems = page.getByRole('list', { name: 'Problems' }).getByRole('listitem');
  const noDaemon = problems.filter({ hasText: /no daemon is running/i });
  expect(await noDaemon.count()).toBe(1);
  expect(await noDaemon.innerText()).toMatch(
    /no daemon is running: ai-signals, meme-signals, smart-wallets, usage are stale\s+run market-mirror start/,
  );
  expect(await problems.filter({ hasText: 'last complete' }).count()).toBe(1);
  const badge = page
    .getByRole('navigation')
    .getByRole('link', { name: /^Problems/ })
    .locator('.tag');
  expect(await badge.innerText()).toBe(String(await problems.count()));
  await go(window, '/datasets/meme-signals');
  expect(await noDaemon.count()).toBe(1);
  expect(await noDaemon.innerText()).toMatch(/meme-signals last complete .*: no daemon is running/);
});
