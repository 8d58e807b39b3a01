import { describe, expect, it } from 'vitest';
import { change, editBefore, insert, publish, remove } from '../../helpers/edits.ts';
import { keepFor, passDays } from '../../store/support.ts';
import { ANEW, momentOf, ROWS, rowsOf, setupRead, textsOf, upstreamKeys } from './support.ts';

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

  it('is another moment when the same is published anew', async () => {
    const { bench, dataset, pages, now } = await setupRead('ai-signals');
    const first = now();
    publish(ANEW)(dataset);
    await bench.mirror('ai-signals');
    expect(now().seq).toBeGreaterThan(first.seq);
    expect(now().generatedAt).toBe(ANEW);
    expect(momentOf(pages, 'ai-signals', first.seq).generatedAt).toBe(first.generatedAt);
    expect(rowsOf(pages, now())).toEqual(rowsOf(pages, first));
  });

  it('is another moment when a row changes, though the API calls it the same', async () => {
    const { bench, dataset, pages, now } = await setupRead('ai-signals');
    const [first, texts] = [now(), textsOf(pages, now())];
    change(5, { action: 'changed' })(dataset);
    expect(await bench.mirror('ai-signals')).toMatchObject({ verdict: 'snapshot', renewalOf: null });
    expect(rowsOf(pages, now())[5]).toMatchObject({ action: 'changed' });
    expect(textsOf(pages, momentOf(pages, 'ai-signals', first.seq))).toEqual(texts);
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
    await bench.store.prune(bench.job('ai-signals'), keepFor({ history: 2 }));
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
    expect(now().unversionedSeq).not.toBe(first.unversionedSeq);
    await bench.mirror('news');
    expect(momentOf(pages, 'news').unversionedSeq).toBe(0);
  });
});
