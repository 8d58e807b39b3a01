/** Points in time, versions of a row, and the change feed of `/mirror/v1`, over one mirror whose datasets change. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isoTime } from '../../../src/base/clock.ts';
import { openServeBench, type ServeBench, setupServe } from '../../helpers/serve-bench.ts';
import { type Get, type Got, getter } from '../client.ts';

type Row = Record<string, unknown>;
type Change = { seq: number; at: string; dataset: string; key: string; change: string; row: Row | null };
type Feed = { changes: Change[]; next: string; hasMore: boolean };

const MINUTE = 60_000;
const lists = ['ai-signals', 'news'] as const;

let serve: ServeBench;
let key: string;
let get: Get;
/** By dataset, in the order of the states that it went through: the present rows, and how to ask for them again. */
const states: { table: string; seq: string; at: string; rows: Row[] }[] = [];

const allRows = async (table: string, query = '') => {
  const got = await get(`/mirror/v1/${table}?limit=1000${query}`);
  return { rows: got.json as Row[], seq: String(got.headers['x-mirror-seq']) };
};

/** Rows change, come and go, and are walked. */
async function live(round: number): Promise<void> {
  serve.bench.clock.advance(10 * MINUTE);
  for (const job of lists) {
    const dataset = serve.bench.upstream(job);
    dataset.rows.splice(round, 2);
    dataset.rows.unshift(...dataset.make(3));
    const changed = dataset.rows[10 + round];
    if (changed)
      Object.assign(
        changed,
        job === 'news' ? { headline: `changed ${round}` } : { rationale: `changed ${round}` },
      );
    dataset.generatedAt =
      dataset.generatedAt && new Date(Date.parse(dataset.generatedAt) + 60_000 * round).toISOString();
    await serve.bench.mirror(job);
    serve.bench.clock.advance(MINUTE);
    await serve.bench.mirror(job);
  }
}

beforeAll(async () => {
  serve = await openServeBench({ rows: 60, settings: { query: true }, walked: lists });
  // A field upstream may have any name.
  Object.assign(serve.bench.upstream('news').rows[20] ?? {}, { constructor: 'any name', extra: 1 });
  key = serve.issue({ scopes: ['news:read', 'ai-signals:read'] }).key;
  get = getter(serve.url, key);
  for (let round = 1; round <= 2; round += 1) {
    await live(round);
    for (const table of ['ai_signals', 'news']) {
      const at = new Date(serve.bench.clock.now()).toISOString();
      states.push({ table, at, ...(await allRows(table)) });
    }
  }
});
afterAll(() => serve.close());

const sql = (text: string, ...values: (string | number | null)[]) => serve.bench.sql(text, ...values);

const write = (statements: string) => serve.bench.tamper(statements);

const volatile = ['quality_age_seconds', 'quality_freshness', '_held_since', '_held_reason'];
/** What makes a version, by key: a column without a value is as one that was found later. */
const stable = (rows: readonly Row[]) =>
  new Map(
    rows.map((row) => [
      row['_key'],
      Object.fromEntries(
        Object.entries(row).filter(([name, value]) => value !== null && !volatile.includes(name)),
      ),
    ]),
  );

describe('a moment is shown again', () => {
  test('by seq and by time, in every detail that makes a version', async () => {
    expect(states.length).toBe(4);
    for (const { table, seq, at, rows } of states)
      for (const query of [`&seq=${seq}`, `&as_of=${at}`]) {
        const again = await allRows(table, query);
        expect(stable(again.rows)).toEqual(stable(rows));
      }
  });

  test('with filters, by key, and never one that is to come or was not yet', async () => {
    const [first] = states.filter(({ table }) => table === 'news');
    const [row] = first?.rows ?? [];
    const one = await get(`/mirror/v1/news/${row?.['_key']}?seq=${first?.seq}&select=headline`);
    expect(one.json).toEqual({ headline: row?.['headline'] });
    const filtered = await get(`/mirror/v1/news?headline=like.changed*&select=headline&as_of=${first?.at}`);
    expect(filtered.json).toEqual([{ headline: 'changed 1' }]);
    expect(await get('/mirror/v1/news?seq=99999999999999')).toMatchObject({ status: 400 });
    const gone = { status: 410, json: { code: 'MIRROR410' } };
    expect(await get('/mirror/v1/news?seq=1')).toMatchObject(gone);
    write(`INSERT INTO _restores (backup_seq, restored_seq) VALUES (${first?.seq} - 1, ${first?.seq})`);
    expect(await get(`/mirror/v1/news?seq=${first?.seq}`)).toMatchObject(gone);
    write('DELETE FROM _restores');
  });
});

test('how proven a moment is, and what was held then, is said alike of the present, by seq, by time and in a 304', async () => {
  const { bench, url, issue } = await setupServe({ rows: 30, settings: { query: true }, walked: ['news'] });
  const ask = getter(url, issue().key);
  const { rows } = bench.upstream('news');
  bench.clock.advance(MINUTE);
  rows.splice(3, 1);
  await bench.mirror('news');
  bench.clock.advance(MINUTE);
  const path = '/mirror/v1/news?_held_since=not.is.null&select=_key';
  const proofIn = ({ headers }: Got) => [headers['x-mirror-verdict'], headers['x-mirror-complete-as-of']];
  const present = await ask(path);
  const then = new Date(bench.clock.now()).toISOString();
  expect(present.json).toHaveLength(1);
  for (const held of [present.json as Row[], []]) {
    for (const point of [`seq=${present.headers['x-mirror-seq']}`, `as_of=${then}`]) {
      const again = await ask(`${path}&${point}`);
      expect([proofIn(again), again.json]).toEqual([proofIn(present), held]);
      expect(again.headers['x-mirror-held']).toBe(String(held.length));
      const known = { 'if-none-match': String(again.headers['etag']) };
      const unchanged = await ask(`${path}&${point}`, known);
      expect([unchanged.status, proofIn(unchanged)]).toEqual([304, proofIn(present)]);
    }
    bench.clock.advance(10 * MINUTE);
    Object.assign(rows[5] ?? {}, { headline: 'changed' });
    await bench.mirror('news');
  }
});

test('the versions of a row stand in their order, the present one last', async () => {
  const [wanted] = sql(`SELECT _key FROM news_history WHERE _ended_by = 'update' LIMIT 1`);
  const got = await get(
    `/mirror/v1/news/${wanted?.['_key']}/history?select=headline,_valid_from,_valid_to,_ended_by`,
  );
  const versions = sql(
    `SELECT headline, _valid_from, _valid_to, _ended_by FROM news_history WHERE _key = ?
     UNION ALL SELECT headline, _changed_at, NULL, NULL FROM news WHERE _key = ? ORDER BY _valid_from`,
    String(wanted?.['_key']),
    String(wanted?.['_key']),
  );
  expect(versions.length).toBeGreaterThan(1);
  expect(got.json).toEqual(versions);
  const { json } = await get(
    `/mirror/v1/news/${wanted?.['_key']}/history?select=_valid_to&seq=${Date.parse(String(versions[0]?.['_valid_from']))}`,
  );
  expect(json).toEqual([{ _valid_to: null }]);
});

/** A copy that a client keeps: applied is what the feed says, and nothing else. */
function openCopy() {
  const tables = new Map<string, Map<string, Row>>();
  let next: string | undefined;
  let calls = 0;
  const apply = ({ dataset, key, row }: Change) => {
    const rows = tables.get(dataset) ?? new Map<string, Row>();
    tables.set(dataset, rows);
    if (row) rows.set(key, row);
    else rows.delete(key);
  };
  return {
    apply,
    rows: (table: string) => [...(tables.get(table)?.values() ?? [])],
    since: () => next,
    /** @param limit of each call, so that calls end within a commit. */
    async follow(limit: number): Promise<Change[]> {
      const all: Change[] = [];
      for (;;) {
        const got = await get(`/mirror/v1/changes?limit=${limit}${next ? `&since=${next}` : ''}`);
        expect(got.status).toBe(200);
        const feed = got.json as Feed;
        calls += 1;
        // As of a client that was killed before it had kept the answer.
        if (calls % 3 === 0) continue;
        for (const change of feed.changes) apply(change);
        all.push(...feed.changes);
        next = feed.next;
        if (!feed.hasMore) return all;
      }
    },
  };
}

const expectSame = async (copy: ReturnType<typeof openCopy>) => {
  for (const table of ['ai_signals', 'news'])
    expect(stable(copy.rows(table))).toEqual(stable((await allRows(table)).rows));
};

describe('the change feed', () => {
  test('begins with the datasets, and goes on with what each commit changed, though answers are lost', async () => {
    const copy = openCopy();
    const inserts = await copy.follow(17);
    expect(inserts.every(({ change }) => change === 'insert')).toBe(true);
    await expectSame(copy);
    for (let round = 4; round < 6; round += 1) {
      await live(round);
      const changes = await copy.follow(round);
      expect(new Set(changes.map(({ change }) => change))).toEqual(new Set(['insert', 'update', 'delete']));
      expect(changes.map(({ at }) => at)).toEqual(changes.map(({ at }) => at).toSorted());
      await expectSame(copy);
    }
    expect((await copy.follow(100)).length).toBe(0);
  });

  test('is as proven and as fresh as the least of its datasets', async () => {
    const answers = ['/changes', '/ai_signals?limit=1', '/news?limit=1'].map((path) =>
      get(`/mirror/v1${path}`),
    );
    const [feed, ...each] = (await Promise.all(answers)).map(({ headers }) => headers);
    const all = (name: string) => each.map((headers) => String(headers[name])).sort();
    expect(all('x-mirror-verdict')).toEqual(['snapshot', 'verified']);
    expect(feed).toMatchObject({
      'x-mirror-verdict': 'verified',
      'x-mirror-complete-as-of': all('x-mirror-complete-as-of')[0],
      'x-mirror-held': String(all('x-mirror-held').reduce((sum, held) => sum + Number(held), 0)),
    });
  });

  test('goes on from a bare number, with what the view of changes tells', async () => {
    const from = Number(states[2]?.seq);
    const feed: Change[] = [];
    for (let next = String(from); ; ) {
      const got = (await get(`/mirror/v1/changes?limit=50&since=${next}`)).json as Feed;
      feed.push(...got.changes);
      next = got.next;
      if (!got.hasMore) break;
    }
    const told = sql(
      'SELECT seq, "table" AS dataset, key, change FROM changes WHERE seq > ? ORDER BY seq, key',
      from,
    );
    expect(feed.map(({ seq, dataset, key, change }) => ({ seq, dataset, key, change }))).toEqual(told);
  });

  test('goes on, as a question does, from what a list page of /api/v1 showed, whose order may be newer than any change', async () => {
    const { bench, url, issue } = await setupServe({ rows: 9, settings: { query: true }, walked: ['news'] });
    const ask = getter(url, issue({ scopes: ['news:read'] }).key);
    const seq = String((await ask('/api/v1/news')).headers['x-mirror-seq']);
    expect(Number(seq)).toBeGreaterThan(Number((await ask('/mirror/v1/news')).headers['x-mirror-seq']));
    expect((await ask(`/mirror/v1/news?seq=${seq}`)).json).toEqual((await ask('/mirror/v1/news')).json);
    for (const changes of [0, 1]) {
      expect(((await ask(`/mirror/v1/changes?since=${seq}`)).json as Feed).changes).toHaveLength(changes);
      bench.clock.advance(MINUTE);
      Object.assign(bench.upstream('news').rows[3] ?? {}, { headline: 'changed' });
      await bench.mirror('news');
    }
  });

  test('begins page by page, also if rows got other keys in the latest commit of the mirror', async () => {
    write("UPDATE _datasets SET keys_seq = (SELECT max(last_seq) FROM _datasets) WHERE job = 'news'");
    const copy = openCopy();
    await copy.follow(17);
    await expectSame(copy);
    write('UPDATE _datasets SET keys_seq = NULL');
  });

  test('tells who cannot go on where to begin: another mirror, other datasets, a dropped past', async () => {
    const { next } = (await get('/mirror/v1/changes?limit=1')).json as Feed;
    const parts = JSON.parse(Buffer.from(next, 'base64url').toString()) as unknown[];
    const position = (...of: unknown[]) => Buffer.from(JSON.stringify(of)).toString('base64url');
    const other = position('another', ...parts.slice(1));
    const less = getter(serve.url, serve.issue({ name: 'less', scopes: ['news:read'] }).key);
    const since = Number(states[0]?.seq);
    write(`UPDATE _datasets SET history_from = '${isoTime(since + 1)}'`);
    const dropped = [await get(`/mirror/v1/changes?since=${since}`)];
    write(`UPDATE _datasets SET history_from = '${isoTime(since)}'`);
    expect(await get(`/mirror/v1/changes?since=${since}`)).toMatchObject({ status: 200 });
    const within = position(...parts.slice(0, 2), since, null, 'a');
    dropped.push(await get(`/mirror/v1/changes?since=${within}`));
    write('UPDATE _datasets SET history_from = NULL');
    for (const answer of [
      await get(`/mirror/v1/changes?since=${other}`),
      await less(`/mirror/v1/changes?since=${next}`),
      ...dropped,
    ])
      expect(answer).toMatchObject({
        status: 410,
        json: { code: 'MIRROR410', hint: expect.stringContaining('/mirror/v1/changes') },
      });
    for (const since of ['x', '99999999999999'])
      expect(await get(`/mirror/v1/changes?since=${since}`)).toMatchObject({ status: 400 });
    expect(
      ((await less('/mirror/v1/changes?limit=1000')).json as Feed).changes.every(
        ({ dataset }) => dataset === 'news',
      ),
    ).toBe(true);
    const none = getter(serve.url, serve.issue({ name: 'none', scopes: [] }).key);
    expect(await none('/mirror/v1/changes')).toMatchObject({ status: 403, json: { code: '42501' } });
  });
});

test('no change is shown of a dataset that is older than the service shows', async () => {
  const old = await openServeBench({
    rows: 5,
    walked: ['news'],
    settings: { query: true, maxAgeMs: { news: MINUTE } },
  });
  try {
    const ask = getter(old.url, old.issue({ scopes: ['news:read'] }).key);
    expect(await ask('/mirror/v1/changes')).toMatchObject({ status: 200 });
    old.bench.clock.advance(10 * MINUTE);
    expect(await ask('/mirror/v1/changes')).toMatchObject({
      status: 503,
      headers: { 'retry-after': '30' },
      json: { code: 'MIRROR503', message: expect.stringContaining('older') },
    });
  } finally {
    await old.close();
  }
});

test('the datasets that a key may read, with their columns and freshness', async () => {
  const got = await get('/mirror/v1/datasets');
  const [signals, news, ...others] = got.json as { columns: Row[] }[];
  expect(signals).toMatchObject({ dataset: 'ai_signals', job: 'ai-signals', verdict: 'snapshot', held: 0 });
  expect([news, others]).toMatchObject([{ dataset: 'news' }, []]);
  const allowed = { name: 'validator_allowed', type: 'boolean', about: '`validator.allowed`' };
  expect(signals?.columns).toContainEqual(allowed);
  for (const [name, type] of Object.entries({ headline: 'text', constructor: 'text', extra: 'number' }))
    expect(news?.columns).toContainEqual({ name, type, about: `\`${name}\`` });
});
