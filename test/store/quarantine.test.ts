import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { faults, when } from '../../model-api/index.ts';
import type { Job } from '../../src/job.ts';
import { retryRefused } from '../../src/mirror.ts';
import { tryLock } from '../../src/store.ts';
import { change, remove } from '../helpers/edits.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { provenIn } from '../helpers/proven.ts';
import { setup } from '../helpers/setup.ts';

const MINUTE = 60_000;
const job = 'ai-signals';

/** The contract as it is once mended: confidence may be a word too. */
function mended(bench: Bench): Job {
  const { contract, ...rest } = bench.job(job);
  if (!contract) throw new Error(`${job} has no contract`);
  const row = (contract.row as z.ZodObject).extend({ confidence: z.union([z.number(), z.string()]) });
  return { ...rest, contract: { ...contract, row } };
}

const quarantined = (bench: Bench) =>
  bench.sql('SELECT key, times, resolved_at IS NOT NULL AS resolved FROM quarantine ORDER BY id');

/** A mirror of five signals, of which those at these places break the contract. */
async function setupRefusing(...places: number[]) {
  const bench = await setup({ rows: 5 });
  for (const place of places) change(place, { confidence: 'high' })(bench.upstream(job));
  const keys = places.map((place) => String(bench.upstream(job).rows[place]?.['id']));
  const walk = await bench.mirror(job);
  return { bench, keys, walk };
}

describe('a row that breaks the contract', () => {
  it('is kept as it came, with the reason and the call that brought it, and the others land', async () => {
    const { bench, keys, walk } = await setupRefusing(1);
    expect(walk).toMatchObject({ status: 'complete', verdict: 'snapshot', inserted: 4, quarantined: 1 });
    const [call] = bench.sql('SELECT request_id, at FROM requests');
    expect(bench.sql('SELECT * FROM quarantine')).toMatchObject([
      {
        ...{
          job,
          key: keys[0],
          times: 1,
          walk_id: walk.id,
          resolved_at: null,
          request_id: call?.['request_id'],
        },
        body: JSON.stringify(bench.upstream(job).rows[1]),
        problems: JSON.stringify([
          { path: 'confidence', expected: 'a value of type number', received: 'string' },
        ]),
      },
    ]);
  });

  it('is resolved once it comes and fits, also by a walk that proves nothing of the others', async () => {
    const { bench, keys } = await setupRefusing(1, 2);
    change(1, { confidence: 0.5 })(bench.upstream(job));
    remove(2)(bench.upstream(job));
    bench.model.faults = [() => [faults.changingTotal()]];
    expect(await bench.mirror(job)).toMatchObject({ verdict: 'union' });
    expect(quarantined(bench)).toEqual([
      { key: keys[0], times: 1, resolved: 1 },
      { key: keys[1], times: 1, resolved: 0 },
    ]);
  });

  it('is resolved by the walk that proves it gone upstream', async () => {
    const { bench, keys } = await setupRefusing(1, 2);
    remove(1)(bench.upstream(job));
    await bench.mirror(job);
    expect(quarantined(bench)).toEqual([
      { key: keys[0], times: 1, resolved: 1 },
      { key: keys[1], times: 2, resolved: 0 },
    ]);
    expect(retryRefused(mended(bench), bench.store)).toMatchObject({ tried: 1, mirrored: 1, gone: 0 });
  });

  it('is not resolved by a walk that looked at the first page alone, nor by one that proves nothing', async () => {
    const bench = await setup({ rows: 150 });
    change(120, { confidence: 'high' })(bench.upstream(job));
    const { id } = await bench.mirror(job);
    expect(await bench.mirror(job)).toMatchObject({ renewalOf: id });
    remove(120)(bench.upstream(job));
    bench.upstream(job).generatedAt = null;
    bench.model.faults = [() => [faults.changingTotal()]];
    expect(await bench.mirror(job)).toMatchObject({ verdict: 'union' });
    expect(quarantined(bench)).toMatchObject([{ resolved: 0 }]);
    bench.model.faults = [];
    expect(await bench.mirror(job)).toMatchObject({ verdict: 'verified' });
    expect(quarantined(bench)).toMatchObject([{ resolved: 1 }]);
  });

  it('is known again without a key by its text, whatever moves by itself', async () => {
    const bench = await setup({ rows: 5, faults: [when({}, faults.ageing())] });
    for (const place of [1, 2]) change(place, { id: null })(bench.upstream(job));
    for (let walk = 0; walk < 3; walk += 1) {
      bench.clock.advance(MINUTE);
      await bench.mirror(job);
    }
    expect(quarantined(bench)).toEqual(Array(2).fill({ key: null, times: 3, resolved: 0 }));
    change(1, { id: null, asset: 'another' })(bench.upstream(job));
    await bench.mirror(job);
    expect(quarantined(bench)).toEqual([
      { key: null, times: 3, resolved: 1 },
      { key: null, times: 4, resolved: 0 },
      { key: null, times: 1, resolved: 0 },
    ]);
  });
});

describe('a dataset of which no row fits', () => {
  it('is halted after one page, its rows kept, and goes on once they fit again', async () => {
    const bench = await setup({ rows: 250 });
    await bench.mirror(job);
    const { rows } = bench.upstream(job);
    const good = structuredClone(rows);
    for (const row of rows) row['confidence'] = 'high';
    for (let run = 0; run < 2; run += 1) {
      const calls = bench.model.calls.length;
      await expect(bench.mirror(job)).rejects.toMatchObject({ kind: 'contract', exitCode: 65 });
      expect(bench.model.calls).toHaveLength(calls + 1);
    }
    expect(bench.sql('SELECT count(*) AS rows FROM ai_signals')).toEqual([{ rows: 250 }]);
    expect(bench.sql('SELECT count(*) AS rows, max(times) AS times FROM quarantine')).toEqual([
      { rows: 100, times: 2 },
    ]);
    bench.upstream(job).rows = good;
    expect(await bench.mirror(job)).toMatchObject({ verdict: 'snapshot', updated: 0, deleted: 0 });
    expect(bench.sql('SELECT count(*) AS rows FROM quarantine WHERE resolved_at IS NULL')).toEqual([
      { rows: 0 },
    ]);
  });
});

const confidences = (bench: Bench) =>
  bench.sql(`SELECT confidence FROM ai_signals WHERE typeof(confidence) = 'text'`);

describe('a retry after a fix of the contract', () => {
  it('mirrors the rows that fit now, without a call, and empties the quarantine of them', async () => {
    const { bench, keys, walk } = await setupRefusing(1, 3);
    const calls = bench.model.calls.length;
    bench.clock.advance(MINUTE);
    expect(retryRefused(mended(bench), bench.store)).toEqual({
      job,
      tried: 2,
      mirrored: 2,
      gone: 0,
      refused: 0,
    });
    expect(bench.model.calls).toHaveLength(calls);
    expect(confidences(bench)).toHaveLength(2);
    expect(bench.table('ai_signals').get(keys[0] ?? '')).toMatchObject({
      confidence: 'high',
      _walk_id: walk.id,
      extra: null,
    });
    expect(quarantined(bench).map(({ resolved }) => resolved)).toEqual([1, 1]);
    expect(retryRefused(mended(bench), bench.store)).toMatchObject({ tried: 0 });
  });

  it('leaves those that still do not fit, with what is wrong with them now', async () => {
    const { bench } = await setupRefusing(1, 3);
    bench.tamper(`UPDATE quarantine SET body = json_set(body, '$.asset', 5) WHERE id = 2`);
    expect(retryRefused(mended(bench), bench.store)).toMatchObject({ tried: 2, mirrored: 1, refused: 1 });
    expect(retryRefused(bench.job(job), bench.store)).toMatchObject({ tried: 1, mirrored: 0, refused: 1 });
    expect(
      bench.sql(`SELECT problems ->> '$[0].path' AS path FROM quarantine WHERE resolved_at IS NULL`),
    ).toEqual([{ path: 'asset' }]);
  });

  it('does not bring back a row that a later walk proved to be gone', async () => {
    const { bench, keys } = await setupRefusing(1, 3);
    remove(1)(bench.upstream(job));
    await bench.mirror(job);
    bench.tamper('UPDATE quarantine SET resolved_at = NULL');
    expect(retryRefused(mended(bench), bench.store)).toEqual({
      job,
      tried: 2,
      mirrored: 1,
      gone: 1,
      refused: 0,
    });
    expect(bench.table('ai_signals').has(keys[0] ?? '')).toBe(false);
    expect(bench.table('ai_signals').has(keys[1] ?? '')).toBe(true);
  });

  it('mirrors a row of a later page after a walk that looked at the first page alone', async () => {
    const bench = await setup({ rows: 150 });
    change(120, { confidence: 'high' })(bench.upstream(job));
    const { id } = await bench.mirror(job);
    expect(await bench.mirror(job)).toMatchObject({ renewalOf: id });
    expect(retryRefused(mended(bench), bench.store)).toMatchObject({ mirrored: 1, gone: 0 });
    expect(bench.table('ai_signals').size).toBe(150);
  });

  it('is told with the next proof, and once, though the walk that brought the rows changed others', async () => {
    const { bench, walk } = await setupRefusing(1, 3);
    const changes = provenIn(bench.store);
    const told = changes.of(bench.job(job), walk);
    expect(told?.inserted).toBeGreaterThan(0);
    bench.clock.advance(MINUTE);
    retryRefused(mended(bench), bench.store);
    expect(changes.since(bench.job(job), told?.lastSeq ?? 0)).toBeNull();
    const [{ seq } = { seq: 0 }] = bench.sql<{ seq: number }>('SELECT max(seq) AS seq FROM changes');
    const retried = { inserted: 2, updated: 0, deleted: 0, firstSeq: seq, lastSeq: seq };
    Object.assign(bench.job(job), mended(bench));
    for (const expected of [expect.objectContaining(retried), null]) {
      bench.clock.advance(MINUTE);
      bench.upstream(job).generatedAt = new Date(bench.clock.now()).toISOString();
      const proof = await bench.mirror(job);
      expect(changes.of(bench.job(job), proof)).toEqual(expected);
      expect(changes.since(bench.job(job), expected ? (told?.lastSeq ?? 0) : seq)).toEqual(expected);
    }
  });

  it('is one transaction: where a row cannot be written, none is, and the quarantine stays', async () => {
    const { bench, keys } = await setupRefusing(1, 3);
    bench.tamper(
      `CREATE TRIGGER fails BEFORE INSERT ON _ai_signals_rows WHEN NEW._key = '${keys[1]}' BEGIN SELECT raise(ABORT, 'no'); END`,
    );
    expect(() => retryRefused(mended(bench), bench.store)).toThrow('no');
    expect(confidences(bench)).toEqual([]);
    expect(quarantined(bench).map(({ resolved }) => resolved)).toEqual([0, 0]);
    bench.tamper('DROP TRIGGER fails');
    expect(retryRefused(mended(bench), bench.store)).toMatchObject({ mirrored: 2 });
  });

  it('does not run beside a walk of the same job', async () => {
    const { bench } = await setupRefusing(1);
    const lock = tryLock(bench.dir, job);
    expect(() => retryRefused(mended(bench), bench.store)).toThrow(
      expect.objectContaining({
        kind: 'incomplete',
        message: expect.stringContaining(`process ${process.pid} is mirroring it`),
      }),
    );
    expect(confidences(bench)).toEqual([]);
    if ('release' in lock) lock.release();
    expect(retryRefused(mended(bench), bench.store)).toMatchObject({ mirrored: 1 });
  });
});
