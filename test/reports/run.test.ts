/** `market-mirror report`: runs what is due or named, writes its file, and tells each row once. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parquetReadObjects } from 'hyparquet';
import { expect, test } from 'vitest';
import { Database } from '../../src/store/sqlite.ts';
import { change, insert, remove } from '../helpers/edits.ts';
import { runMain } from '../helpers/main.ts';
import { read } from '../helpers/sync-bench.ts';
import { SECRET, setupReports } from './support.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

type Bench = Awaited<ReturnType<typeof setupReports>>;

/** The news change, and are read. */
async function renew({ clock, sync }: Bench, edit: () => void): Promise<void> {
  clock.advance(MINUTE);
  edit();
  expect((await sync('news')).code).toBe(0);
}

const alert = (more = '') => `-- title: All news\n-- watch: id\n${more}SELECT id, headline FROM news\n`;

test('an alert tells all rows in its first message, and then each new row once', async () => {
  const bench = await setupReports({ news: alert() }, 60);
  const { report, hook, model, file } = bench;
  expect(await report()).toMatchObject({ code: 0, stdout: 'news: 60 rows, 60 new; told\n' });
  const [first] = hook.messages;
  expect(first).toMatchObject({
    report: 'news',
    more: 10,
    file: null,
    proofs: [{ job: 'news', verdict: 'verified' }],
  });
  expect(first?.rows).toHaveLength(50);
  expect(first?.text).toMatch(/^All news: 60 new rows: n-\S+ .+ · and 57 more$/);
  expect(first?.receipt).toMatchObject({ rows: 60, sources: [{ job: 'news' }] });

  // Nothing has changed, and so nothing is due; what is named runs, and has nothing new.
  expect((await report()).stderr).toBe('nothing is due\n');
  expect((await report('news')).stdout).toBe('news: 60 rows, 0 new\n');
  await renew(bench, () => {
    insert(0, 2)(model.data.news);
    change(5, { headline: 'Another' })(model.data.news);
  });
  expect((await report()).stdout).toBe('news: 62 rows, 2 new; told\n');
  expect(hook.messages).toHaveLength(2);
  expect(hook.messages[1]?.rows.map(({ id }) => id)).toEqual(
    expect.arrayContaining(model.data.news.rows.slice(0, 2).map(({ id }) => id)),
  );
  expect(hook.messages[1]).toMatchObject({ more: 0 });
  expect(read<{ n: number }>(file, 'SELECT count(*) AS n FROM _report_keys')).toEqual([{ n: 62 }]);
});

test('an alert that always tells does so after each run, though nothing has changed', async () => {
  const { report, hook, clock } = await setupReports({
    beat: '-- watch: id\n-- tell: always\nSELECT id FROM news LIMIT 1\n',
  });
  for (const newRows of [1, 0, 0]) {
    clock.advance(MINUTE);
    expect(await report('beat')).toMatchObject({ code: 0, stdout: `beat: 1 row, ${newRows} new; told\n` });
  }
  expect(new Set(hook.messages.map(({ id }) => id)).size).toBe(3);
});

test('one that is stopped ends with 75, and says so of each report', async () => {
  const { settings, environment, clock } = await setupReports({
    first: '-- command: cat\nSELECT 1 AS one\n',
    second: '-- command: cat\nSELECT 1 AS one\n',
  });
  const stopped = AbortSignal.abort(new Error('stopped by SIGINT'));
  const ended = await runMain(['report'], { ...environment, ...settings }, clock, stopped);
  expect(ended).toMatchObject({ code: 75, stderr: 'first: stopped\nsecond: stopped\n' });
});

test('a key is forgotten 90 days after its row left the result, not earlier', async () => {
  const bench = await setupReports({ news: '-- watch: id\nSELECT id FROM news_current\n' }, 30);
  const { report, hook, model, clock, sync } = bench;
  await report();
  const [row] = model.data.news.rows.slice(3, 4);
  const gone = async () => {
    remove(3)(model.data.news);
    for (let walk = 0; walk < 2; walk += 1) await renew(bench, () => undefined);
    await report('news');
  };
  const back = () => renew(bench, () => void model.data.news.rows.splice(3, 0, row as never));
  await gone();
  clock.advance(89 * DAY);
  await sync('news');
  await back();
  expect((await report('news')).stdout).toContain(' 0 new');
  await gone();
  clock.advance(91 * DAY);
  await sync('news');
  // The clock is believed as far as calls go.
  clock.advance(2 * DAY);
  await sync('news');
  await report('news');
  await back();
  expect((await report('news')).stdout).toContain(' 1 new; told');
  expect(hook.messages).toHaveLength(2);
});

test('files are put in place whole, in each form, with a receipt; messages name them', async () => {
  const forms = ['csv', 'ndjson', 'json', 'parquet', 'md', 'html'];
  const files = forms.map((form) => [
    form,
    `-- title: <A & B>\n-- to: ${form}/x-{date}-{time}.${form}\nSELECT id, breaking FROM news ORDER BY id\n`,
  ]);
  const { report, to, hook } = await setupReports(Object.fromEntries(files), 20);
  expect((await report()).code).toBe(0);
  for (const form of forms) {
    const names = readdirSync(join(to, form)).sort();
    expect(names).toEqual([
      expect.stringMatching(new RegExp(`^x-2026-\\d\\d-\\d\\d-\\d{6}\\.${form}$`)),
      `${names[0]}.meta.json`,
    ]);
    const path = join(to, form, names[0] ?? '');
    expect(hook.messages.find((message) => message.report === form)).toMatchObject({
      file: path,
      receipt: { rows: 20 },
    });
    const bytes = readFileSync(path);
    if (form === 'parquet') {
      const buffer = new Uint8Array(bytes).buffer;
      expect(await parquetReadObjects({ file: buffer })).toHaveLength(20);
    } else expect(bytes.toString().match(/\bn-[0-9a-f]{8}\b/g)).toHaveLength(20);
    if (form === 'html') expect(bytes.toString()).toContain('<h1>&#60;A &#38; B&#62;</h1>');
    if (form === 'md') expect(bytes.toString()).toMatch(/^# \\<A \\& B>\n\n\| id \| breaking \|/);
  }
});

test('data that is too old ends with 75, and waits for the next proof; a schedule runs what was missed once', async () => {
  const bench = await setupReports({
    fresh: '-- fresh: 10m\n-- tell: always\nSELECT count(*) AS news FROM news\n',
    hourly: '-- run: every 1h\n-- tell: always\nSELECT 1 AS one\n',
    daily: '-- run: 0 7 * * *\n-- tell: always\nSELECT 1 AS one\n',
  });
  const { report, run, clock, hook, model } = bench;
  const told = () => hook.messages.splice(0).map((message) => message.report);
  expect((await report()).code).toBe(0);
  expect(told().sort()).toEqual(['daily', 'fresh', 'hourly']);
  clock.advance(20 * MINUTE);
  const waits = await report('fresh');
  expect(waits).toMatchObject({
    code: 75,
    stderr: expect.stringMatching(/^fresh: waits for a proof: older than 10m: news was last complete at /),
  });
  const status = JSON.parse((await run(['status', '--json'])).stdout);
  expect(status.reports.find((one: { report: string }) => one.report === 'fresh').waits).toContain(
    'older than 10m',
  );
  expect((await report('--check', 'fresh')).code).toBe(75);
  await renew(bench, () => insert(0)(model.data.news));
  expect((await report()).stdout).toBe('fresh: 1 row; told\n');
  clock.advance(3 * DAY);
  await report();
  expect(told()).toEqual(['fresh', 'daily', 'hourly']);
  // The clock is set back: what ran ahead of it is due.
  clock.jump(-2 * DAY);
  await report();
  expect(told()).toEqual(['daily', 'hourly']);
  expect((await report()).stderr).toBe('nothing is due\n');
});

test('a dataset that is never proven keeps its report waiting: 75', async () => {
  const bench = await setupReports({ memes: '-- fresh: 1h\nSELECT * FROM meme_signals\n' });
  const { file, report } = bench;
  const db = new Database(file);
  db.exec(`UPDATE walks SET verdict = 'union' WHERE job = 'meme-signals'`);
  db.close();
  expect(await report()).toMatchObject({
    code: 75,
    stderr: expect.stringContaining('meme-signals has never been complete'),
  });
});

test('rows whose watched column is null are not told of, which is said; all others are', async () => {
  const { report, run, hook } = await setupReports({
    nulls: `-- watch: id\nSELECT iif(rowid < 3, NULL, 'x' || rowid) AS id FROM (SELECT value AS rowid FROM json_each('[1,2,3,4]'))\n`,
  });
  expect(await report()).toMatchObject({
    code: 78,
    stderr: expect.stringContaining('nulls.sql:1: watch: id is null in 2 rows'),
  });
  expect(hook.messages[0]?.rows).toEqual([{ id: 'x3' }, { id: 'x4' }]);
  expect((await run(['status'])).code).not.toBe(0);
});

test('values that JSON has no form for are keys like others, and a wide row is cut in the line for people', async () => {
  const { report, hook } = await setupReports({
    keys: `-- watch: k\nSELECT column1 AS k FROM (VALUES (x'61'), ('61'), (9e999), (-9e999), ('Infinity'), (9007199254740993), ('9007199254740993'))\n`,
    wide: `-- watch: c0\nSELECT ${Array.from({ length: 300 }, (_, at) => `printf('%.*c', 80, '${at % 10}') AS c${at}`).join(', ')}\n`,
  });
  expect((await report('keys', 'wide')).stdout).toBe('keys: 7 rows, 7 new; told\nwide: 1 row, 1 new; told\n');
  expect(hook.messages[1]?.text.length).toBeLessThan(700);
  expect((await report('keys')).stdout).toBe('keys: 7 rows, 0 new\n');
});

test('a webhook that is down keeps messages, under their ids; status says so; what a backup had unsent is dropped', async () => {
  const bench = await setupReports({
    news: alert(),
    signals: '-- tell: always\nSELECT count(*) AS n FROM ai_signals\n',
    usage: '-- to: usage.csv\n-- tell: never\nSELECT 1 AS one\n',
  });
  const { report, run, hook, model, cwd, file, clock } = bench;
  hook.status = 503;
  const down = await report();
  expect(down.code).toBe(75);
  expect(down.stderr).toContain(
    'news: 130 rows, 130 new; not told yet: the webhook answered 503; it is tried again',
  );
  const nextTry = () =>
    read<{ at: string }>(file, 'SELECT min(next_try_at) AS at FROM _report_messages')[0]?.at ?? '';
  expect(Date.parse(nextTry())).toBeLessThan(clock.now() + MINUTE);
  // Longer than an hour is a mistake, and not heeded.
  for (const [retryAfter, ms] of [
    ['1800', HOUR / 2],
    ['864000', HOUR],
  ] as const) {
    hook.headers = { 'retry-after': retryAfter };
    await report('usage');
    expect(Math.round((Date.parse(nextTry()) - clock.now()) / 1_000)).toBe(ms / 1_000);
  }
  hook.headers = {};
  await renew(bench, () => insert(0)(model.data.news));
  expect((await report()).code).toBe(75);
  const status = await run(['status']);
  // One cause, one line.
  expect(status.stdout.match(/.*not told since .*/g)).toEqual([
    expect.stringMatching(
      /3 messages of the reports news, signals not told since .*: the webhook answered 503$/,
    ),
  ]);
  expect(status.code).toBe(75);
  await run(['backup', join(cwd, 'backup.db')]);
  const waiting = read<{ id: string }>(
    file,
    'SELECT id FROM _report_messages WHERE sent_at IS NULL ORDER BY at, rowid',
  );
  expect(waiting).toHaveLength(3);

  clock.advance(DAY);
  hook.status = 200;
  expect((await report('signals')).code).toBe(0);
  expect(
    hook.messages
      .map(({ id }) => id)
      .slice(0, 3)
      .sort(),
  ).toEqual(waiting.map(({ id }) => id).sort());
  expect((await run(['status'])).stdout).not.toContain('not told');

  expect((await run(['restore', join(cwd, 'backup.db')])).code).toBe(0);
  const told = hook.messages.length;
  clock.advance(MINUTE);
  await report('signals');
  expect(hook.messages).toHaveLength(told + 1);
});

test('a message is given up after three days, and not by a clock that jumped', async () => {
  const { report, run, hook, clock, file } = await setupReports({ signals: alert() });
  hook.status = 500;
  await report();
  clock.advance(4 * DAY);
  await report();
  const unsent = () =>
    read<{ n: number }>(
      file,
      'SELECT count(*) AS n FROM _report_messages WHERE sent_at IS NULL AND given_up_at IS NULL',
    )[0]?.n;
  expect(unsent()).toBe(1);
  const db = new Database(file);
  db.exec('UPDATE _report_messages SET failures = 100');
  db.close();
  await report();
  expect(unsent()).toBe(0);
  expect((await run(['status'])).stdout).toContain(
    '1 message of the report signals given up after three days',
  );
});

test('a command gets the message instead of the webhook, and is run again where it fails', async () => {
  const { report, folder, hook, put, environment } = await setupReports({
    shell: alert(
      `-- command: test -e ok && cat > got.json && echo "$REPORT $REPORT_ID $MIRROR_DIR $MARKET_API_KEY" > env.txt\n`,
    ),
  });
  expect(await report()).toMatchObject({
    code: 75,
    stderr: expect.stringContaining('not told yet: the command failed with exit code 1'),
  });
  writeFileSync(join(folder, 'ok'), '');
  put('other', '-- to: other.csv\n-- tell: never\nSELECT 1 AS one\n');
  expect((await report()).code).toBe(0);
  const got = JSON.parse(readFileSync(join(folder, 'got.json'), 'utf8'));
  expect(got).toMatchObject({ report: 'shell', more: 80 });
  expect(readFileSync(join(folder, 'env.txt'), 'utf8')).toBe(`shell ${got.id} ${environment.MIRROR_DIR} \n`);
  expect(hook.messages).toEqual([]);
});

test('of thousands of rows the file has all, and the message says how many it leaves out', async () => {
  const { report, hook, to } = await setupReports({
    many: `-- to: many.csv\n-- watch: i\nWITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)\nSELECT i, printf('%.*c', 20, 'x') AS x FROM n\n`,
    wide: `-- watch: i\nSELECT value AS i, printf('%.*c', 100000, 'x') AS x FROM json_each('[1,2,3,4,5]')\n`,
  });
  expect((await report()).stdout).toBe(
    'many: 4,000 rows, 4,000 new; many.csv; told\nwide: 5 rows, 5 new; told\n',
  );
  expect(hook.messages[0]).toMatchObject({ more: 3_950 });
  expect(hook.messages[0]?.text).toContain('and 3,997 more');
  expect(readFileSync(join(to, 'many.csv'), 'utf8').split('\n')).toHaveLength(4_002);
  expect(hook.messages[1]).toMatchObject({ more: 3 });
  expect((await report('many')).stdout).toBe('many: 4,000 rows, 0 new; many.csv\n');
});

test('neither the key nor the address of the webhook is written, printed or sent anywhere', async () => {
  const bench = await setupReports({ news: alert('-- to: news.csv\n'), bad: '-- watch: x\nSELECT 1 AS y\n' });
  const { report, run, hook, to, file, key, cwd } = bench;
  hook.status = 404;
  const said = [await report(), await run(['status', '--json']), await run(['doctor', '--offline', '--all'])];
  const unreached = await run(['report'], { MIRROR_NOTIFY: `http://127.0.0.1:9/${SECRET}` });
  expect(unreached.stderr).toContain('the webhook was not reached (ECONNREFUSED)');
  hook.status = 200;
  writeFileSync(join(cwd, 'hook'), `${hook.url}\n`, { mode: 0o600 });
  said.push(
    unreached,
    await run(['report', 'news'], { MIRROR_NOTIFY: '', MIRROR_NOTIFY_FILE: join(cwd, 'hook') }),
  );
  expect(hook.messages.length).toBeGreaterThan(0);
  const written = [
    ...said.map(({ stdout, stderr }) => stdout + stderr),
    ...readdirSync(to).map((name) => readFileSync(join(to, name), 'utf8')),
    readFileSync(file, 'latin1'),
    JSON.stringify(hook.messages),
  ];
  for (const text of written) for (const secret of [SECRET, key.key]) expect(text).not.toContain(secret);
});

test('what the API sends calls nobody in a chat', async () => {
  const bench = await setupReports({ news: alert() }, 30);
  const { report, hook, model } = bench;
  await report();
  await renew(bench, () => {
    insert(0)(model.data.news);
    change(0, { headline: '<!channel> @everyone\nlook' })(model.data.news);
  });
  await report();
  expect(hook.messages[1]?.text).toMatch(/^All news: 1 new row: \S+ ‹!channel› ＠everyone\\nlook$/);
  expect(hook.messages[1]?.rows[0]).toMatchObject({ headline: '<!channel> @everyone\nlook' });
});
