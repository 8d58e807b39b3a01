/** Every view shows what SQL says, and everybody can read it: on every screen, in both colours, with other eyes and hands. */

import { afterAll, expect, test } from 'vitest';
import { applyLooks, createWindow, obstacles } from '../helpers/browser.ts';
import { HELD, HOSTILE, sharedLived } from './lived.ts';
import { faultsToTheEye, go, outOfPlace, settled } from './support.ts';

const lived = await sharedLived();
const { before, changed, removed, added } = lived;

const all = <Row = Record<string, number>>(sql: string, ...values: string[]) =>
  lived.bench.sql<Row>(sql, ...values);
/** The one row of an answer. */
function one<Row = Record<string, number>>(sql: string, ...values: string[]): Row {
  const [row] = all<Row>(sql, ...values);
  if (!row) throw new Error(`no row: ${sql}`);
  return row;
}
const countOf = (from: string) => one(`SELECT count(*) AS n FROM ${from}`)['n'] ?? 0;
/** In their order, with anything between. */
const inTurn = (...values: readonly unknown[]) =>
  new RegExp(values.map((value) => String(value).replace(/[.+*?()[\]|^$]/g, '\\$&')).join('.*?'));
const sqlAt = (sql: string, more: Record<string, string> = {}) =>
  `/sql#${new URLSearchParams({ sql, ...more })}`;

const signals = countOf('ai_signals');
const signalsThen = countOf(
  `(SELECT 1 FROM ai_signals WHERE _changed_at <= '${before}' UNION ALL
    SELECT 1 FROM ai_signals_history WHERE _valid_from <= '${before}' AND _valid_to > '${before}')`,
);
const fresh = all<{ job: string; rows: number }>('SELECT job, "rows" FROM freshness ORDER BY job');
const jobs = fresh.map(({ job }) => job);
const walks = all<{ id: number; job: string }>('SELECT id, job FROM walks ORDER BY id DESC');
const remover = one<{ id: number; rows: number }>('SELECT id, "rows" FROM walks WHERE deleted > 0');
const calls = all<{ id: string }>('SELECT request_id AS id FROM requests ORDER BY id DESC').map(
  ({ id }) => id,
);
const firstCall = one<{ at: string }>('SELECT min(at) AS at FROM requests').at;
const old = one('SELECT confidence, status FROM ai_signals_history WHERE _key = ?', changed);
const gone = one('SELECT asset, action FROM ai_signals_history WHERE id = ?', removed);
const refused = one<{ key: string }>('SELECT key FROM quarantine').key;
const callOfChange = one<{ id: string }>(
  'SELECT request_id AS id FROM requests WHERE walk_id = (SELECT _walk_id FROM ai_signals WHERE _key = ?)',
  changed,
).id;

const CHART = sqlAt('SELECT action, count(*) AS signals FROM ai_signals GROUP BY 1', { show: 'chart' });
const LONG =
  'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1500) SELECT i, i * 2 AS twice FROM n';
const CELLS = `SELECT 34482.1854989773 AS price, 1088622721 AS alert_id, 1088622721 AS volume, NULL AS none,
  '0x089cfc81278bb5f99db5396006c58f0b1326de75' AS address, '["a","b"]' AS tags, 0.9 AS score UNION ALL SELECT 1, 2, 3, 4, 'x', '[]', 0.59`;
const MONEY = 'SELECT 800126.23 AS pnl, 1.0 / 3 AS rate UNION ALL SELECT 10588.7, 10588.7';

type View = readonly [title: string, path: string, ...seen: (string | RegExp)[]];

/** Each with what is seen of it, its spaces as one; and what is not, behind an exclamation mark. */
const views: readonly View[] = [
  [
    'the overview has each dataset with its rows, and what is wrong first',
    '/',
    inTurn('No daemon is running', ...fresh.flatMap(({ job, rows }) => [job, rows])),
    `130 (${HELD} held)`,
    /news.* stale .*no daemon runs it/,
    'Quota',
    '!_held_since',
  ],
  [
    'the overview of then',
    `/?at=${before}`,
    inTurn('ai-signals complete by then', signalsThen),
    '!stale',
    '!No daemon',
  ],
  [
    'nothing of a time before the first walk',
    '/?at=2020-01-01T00:00:00.000Z',
    'The copy of news begins at',
    '!130',
  ],
  ['no time', '/datasets/news?at=banana', "Cannot read 'banana' as a time; write 2026-", 'Show now', '!Rows'],
  ['no day', '/walks?from=2026-02-30', "There is no time '2026-02-30'", 'Leave out “from”'],
  ['rows', '/datasets/ai-signals', `${signals} rows`, 'Filter by value', `1–50 of ${signals}`],
  ['rows of no shape that is specified', '/datasets/news', '130 rows', '1–50 of 130', 'headline'],
  [
    'rows that are held',
    '/datasets/smart-wallets?_held_since=not.is.null',
    `${HELD} of 130 rows`,
    '_held_since is not null',
  ],
  ['rows that went', '/datasets/ai-signals?show=removed&order=_held_since.desc', removed, '1 row'],
  ['rows of then', `/datasets/ai-signals?at=${before}`, '1 new, 1 gone, 1 changed'],
  ['no row that came later', `/datasets/ai-signals?at=${before}&q=${added}`, 'No rows match.'],
  [
    'a wrong value',
    '/datasets/ai-signals?confidence=gt.high',
    'column confidence takes a number, not "high"',
  ],
  [
    'fields that were found',
    '/datasets/news?show=fields',
    ...all<{ path: string }>(`SELECT path FROM fields WHERE job = 'news'`).map(({ path }) => path),
  ],
  ['fields that are specified', '/datasets/ai-signals?show=fields', 'quality.grade: A, B, C, REJECT'],
  ['no dataset', '/datasets/nothing', 'There is no dataset of this name'],
  [
    'the life of a row, with the calls that brought it',
    `/datasets/ai-signals/rows/${changed}`,
    inTurn('Version 2: changed', 'Version 1: first seen'),
    `confidence ${old['confidence']} 0.123`,
    `status ${old['status']} closed`,
    callOfChange,
  ],
  [
    'the life of a row until then',
    `/datasets/ai-signals/rows/${changed}?at=${before}`,
    'Version at this moment: 1',
    '1 version came later',
    inTurn('Compared with now', 'confidence', old['confidence'], '0.123'),
  ],
  [
    'a row that was not there yet',
    `/datasets/ai-signals/rows/${added}?at=${before}`,
    'This row was not there at that moment: it was first seen at',
  ],
  [
    'a row before the first walk',
    `/datasets/ai-signals/rows/${added}?at=2026-01-01T00:00:00Z`,
    /The copy of ai-signals begins at .* Choose that time or later\. Back to now/,
    '!not there',
  ],
  [
    'a row that went',
    `/datasets/ai-signals/rows/${removed}`,
    'This row is gone: it was removed at',
    `Removed by walk ${remover.id}`,
  ],
  ['no row', '/datasets/news/rows/none', 'No row of this key is there'],
  [
    'changes, walk by walk, field by field',
    '/changes?job=eq.ai-signals',
    inTurn('1 new, 1 changed', 'walk'),
    `confidence ${old['confidence']} → 0.123`,
    `status ${old['status']} → closed`,
    `${gone['asset']} · ${gone['action']}`,
  ],
  [
    'changes of one field',
    '/changes?job=eq.ai-signals&column=eq.confidence&since=7d',
    '→ 0.123',
    '!→ closed',
  ],
  ['a first walk changes nothing', '/changes?walk_id=eq.1', 'What a first full read brings is no change.'],
  [
    'walks',
    '/walks',
    inTurn(...walks.flatMap(({ id, job }) => [id, job])),
    'temporarily unavailable',
    `${walks.length} walks in all`,
  ],
  [
    'walks of then',
    `/walks?at=${before}`,
    `${countOf(`walks WHERE started_at <= '${before}'`)} walks in all`,
  ],
  [
    'a walk with its evidence and its calls',
    `/walks/${remover.id}`,
    `${remover.rows} rows on 2 pages`,
    '1 gone · field by field',
    ...all<{ id: string }>(`SELECT request_id AS id FROM requests WHERE walk_id = ${remover.id}`).map(
      ({ id }) => id,
    ),
  ],
  ['no walk', '/walks/999999', 'There is no walk 999999'],
  ['calls with their X-Request-ID', '/calls', ...calls],
  [
    'calls that went wrong',
    '/calls?error_code=not.is.null',
    `${countOf('requests WHERE error_code IS NOT NULL')} call`,
    '503',
  ],
  [
    'problems with their reasons; text from elsewhere stays text',
    '/problems',
    /news last complete.*See the walk/,
    /ai-signals 1 row broke the contract.*See the rows/,
    'See the reports',
    refused,
    'confidence: expected a value of type number, received string',
    inTurn(HOSTILE, HOSTILE),
  ],
  ['no row was refused then', `/problems?job=eq.ai-signals&at=${before}`, 'No row is refused'],
  [
    'the quota; nothing is claimed of a time of which nothing is known',
    '/quota?range=constructor',
    'Calls made and left, each ten minutes',
    `Calls are known from ${firstCall.slice(0, 19).replace('T', ' ')}`,
    inTurn(
      'Plan of the next 24 hours',
      'made in 24 hours',
      'ai-signals',
      countOf(`requests WHERE job = 'ai-signals'`),
    ),
  ],
  ['reports', '/reports', inTurn('Grades ran', 'no daemon runs it', '4', 'Wrong failed')],
  [
    'a report and its result',
    '/reports?report=good',
    'every 1h',
    inTurn('4 rows', 'grade', 'n', 'A', countOf(`ai_signals WHERE quality_grade = 'A'`)),
  ],
  ['a report that failed', '/reports?report=wrong', 'What is wrong wrong.sql:1: no such column: no'],
  [
    'SQL begins with what is fresh, and how it is known',
    '/sql',
    inTurn('job', 'rows', 'verdict', ...jobs),
    /5 datasets, complete as of [-\d :]+ UTC; .*news is stale \(.* old\)/,
    'Which datasets are fresh',
  ],
  [
    'SQL of then',
    `/sql?at=${before}${sqlAt(`SELECT count(*) AS rows_then FROM ai_signals WHERE _key = '${added}'`).slice(4)}`,
    'rows_then 0',
  ],
  [
    'a cut answer, in its chart as well',
    sqlAt(LONG, { show: 'chart' }),
    'first 1,000 rows',
    /twice along i Cut/,
  ],
  [
    'cells fit what they hold',
    sqlAt(CELLS),
    '34,482.2 1088622721 1,088,622,721 – 0x089cfc81…6de75 a, b 0.90',
  ],
  [
    'money to the cent, and no digit behind one that was rounded',
    sqlAt(MONEY),
    '800,126.23 0.333333 10,588.70 10,588.7',
  ],
  [
    'a mistake marks its place',
    sqlAt('SELECT id,\n  confidense FROM ai_signals'),
    'no such column: confidense (did you mean confidence?), line 2',
    /2 \| confidense FROM ai_signals \^/,
  ],
  ['nobody writes', sqlAt('DELETE FROM ai_signals'), /read|write/],
  ['bars', CHART, 'signals by action', inTurn('BUY', countOf(`ai_signals WHERE action = 'BUY'`))],
];

const window = await createWindow(lived.browser, lived.url);
const { page } = window;
afterAll(() => window.context.close());
await page.goto(lived.url);
await settled(page);
await applyLooks(page);

const text = async () => (await page.locator('main').innerText()).replace(/\s+/g, ' ');

test.each(views)('%s', async (_, path, ...seen) => {
  await go(window, path);
  // Answers may follow each other: what is missing is waited for.
  for (const each of seen)
    if (typeof each !== 'string') await expect.poll(text).toMatch(each);
    else if (each.startsWith('!')) expect(await text()).not.toContain(each.slice(1));
    else await expect.poll(text).toContain(each);
});

test('each view fits every screen, says nothing in the console, and can be read by everybody, in both colours', async () => {
  const faults: string[] = [];
  for (const path of [
    ...['/', '/datasets/ai-signals', `/datasets/ai-signals/rows/${changed}?at=${before}`, '/changes'],
    ...[`/walks/${remover.id}`, '/problems', '/quota', '/reports?report=good', '/sql', CHART],
  ]) {
    window.messages.length = 0;
    await applyLooks(page, { width: 390, colorScheme: 'dark' });
    await go(window, path);
    const found = await faultsToTheEye(window);
    if (/^.$|ai-signals$|changes|chart/.test(path)) found.push(...(await obstacles(page, 'color-contrast')));
    for (const width of [768, 1_920]) {
      await applyLooks(page, { width });
      found.push(...(await outOfPlace(page)).map((fault) => `${width}: ${fault}`));
    }
    found.push(...(await obstacles(page)));
    if ((await page.getByRole('heading', { level: 1 }).count()) !== 1) found.push('not one heading');
    faults.push(...found.map((fault) => `${path}: ${fault}`));
  }
  expect(faults).toEqual([]);
});
