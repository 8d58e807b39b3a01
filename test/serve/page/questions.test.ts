import { describe, expect, test } from 'vitest';
import { ENDLESS, linesIn, rowsIn, setupPage, sharedPage } from './support.ts';

const openedPage = sharedPage();

describe('a question', () => {
  test('is answered by lines: what it is, its rows, its end', async () => {
    const { ask, bench } = await openedPage();
    const lines = await ask({
      sql: 'SELECT _key, _walk_id FROM news WHERE _walk_id = :walk ORDER BY _key',
      params: { walk: 1 },
    });
    expect(lines[0]).toMatchObject({
      opened: {
        columns: [
          { name: '_key', type: 'TEXT' },
          { name: '_walk_id', type: 'INTEGER' },
        ],
        sources: [{ job: 'news', table: 'news', proof: { walkId: 1 } }],
        notes: [],
      },
    });
    const expected = bench.sql('SELECT _key, _walk_id FROM news ORDER BY _key').map(Object.values);
    expect(rowsIn(lines)).toEqual(expected);
    expect(lines.at(-1)).toEqual({
      end: { rows: 20, isCut: false, notes: [], ms: expect.any(Number) },
    });
  });

  test('is answered as a list of JSON by its address, to our own page alone', async () => {
    const { get, bench, url } = await openedPage();
    const search = new URLSearchParams({
      sql: 'SELECT _key, _walk_id FROM news WHERE _walk_id = :walk ORDER BY _key LIMIT 3',
      params: '{"walk":1}',
    });
    const answer = await get(`/page/query.json?${search}`);
    expect(await answer.json()).toEqual(bench.sql('SELECT _key, _walk_id FROM news ORDER BY _key LIMIT 3'));
    expect((await get('/page/query.json?sql=SELEC')).status).toBe(400);
    expect((await get('/page/query.json?sql=SELECT+1&params=5')).status).toBe(400);
    expect((await get(`/page/query.json?${search}`, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await fetch(`${url}/page/query.json?${search}`)).status).toBe(401);
  });

  test('is asked in the grammar of /mirror/v1 as well, and told in SQL that everybody can run', async () => {
    const { ask, get, bench } = await openedPage();
    const [some] = bench.sql<{ headline: string }>('SELECT headline FROM news ORDER BY _key');
    const word = some?.headline.split(' ')[0] ?? '';
    const question = `news?select=_key,headline&headline=ilike.${word}*&order=_key.desc&limit=1`;
    const lines = await ask({ ask: question });
    const expected = bench
      .sql(`SELECT _key, headline FROM news WHERE headline LIKE '${word}%' ORDER BY _key DESC`)
      .map(Object.values);
    expect(rowsIn(lines)).toEqual(expected.slice(0, 1));
    const [opened] = lines;
    const whole = opened && 'opened' in opened ? opened.opened.whole : undefined;
    expect(rowsIn(await ask(whole ?? {}))).toEqual(expected);
    expect(
      await (await get(`/page/query.json?${new URLSearchParams({ ask: question })}`)).json(),
    ).toHaveLength(1);

    const [counted, ...values] = rowsIn(await ask({ ask: 'walks?job=eq.news', facets: ['verdict', 'job'] }));
    expect(counted).toEqual([null, null, 1]);
    expect(values).toContainEqual(['job', 'news', 1]);
    for (const [wrong, said] of [
      ['nothing?x=eq.1', "there is no table or view 'nothing'"],
      ['news?headlin=eq.1', 'column headlin does not exist. Did you mean headline?'],
      ['news?headline=is.it', 'failed to parse filter'],
    ] as const)
      expect(JSON.stringify(await ask({ ask: wrong }))).toContain(said);
  });

  test('keeps the digits of large integers, tells of bytes how many there are, and of infinity that it is', async () => {
    const { ask } = await openedPage();
    const lines = await ask({ sql: "SELECT 9007199254740993, x'0102', 9e999, NULL, 'é', 1.5, 42" });
    expect(rowsIn(lines)).toEqual([
      [{ integer: '9007199254740993' }, { bytes: 2 }, 'Infinity', null, 'é', 1.5, 42],
    ]);
  });

  test('gives no more rows than were asked for, and says whether there are more', async () => {
    const { ask } = await openedPage();
    const sql =
      'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) SELECT i FROM n';
    for (const limit of [1, 2_999, 3_000, 50_000]) {
      const lines = await ask({ sql, limit });
      const rows = Math.min(limit, 3_000);
      expect(rowsIn(lines)).toHaveLength(rows);
      expect(lines.at(-1)).toMatchObject({ end: { rows, isCut: limit < 3_000 } });
    }
  });

  test('is answered as of a time, and refused in words for one before the first walk', async () => {
    const { ask, bench } = await setupPage();
    const [{ at }] = bench.sql<{ at: string }>('SELECT started_at AS at FROM walks') as [{ at: string }];
    const then = new Date(bench.clock.now()).toISOString();
    bench.clock.advance(60_000);
    bench.upstream('news').rows.unshift(...bench.upstream('news').make(1));
    await bench.mirror('news');
    const before = new Date(Date.parse(at) - 1_000).toISOString();
    const lines = (asOf: string | null) => ask({ sql: 'SELECT count(*) FROM news', asOf });
    expect([rowsIn(await lines(null)), rowsIn(await lines(then))]).toEqual([[[21]], [[20]]]);
    expect(await lines(before)).toEqual([
      {
        failed: {
          kind: 'usage',
          message: expect.stringMatching(/^The copy of news begins at .* UTC\. Choose that time or later\.$/),
        },
      },
    ]);
    expect(await lines('2999-01-01T00:00:00Z')).toEqual([
      { failed: { kind: 'usage', message: '2999-01-01T00:00:00.000Z is yet to come' } },
    ]);
  });

  test('that is wrong is told so, in the words of query, and the next is answered', async () => {
    const { ask } = await openedPage();
    for (const [sql, message] of [
      ['SELEC 1', /SELEC/],
      ['DELETE FROM news', /the database is read-only/],
      ['SELECT :missing', /:missing is missing/],
      ["SELECT json_extract('{', '$')", /malformed JSON/],
    ] as const)
      expect((await ask({ sql })).at(-1)).toEqual({
        failed: { kind: 'usage', message: expect.stringMatching(message) },
      });
    expect(rowsIn(await ask({ sql: 'SELECT 1' }))).toEqual([[1]]);
  });
});

test('what is no question is refused, and a form, which other pages could send', async () => {
  const { post } = await openedPage();
  const sql = 'SELECT 1';
  for (const [body, status] of [
    ...['{', '[]', { sql: 1, limit: 1 }, { sql }, { sql, limit: 0 }].map((body) => [body, 400] as const),
    ...[{ params: [] }, { params: { a: {} } }, { asOf: 'yesterday' }].map(
      (more) => [{ sql, limit: 1, ...more }, 400] as const,
    ),
    [{ sql: `SELECT '${'x'.repeat(300_000)}'`, limit: 1 }, 413],
  ] as const) {
    const answer = await post('/page/query', body);
    expect([body, answer.status]).toEqual([body, status]);
    expect(await answer.json()).toMatchObject({ failed: { kind: 'usage' } });
  }
  const form = { 'content-type': 'text/plain' };
  expect((await post('/page/query', JSON.stringify({ sql, limit: 1 }), form)).status).toBe(415);
});

test('a viewer has half of the processes; a question whose client has gone is ended, and makes room', async () => {
  // Nothing else may end them within the time of a test.
  const { post, ask, comeByLink } = await setupPage({ walked: [], questionMs: 600_000 });
  const cookie = await comeByLink();
  const leaving = new AbortController();
  const answers = await Promise.all(
    Array.from({ length: 2 }, () => post('/page/query', { sql: ENDLESS, limit: 1 }, {}, leaving.signal)),
  );
  // Each has begun its answer, and writes no more: only its end frees its place.
  const readers = answers.map(({ body }) => body?.getReader());
  await Promise.all(readers.map((reader) => reader?.read()));
  let isAnswered = false;
  const next = ask({ sql: 'SELECT 1' }).finally(() => {
    isAnswered = true;
  });
  const other = await post('/page/query', { sql: 'SELECT 2', limit: 1 }, { cookie });
  expect([rowsIn(linesIn(await other.text())), isAnswered]).toEqual([[[2]], false]);
  leaving.abort();
  const asked = await Promise.allSettled(readers.map((reader) => reader?.read()));
  expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(rowsIn(await next)).toEqual([[1]]);
});

test('a question that takes too long is ended, and told so', async () => {
  const { ask } = await setupPage({ walked: [], questionMs: 500 });
  const message = expect.stringContaining('took longer than 500ms and was ended');
  // It may have been opened by then.
  expect((await ask({ sql: ENDLESS })).at(-1)).toEqual({ failed: { kind: 'incomplete', message } });
});

test('rows come as they are read, no faster than they are taken', async () => {
  const { post } = await openedPage();
  const sql =
    'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, hex(randomblob(2000)) FROM n';
  const leaving = new AbortController();
  const answer = await post('/page/query', { sql, limit: 100_000 }, {}, leaving.signal);
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  while (linesIn(text.slice(0, text.lastIndexOf('\n') + 1)).length < 3)
    text += new TextDecoder().decode((await reader.read()).value);
  expect(text).toContain('"rows"');
  leaving.abort();
});
