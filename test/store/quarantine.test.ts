import { describe, expect, it } from 'vitest';
import { faults } from '../../model-api/index.ts';
import { retryRefused } from '../../src/mirror.ts';
import { change, remove } from '../helpers/edits.ts';
import { setup } from '../helpers/setup.ts';
import { mended, quarantined, setupRefusing } from './refusing.ts';
import { setupRows } from './support.ts';

const MINUTE = 60_000;
const job = 'ai-signals';

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

  it('is counted when it comes again, and forgotten by none that came before', async () => {
    const { bench, keys } = await setupRefusing(1);
    bench.clock.advance(MINUTE);
    await bench.mirror(job);
    const [row] = bench.sql<{ first: string; last: string }>(
      'SELECT first_seen_at AS first, last_seen_at AS last FROM quarantine',
    );
    expect(Date.parse(row?.last ?? '') - Date.parse(row?.first ?? '')).toBeGreaterThanOrEqual(MINUTE);
    expect(quarantined(bench)).toEqual([{ key: keys[0], times: 2, resolved: 0 }]);
  });

  it('leaves the row that is mirrored under its key where it is', async () => {
    const bench = await setup({ rows: 5 });
    await bench.mirror(job);
    change(1, { confidence: 'high' })(bench.upstream(job));
    for (let walk = 0; walk < 3; walk += 1) await bench.mirror(job);
    expect(bench.sql('SELECT count(*) AS rows FROM ai_signals')).toEqual([{ rows: 5 }]);
  });

  it('is resolved once it comes and fits', async () => {
    const { bench, keys } = await setupRefusing(1, 2);
    change(1, { confidence: 0.5 })(bench.upstream(job));
    await bench.mirror(job);
    expect(quarantined(bench)).toEqual([
      { key: keys[0], times: 1, resolved: 1 },
      { key: keys[1], times: 2, resolved: 0 },
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

  it('is known again without a key by all that its contract does not call volatile', async () => {
    const bench = await setup({ rows: 5 });
    const { rows } = bench.upstream(job);
    for (const place of [1, 2]) change(place, { id: 7 })(bench.upstream(job));
    for (let walk = 0; walk < 3; walk += 1) {
      for (const row of rows) Object.assign(row['quality'] as object, { ageSeconds: walk * 60 });
      await bench.mirror(job);
      bench.clock.advance(24 * 60 * MINUTE);
    }
    expect(quarantined(bench)).toEqual([
      { key: null, times: 3, resolved: 0 },
      { key: null, times: 3, resolved: 0 },
    ]);
  });

  it('is known again without a key and a contract by its texts, and counted among those that look alike', async () => {
    const bench = await setupRows();
    const row = (title: string, votes: number, at: string) =>
      `{"title":"${title}","text":"\\ud800","votes":${votes},"price":"${votes}.5","at":"${at}"}`;
    for (let walk = 0; walk < 3; walk += 1) {
      const at = `2026-01-0${walk + 1}T00:00:00Z`;
      await bench.mirrorRows(
        'news',
        `{"id":1,"title":"fits"}`,
        ...[row('one', walk, at), row('one', walk + 7, at), row('two', walk, at)],
      );
    }
    expect(quarantined(bench)).toEqual(Array(3).fill({ key: null, times: 3, resolved: 0 }));
    await bench.mirrorRows('news', `{"id":1,"title":"fits"}`);
    expect(quarantined(bench)).toEqual(Array(3).fill({ key: null, times: 3, resolved: 1 }));
  });

  it('is known by its text where it shows no key', async () => {
    const bench = await setupRows();
    await bench.mirrorRows('news', '{"id":1}', '5', '"x"', '5');
    expect(quarantined(bench)).toEqual([
      { key: null, times: 2, resolved: 0 },
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

  it('is not one of which no row further down fits: those are refused, the rest is mirrored', async () => {
    const bench = await setup({ rows: 350 });
    for (const row of bench.upstream(job).rows.slice(100, 250)) row['confidence'] = 'high';
    expect(await bench.mirror(job)).toMatchObject({ verdict: 'snapshot', inserted: 200, quarantined: 150 });
  });

  it('is halted where it is a snapshot that no table can hold', async () => {
    const bench = await setupRows();
    await expect(bench.mirrorRows('usage', `${'['.repeat(1_200)}${']'.repeat(1_200)}`)).rejects.toMatchObject(
      { exitCode: 65 },
    );
    expect(bench.sql('SELECT * FROM usage')).toEqual([]);
    expect(bench.sql('SELECT job FROM quarantine')).toEqual([{ job: 'usage' }]);
  });
});
