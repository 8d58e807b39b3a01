import { describe, expect, it } from 'vitest';
import { change, editBefore, insert, publish } from '../helpers/edits.ts';
import { provenIn } from '../helpers/proven.ts';
import { setup } from '../helpers/setup.ts';

describe('a proven walk makes known', () => {
  it('all that it brought, with the range of its numbers in the view changes', async () => {
    const bench = await setup({ rows: 120 });
    const walk = await bench.mirror('ai-signals');
    expect(provenIn(bench.store).of(bench.job('ai-signals'), walk)).toEqual({
      job: 'ai-signals',
      table: 'ai_signals',
      walkId: walk.id,
      verdict: 'snapshot',
      completeAsOf: walk.startedAt,
      inserted: 120,
      updated: 0,
      deleted: 0,
      firstSeq: bench.sql<{ seq: number }>('SELECT min(seq) AS seq FROM changes')[0]?.seq,
      lastSeq: bench.sql<{ seq: number }>('SELECT max(seq) AS seq FROM changes')[0]?.seq,
    });
  });

  it('also what walks before it brought that proved nothing, which make nothing known themselves', async () => {
    const bench = await setup({ rows: 250 });
    const job = bench.job('ai-signals');
    await bench.mirror('ai-signals');
    // A row that comes under the same generatedAt contradicts the snapshot.
    editBefore(bench, 'ai-signals', { 1: publish('2026-11-21T13:00:00Z'), 2: insert(150) });
    const torn = await bench.mirror('ai-signals');
    expect(torn).toMatchObject({ verdict: 'union' });
    expect(torn.inserted).toBeGreaterThan(0);
    expect(provenIn(bench.store).of(job, torn)).toBeNull();
    expect(provenIn(bench.store).since(job, 0)?.inserted).toBe(250);

    bench.model.beforeAnswer = undefined;
    const proof = await bench.mirror('ai-signals');
    expect(provenIn(bench.store).of(job, proof)).toMatchObject({
      walkId: proof.id,
      inserted: torn.inserted + proof.inserted,
      firstSeq: torn.firstSeq,
    });
  });

  it('also what glances brought before it; a glance alone makes nothing known', async () => {
    const bench = await setup({ rows: 120 });
    const job = bench.job('news');
    const first = await bench.mirror('news');
    bench.clock.advance(60_000);
    insert(0, 2)(bench.upstream('news'));
    const glance = await bench.glance('news');
    expect(glance).toMatchObject({ kind: 'glance', inserted: 2 });
    expect(provenIn(bench.store).of(job, glance)).toBeNull();
    expect(provenIn(bench.store).since(job, first.lastSeq ?? 0)).toBeNull();
    const proof = await bench.mirror('news');
    const told = { walkId: proof.id, inserted: 2, firstSeq: glance.firstSeq, lastSeq: glance.lastSeq };
    expect(provenIn(bench.store).of(job, proof)).toMatchObject(told);
    expect(provenIn(bench.store).since(job, first.lastSeq ?? 0)).toMatchObject(told);
  });

  it('what a glance brought while it was under way, once, and not what one brought after it', async () => {
    const bench = await setup({ rows: 350 });
    const job = bench.job('news');
    const changes = provenIn(bench.store);
    const first = await bench.mirror('news');
    const glance = (rows: number) => {
      bench.clock.advance(60_000);
      insert(0, rows)(bench.upstream('news'));
      return bench.glance('news');
    };
    change(340, { headline: 'edited' })(bench.upstream('news'));
    const stop = new AbortController();
    await bench.mirror('news', () => stop.abort(), stop.signal).catch(() => undefined);
    const beside = await glance(2);
    const proof = await bench.mirror('news');
    expect([first.id, proof.id, beside.id]).toEqual([1, 2, 3]);
    expect(proof.lastSeq).toBeGreaterThan(beside.lastSeq ?? 0);
    const after = await glance(3);
    const told = { inserted: 2, updated: 1, firstSeq: beside.firstSeq, lastSeq: proof.lastSeq };
    expect(changes.of(job, proof)).toMatchObject(told);
    expect(changes.since(job, first.lastSeq ?? 0)).toMatchObject(told);
    const next = await bench.mirror('news');
    const toldNext = { inserted: 3, updated: 0, firstSeq: after.firstSeq, lastSeq: after.lastSeq };
    expect(changes.of(job, next)).toMatchObject(toldNext);
    expect(changes.since(job, proof.lastSeq ?? 0)).toMatchObject(toldNext);
  });
});
