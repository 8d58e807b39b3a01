import { describe, expect, it } from 'vitest';
import { retryRefused } from '../../src/mirror.ts';
import type { Moment } from '../../src/reading/pages.ts';
import {
  both,
  bump,
  change,
  editBefore,
  insert,
  move,
  publish,
  remove,
  turnRound,
} from '../helpers/edits.ts';
import { setup } from '../helpers/setup.ts';
import { keepFor, passDays } from '../store/support.ts';
import {
  ANEW,
  keysNow,
  momentOf,
  ROWS,
  rowsOf,
  setupPages,
  setupRead,
  textsOf,
  upstreamKeys,
} from './pages/support.ts';

const DAY = 24 * 3_600_000;

describe('the order of pages', () => {
  it.each(['news', 'ai-signals'])('of %s is that of upstream, as the last proof met it', async (job) => {
    const { bench, dataset, now, keys } = await setupRead(job);
    expect(keys()).toEqual(upstreamKeys(bench, job));
    expect(now()).toMatchObject({
      order: 'proven',
      total: ROWS,
      verdict: job === 'news' ? 'verified' : 'snapshot',
    });
    const first = now();
    turnRound(dataset);
    if (job === 'ai-signals') publish(ANEW)(dataset);
    await bench.mirror(job);
    expect(keys()).toEqual(upstreamKeys(bench, job));
    expect(now().seq).toBeGreaterThan(first.seq);
    expect(keys(first.seq)).toEqual(upstreamKeys(bench, job).reverse());
  });

  it('has in front what the walk found there at its end, as it stands there', async () => {
    const { bench, dataset, keys } = await setupRead('news');
    editBefore(bench, 'news', { 3: insert(0, 3), 4: bump(150) });
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified' });
    expect(keys()).toEqual(dataset.rows.map((row) => row[dataset.idField]));
  });

  it('has in front what glances brought since, the latest commit first, each as on its page', async () => {
    const { bench, dataset, now, keys } = await setupRead('news');
    const proven = now();
    for (const news of [3, 1, 5]) {
      insert(0, news)(dataset);
      await bench.glance('news');
      expect(keys()).toEqual(upstreamKeys(bench, 'news'));
    }
    insert(0, 135)(dataset);
    await bench.glance('news');
    const [second, first] = [keys().slice(0, 35), keys().slice(35)];
    expect([...first.slice(0, 100), ...second, ...first.slice(100)]).toEqual(upstreamKeys(bench, 'news'));
    expect(keys(proven.seq)).toEqual(upstreamKeys(bench, 'news').slice(144));
    await bench.mirror('news');
    expect(keys()).toEqual(upstreamKeys(bench, 'news'));
  });

  it('has at the end what the proof did not meet, but holds', async () => {
    const { bench, dataset, keys } = await setupRead('news');
    const [gone = ''] = upstreamKeys(bench, 'news').slice(70);
    remove(70)(dataset);
    await bench.mirror('news');
    expect(keys()).toEqual([...upstreamKeys(bench, 'news'), gone]);
    const { lastSeq } = await bench.mirror('news');
    expect(keys()).toEqual(upstreamKeys(bench, 'news'));
    // As of the removal, too.
    expect(keys(lastSeq ?? 0)).toEqual(upstreamKeys(bench, 'news'));
  });

  it('has a refused row that is mirrored later in front, where no snapshot is published', async () => {
    const bench = await setup({ rows: 20 });
    const dataset = bench.upstream('ai-signals');
    publish(null)(dataset);
    const price = dataset.rows[7]?.['entryPrice'] as number;
    change(7, { entryPrice: 'much' })(dataset);
    await bench.mirror('ai-signals');
    const pages = setupPages(bench);
    const before = momentOf(pages, 'ai-signals');
    bench.tamper(`UPDATE quarantine SET body = json_set(body, '$.entryPrice', ${price})`);
    expect(retryRefused(bench.job('ai-signals'), bench.store)).toMatchObject({ mirrored: 1 });
    const all = upstreamKeys(bench, 'ai-signals');
    const others = all.toSpliced(7, 1);
    expect(keysNow(bench, pages, 'ai-signals')).toEqual([all[7], ...others]);
    expect(keysNow(bench, pages, 'ai-signals', before.seq)).toEqual(others);
  });

  it('is that of their numbers where nothing has been proven', async () => {
    const bench = await setup({ rows: ROWS });
    editBefore(bench, 'news', { 2: move(0, 200) });
    const pages = setupPages(bench);
    expect(pages.momentOf('news')).toBe('unread');
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'union' });
    const first = momentOf(pages, 'news');
    expect(first).toMatchObject({ order: 'by number', verdict: 'union', completeAsOf: null, total: ROWS });
    insert(0, 2)(bench.upstream('news'));
    await bench.glance('news');
    expect(momentOf(pages, 'news').total).toBe(ROWS + 2);
    const texts = textsOf(pages, first);
    expect(texts).toHaveLength(ROWS);
    await bench.mirror('news');
    expect(textsOf(pages, momentOf(pages, 'news', first.seq))).toEqual(texts);
  });
});

describe('a moment', () => {
  it('is not there before the first full walk has ended, nor ahead of the last change', async () => {
    const bench = await setup({ rows: ROWS });
    const pages = setupPages(bench);
    expect(pages.momentOf('news')).toBe('unread');
    editBefore(bench, 'news', { 3: () => bench.reopen() });
    await expect(bench.mirror('news')).rejects.toThrow('not open');
    expect(pages.momentOf('news')).toBe('unread');
    await bench.mirror('news');
    const { seq } = momentOf(pages, 'news');
    expect(pages.momentOf('news', seq + 1)).toBe('future');
    expect(pages.momentOf('news', 5)).toBe('gone');
  });

  it('is paged through as it was, while rows change and go', async () => {
    const { bench, pages, dataset, now } = await setupRead('news');
    const told = new Map<Moment, string[]>();
    const edits = [
      both(insert(0, 3), change(10, { headline: 'changed' })),
      both(remove(0, 3), bump(40)),
      both(insert(0, 5), remove(100, 60)),
      both(insert(50, 2), remove(0, 2)),
    ];
    for (const edit of edits) {
      edit(dataset);
      for (const kind of ['glance', 'walk', 'walk'] as const) {
        bench.clock.advance(60_000);
        await bench.mirror('news', undefined, undefined, kind);
        told.set(now(), textsOf(pages, now()));
      }
    }
    for (const [then, texts] of told) {
      expect(textsOf(pages, then, [7, 100, 1])).toEqual(texts);
      expect(textsOf(pages, momentOf(pages, 'news', then.seq))).toEqual(texts);
    }
  });

  it.each(['news', 'ai-signals'])('of %s is another one only where something is', async (job) => {
    const { bench, pages, dataset, now } = await setupRead(job);
    remove(70)(dataset);
    if (job === 'ai-signals') publish(ANEW)(dataset);
    for (let proof = 0; proof < 2; proof += 1) await bench.mirror(job);
    const first = now();
    bench.clock.advance(DAY);
    expect(await bench.mirror(job)).toMatchObject({ renewalOf: null });
    const { at, ...again } = now();
    expect(again).toMatchObject({ seq: first.seq, total: first.total });
    expect(Date.parse(again.completeAsOf ?? '') - Date.parse(first.completeAsOf ?? '')).toBe(DAY);
    expect(bench.sql('SELECT max(order_seq) AS seq FROM walks')).toEqual([{ seq: first.seq }]);
    expect(textsOf(pages, now())).toEqual(textsOf(pages, first));
  });

  it('tells the last proof by then for a day after another took its place, and is then gone', async () => {
    const { bench, pages, dataset, now } = await setupRead('news');
    const told = new Map<number, Moment>();
    for (let at = 0; at < 4; at += 1) {
      told.set(now().seq, now());
      bump(100)(dataset);
      bench.clock.advance(3_600_000);
      await bench.mirror('news');
    }
    passDays(bench, 0.8);
    bench.store.prune(bench.job('news'), keepFor({ records: 1 }));
    for (const [seq, { completeAsOf, verdict }] of told)
      expect(momentOf(pages, 'news', seq)).toMatchObject({ completeAsOf, verdict });
    passDays(bench, 1);
    bench.store.prune(bench.job('news'), keepFor({ records: 1 }));
    expect([...told.keys()].map((seq) => pages.momentOf('news', seq))).toEqual(Array(4).fill('gone'));
    expect(now().total).toBe(ROWS);
  });

  it('tells no proof of what its rows have become since', async () => {
    const { bench, dataset, pages, now } = await setupRead('news');
    const first = now();
    for (const headline of ['changed', 'changed', 'changed again']) {
      bench.clock.advance(3_600_000);
      change(10, { headline })(dataset);
      const { startedAt } = await bench.mirror('news');
      expect(now().completeAsOf).toBe(startedAt);
    }
    expect(momentOf(pages, 'news', first.seq)).toMatchObject({ completeAsOf: first.completeAsOf });
  });

  it('is gone where a restore took it back', async () => {
    const { bench, pages, dataset, now } = await setupRead('news');
    const { seq } = now();
    bench.tamper(`INSERT INTO _restores (backup_seq, restored_seq) VALUES (${seq}, ${seq + 1_000})`);
    for (let round = 0; round < 2; round += 1) {
      expect([seq, seq + 1, seq + 1_000].map((one) => typeof pages.momentOf('news', one))).toEqual([
        'object',
        'string',
        'string',
      ]);
      expect(pages.momentOf('news', seq + 1)).toBe('gone');
      change(10, { headline: 'changed' })(dataset);
      bench.clock.advance(60_000);
      await bench.mirror('news');
    }
    expect(now().seq).toBeGreaterThan(seq + 1_000);
  });

  it.each([
    ['rows', both(insert(0), remove(200))],
    ['what is in them', () => undefined],
  ])('is gone with the history where %s changed, and what is kept answers as before', async (_, edit) => {
    const { bench, pages, dataset, now } = await setupRead('news');
    const told = new Map<number, string[]>();
    for (let day = 0; day < 6; day += 1) {
      told.set(now().seq, textsOf(pages, now()));
      both(change(20 + day, { headline: `of day ${day}` }), edit)(dataset);
      bench.clock.advance(12 * 3_600_000);
      await bench.mirror('news');
      passDays(bench, 1);
    }
    bench.store.prune(bench.job('news'), keepFor({ history: 4 }));
    const found = [...told].map(([seq, texts]) => {
      const moment = pages.momentOf('news', seq);
      if (typeof moment === 'string') return moment;
      expect(textsOf(pages, moment)).toEqual(texts);
      return 'kept';
    });
    expect(found.lastIndexOf('gone')).toBe(found.indexOf('kept') - 1);
    expect(new Set(found)).toEqual(new Set(['gone', 'kept']));
  });
});

describe('a dataset that publishes snapshots', () => {
  it('is shown as it was proven, whatever walks bring before they prove another', async () => {
    const { bench, pages, dataset, now } = await setupRead('ai-signals');
    const [first, texts] = [now(), textsOf(pages, now())];
    const during: unknown[] = [];
    insert(0, 3)(dataset);
    change(150, { action: 'changed' })(dataset);
    publish(ANEW)(dataset);
    editBefore(bench, 'ai-signals', {
      2: () => during.push(now().seq, textsOf(pages, now())),
      3: () => during.push(now().seq, textsOf(pages, now())),
    });
    await bench.mirror('ai-signals');
    expect(during).toEqual([first.seq, texts, first.seq, texts]);
    expect(now()).toMatchObject({ generatedAt: ANEW, total: ROWS + 3 });
    const changes = bench.sql<{ seq: number }>('SELECT DISTINCT seq FROM changes WHERE seq > ?', first.seq);
    for (const { seq } of changes) expect(momentOf(pages, 'ai-signals', seq).seq).toBe(first.seq);
  });

  it('shows rows that are held last, and is no longer the one that was published', async () => {
    const { bench, dataset, now, keys } = await setupRead('ai-signals');
    remove(0, ROWS - 70)(dataset);
    publish(ANEW)(dataset);
    await bench.mirror('ai-signals');
    expect(bench.table('ai_signals').size).toBe(ROWS);
    expect(now()).toMatchObject({ total: ROWS, held: ROWS - 70, verdict: 'snapshot', generatedAt: null });
    expect(keys().slice(0, 70)).toEqual(upstreamKeys(bench, 'ai-signals'));
    expect(new Set(keys()).size).toBe(ROWS);
  });

  it('keeps what was proven last for as long as nothing else is, however old', async () => {
    const { bench, dataset, pages, now } = await setupRead('ai-signals');
    const texts = textsOf(pages, now());
    passDays(bench, 3);
    change(5, { action: 'changed' })(dataset);
    publish(ANEW)(dataset);
    editBefore(bench, 'ai-signals', { 2: () => bench.reopen() });
    await expect(bench.mirror('ai-signals')).rejects.toThrow('not open');
    passDays(bench, 9);
    bench.store.prune(bench.job('ai-signals'), keepFor({ history: 2 }));
    expect(textsOf(pages, now())).toEqual(texts);
  });

  it('has the latest of its volatile values at every moment, and says of when', async () => {
    const { bench, dataset, pages, now } = await setupRead('ai-signals');
    const first = now();
    const quality = { ...(dataset.rows[3]?.['quality'] as object), ageSeconds: 99_999 };
    change(3, { quality })(dataset);
    change(4, { quality, action: 'changed' })(dataset);
    publish(ANEW)(dataset);
    await bench.mirror('ai-signals');
    const then = rowsOf(pages, momentOf(pages, 'ai-signals', first.seq));
    expect([3, 4].map((at) => then[at]?.['quality'])).toMatchObject([
      { ageSeconds: 99_999 },
      { ageSeconds: 99_999 },
    ]);
    expect(then[4]?.['action']).not.toBe('changed');
    expect(now().volatileSeq).not.toBe(first.volatileSeq);
    await bench.mirror('news');
    expect(momentOf(pages, 'news').volatileSeq).toBe(0);
  });
});
