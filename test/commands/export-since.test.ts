import { describe, expect, it } from 'vitest';
import { isoTime } from '../../src/clock.ts';
import { runMain } from '../helpers/main.ts';
import { ndjson, publish, readyToExport as ready } from '../reading/export-support.ts';

describe('--since', () => {
  it('gives what came, changed and went, and adds up to the dataset as it stands', async () => {
    const { bench, run } = await ready(8);
    const signals = bench.upstream('ai-signals');
    const copy = new Map<unknown, Record<string, unknown>>();
    let cursor = '0';
    const seen: string[][] = [];
    const readOn = async () => {
      const rows = ndjson((await run('ai-signals', '--since', cursor, '--format', 'ndjson')).stdout);
      for (const { _change, _seq, ...row } of rows) {
        if (_change === 'delete') copy.delete(row['id']);
        else copy.set(row['id'], row);
        cursor = String(_seq);
      }
      seen.push(rows.map(({ _change }) => String(_change)).sort());
    };
    await readOn();
    Object.assign(signals.rows[1] ?? {}, { status: 'closed' });
    signals.rows.unshift(...signals.make(1));
    signals.rows.splice(5, 1);
    for (let walk = 0; walk < 2; walk += 1) {
      publish(bench);
      await bench.mirror('ai-signals');
    }
    await readOn();
    await readOn();
    expect(seen).toEqual([Array(8).fill('insert'), ['delete', 'insert', 'update'], []]);
    expect([...copy.values()].sort((a, b) => String(a['id']).localeCompare(String(b['id'])))).toEqual(
      bench.sql('SELECT * FROM ai_signals').sort((a, b) => String(a['id']).localeCompare(String(b['id']))),
    );
  });

  it("goes on from a receipt's seq, or from a time", async () => {
    const { bench, run, place, receiptOf } = await ready(4);
    await run('ai-signals', '-o', place('one.ndjson'));
    Object.assign(bench.upstream('ai-signals').rows[0] ?? {}, { status: 'closed' });
    publish(bench);
    await bench.mirror('ai-signals');
    const changed = async (since: string) =>
      ndjson((await run('ai-signals', '--since', since, '--format', 'ndjson')).stdout).map(
        ({ _change }) => _change,
      );
    expect(await changed(String(receiptOf('one.ndjson').seq))).toEqual(['update']);
    expect(await changed('2026-11-21T12:00:30Z')).toEqual(['update']);
    expect(await changed('1m')).toEqual(['update']);
    expect(await changed('2026-11-21')).toEqual(['insert', 'insert', 'insert', 'insert']);
  });

  it('tells nothing of what came and went again meanwhile', async () => {
    const { bench, run } = await ready(4);
    const signals = bench.upstream('ai-signals');
    signals.rows.unshift(...signals.make(1));
    publish(bench);
    await bench.mirror('ai-signals');
    signals.rows.shift();
    for (let walk = 0; walk < 2; walk += 1) {
      publish(bench);
      await bench.mirror('ai-signals');
    }
    const { stdout } = await run('ai-signals', '--since', '2026-11-21T12:00:30Z', '--format', 'ndjson');
    expect(stdout).toBe('');
  });

  it("goes on from a receipt's seq after the clock was put back", async () => {
    const { bench, run, place, receiptOf } = await ready(4);
    await run('ai-signals', '-o', place('one.ndjson'));
    const { seq } = receiptOf('one.ndjson');
    bench.clock.advance(-3_600_000);
    Object.assign(bench.upstream('ai-signals').rows[0] ?? {}, { status: 'closed' });
    bench.upstream('ai-signals').generatedAt = isoTime(seq + 1);
    await bench.mirror('ai-signals');
    const { stdout, stderr } = await run('ai-signals', '--since', String(seq), '--format', 'ndjson');
    expect([stderr, ndjson(stdout).map(({ _change }) => _change)]).toEqual(['', ['update']]);
    const { code } = await run('ai-signals', '--since', String(seq + 3_600_000));
    expect(code).toBe(64);
  });

  it('is refused, too, where what it needs is dropped while it begins: 64', async () => {
    const { bench } = await ready(4);
    Object.assign(bench.upstream('ai-signals').rows[0] ?? {}, { status: 'closed' });
    publish(bench);
    await bench.mirror('ai-signals');
    const since = isoTime(bench.clock.now() - 30_000);
    let looks = 0;
    const now = () => {
      looks += 1;
      if (looks === 2) {
        bench.tamper('DELETE FROM ai_signals_history_rows');
        bench.tamper(`UPDATE datasets SET history_from = '${isoTime(bench.clock.now())}'`);
      }
      return bench.clock.now();
    };
    const environment = { MIRROR_DIR: bench.dir };
    const { code, stderr } = await runMain(['export', 'ai-signals', '--since', since], environment, {
      ...bench.clock,
      now,
    });
    expect(looks).toBeGreaterThan(1);
    expect([code, stderr]).toEqual([64, expect.stringContaining('changes of ai_signals up to')]);
  });

  it('of snapshots gives the new ones', async () => {
    const { bench, run } = await ready(1);
    await bench.mirror('usage');
    bench.clock.advance(60_000);
    await bench.mirror('usage');
    const { stdout } = await run('usage', '--since', '30s', '--format', 'ndjson');
    expect(ndjson(stdout)).toMatchObject([{ _change: 'insert', _key: expect.stringContaining('12:01') }]);
  });
});
