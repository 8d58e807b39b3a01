import { describe, expect, it } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { loadJobs } from '../../src/job/load.ts';
import type { Progress } from '../../src/mirror.ts';
import { createDriftLog, MAX_DRIFTS } from '../../src/store/drift.ts';
import { change } from '../helpers/edits.ts';
import { noteGlance } from '../helpers/glance-row.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { openTables, setupRows } from './support.ts';

const driftsOf = (bench: Bench) =>
  bench.sql('SELECT kind, path, detail, times FROM drift ORDER BY walk_id, path');
const drift = (kind: string, path: string, detail = '', times = 1) => ({ kind, path, detail, times });

describe('a field of a dataset whose shape is not specified', () => {
  it('is no drift when the first walk finds it, on whatever page and of whatever type', async () => {
    const bench = await setup({ rows: 250 });
    change(150, { lang: 'en', headline: 7 })(bench.upstream('news'));
    for (const job of ['news', 'smart-wallets', 'meme-signals', 'usage'])
      expect((await bench.mirror(job)).drifted).toBe(0);
    expect(driftsOf(bench)).toEqual([]);
  });

  it('is drift when it changes its type, but not when a whole number becomes a fraction', async () => {
    const bench = await setupRows();
    await bench.mirrorRows('news', '{"id":"a","price":1,"on":true,"gone":null}');
    await bench.mirrorRows('news', '{"id":"a","price":1.5,"on":true,"gone":"x"}');
    expect(driftsOf(bench)).toEqual([]);
    await bench.mirrorRows('news', '{"id":"a","price":"1.5","on":1,"gone":"x"}');
    await bench.mirrorRows('news', '{"id":"a","price":"1.6","on":2,"gone":"x"}');
    expect(driftsOf(bench)).toEqual([
      drift('new-type', '$.on', 'integer'),
      drift('new-type', '$.price', 'string'),
    ]);
    expect(bench.sql(`SELECT types FROM fields WHERE "column" = 'price'`)).toEqual([
      { types: '["integer","number","string"]' },
    ]);
  });

  it('is drift when no row of a whole walk bears it any more, once', async () => {
    const bench = await setupRows();
    await bench.mirrorRows('news', '{"id":"a","x":1,"o":{"y":1}}', '{"id":"b"}');
    await bench.mirrorRows('news', '{"id":"a","x":null,"o":{"y":2}}', '{"id":"b"}');
    expect(driftsOf(bench)).toEqual([]);
    expect((await bench.mirrorRows('news', '{"id":"a"}', '{"id":"b"}')).drifted).toBe(2);
    await bench.mirrorRows('news', '{"id":"a"}', '{"id":"b"}');
    const vanished = [drift('vanished-field', '$.o.y'), drift('vanished-field', '$.x')];
    expect(driftsOf(bench)).toEqual(vanished);
    expect(bench.sql('SELECT drifted FROM walks')).toEqual([0, 0, 2, 0].map((drifted) => ({ drifted })));
  });

  it('has not vanished because a walk was interrupted behind the page that showed it', async () => {
    const bench = await setup({ rows: 350 });
    change(5, { rare: 1 })(bench.upstream('news'));
    await bench.mirror('news');
    bench.clock.advance(60_000);
    let crashed = false;
    const crash = () => {
      if (!crashed && bench.model.callsTo(bench.job('news').path).length >= 8) {
        crashed = true;
        bench.reopen();
      }
    };
    await expect(bench.mirror('news', crash)).rejects.toThrow();
    expect(await bench.mirror('news')).toMatchObject({ id: 2, status: 'complete' });
    expect(driftsOf(bench)).toEqual([]);
  });

  it('has not vanished with rows that a walk could not read', async () => {
    const bench = await setup({ rows: 350 });
    change(349, { rare: 1 })(bench.upstream('news'));
    await bench.mirror('news');
    bench.model.faults = [when({ offset: 99 }, faults.status(400))];
    expect(await bench.mirror('news')).toMatchObject({ id: 2, verdict: 'union' });
    expect(driftsOf(bench)).toEqual([]);
  });

  it('has not vanished because a glance beside the walk met it last', async () => {
    const bench = await setup({ rows: 350 });
    change(150, { rare: 1 })(bench.upstream('news'));
    await bench.mirror('news');
    const stop = new AbortController();
    const halfway = ({ walk }: Progress) => void (walk.pages === 2 && stop.abort());
    await bench.mirror('news', halfway, stop.signal).catch(() => undefined);
    const glance = noteGlance(bench, { job: 'news' });
    bench.tamper(`UPDATE fields SET walk_id = ${glance} WHERE path = '$.rare'`);
    expect(await bench.mirror('news')).toMatchObject({ id: 2, status: 'complete' });
    expect(driftsOf(bench)).toEqual([]);
  });
});

describe('a difference from a contract', () => {
  it('is recorded once, counted always, and written once a walk', async () => {
    const { editRows, editPage } = faults;
    const odd = editRows((rows) => rows.map((row) => ({ ...row, lane: 'hot' })));
    const bench = await setup({
      rows: 250,
      faults: [
        when(
          {},
          odd,
          editPage((page) => ({ ...page, generatedAt: null })),
        ),
      ],
    });
    await bench.mirror('ai-signals');
    const [first] = bench.sql('SELECT request_id FROM requests ORDER BY id LIMIT 1');
    expect(bench.sql('SELECT request_id FROM drift')).toEqual([first]);
    bench.tamper(
      `CREATE TABLE written (at); CREATE TRIGGER counts AFTER UPDATE ON drift BEGIN INSERT INTO written VALUES (1); END`,
    );
    const walk = await bench.mirror('ai-signals');
    expect(walk.pages).toBeGreaterThan(3);
    expect(bench.sql('SELECT count(*) AS count FROM written')).toEqual([{ count: 2 }]);
    const [shown] = bench.sql<{ times: number }>('SELECT times FROM drift');
    expect(shown?.times).toBe(
      bench
        .sql<{ drifted: number }>('SELECT drifted FROM walks')
        .reduce((sum, { drifted }) => sum + drifted, 0),
    );
    expect(bench.sql('SELECT DISTINCT extra FROM ai_signals')).toEqual([{ extra: '{"lane":"hot"}' }]);
  });
});

describe('the drift of one dataset', () => {
  it('is bounded: what comes beyond is counted in one row', async () => {
    const connection = openTables(await loadJobs());
    const origin = { job: 'news', walkId: 1, requestId: null, now: 'now' };
    const log = createDriftLog(connection, 'news');
    const note = (path: string) => log.note({ kind: 'extra-property', path, detail: '', times: 1 }, origin);
    for (let at = 0; at < MAX_DRIFTS + 50; at += 1) note(`p${at}`);
    note('p7');
    log.flush();
    const read = connection.prepare<[], { kind: string; times: number; count: number }>(
      'SELECT kind, count(*) AS count, sum(times) AS times FROM drift GROUP BY kind ORDER BY kind',
    );
    expect(read.all()).toEqual([
      { kind: 'extra-property', count: MAX_DRIFTS, times: MAX_DRIFTS + 1 },
      { kind: 'more', count: 1, times: 50 },
    ]);
    const again = createDriftLog(connection, 'news');
    again.note({ kind: 'extra-property', path: 'new', detail: '', times: 1 }, origin);
    expect(read.all()).toMatchObject([{ count: MAX_DRIFTS }, { kind: 'more', times: 51 }]);
    expect(createDriftLog(connection, 'usage')).toBeDefined();
  });
});
