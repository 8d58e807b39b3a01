import { describe, expect, it } from 'vitest';
import { type Fault, faults } from '../../model-api/index.ts';
import { fetchRaw, spoiled } from './spoil.ts';
import { openModel } from './support.ts';

describe('a page', () => {
  const rows = (count: number) => ({
    asymmetricMatch: (sent: unknown) => Array.isArray(sent) && sent.length === count,
  });

  it.each<[string, Fault, Record<string, unknown>]>([
    [
      'is short',
      faults.shortPage(3),
      { rows: rows(3), pagination: { offset: 20, limit: 20, total: 120, returned: 3, hasMore: true } },
    ],
    [
      'is empty and promises more',
      faults.emptyPageWithMore(),
      { rows: [], pagination: { returned: 0, hasMore: true } },
    ],
    ['miscounts its rows', faults.returnedOff(-2), { rows: rows(20), pagination: { returned: 18 } }],
    [
      'ends too early',
      faults.pagination({ hasMore: false }),
      { rows: rows(20), pagination: { hasMore: false } },
    ],
    [
      'ignores the limit',
      faults.limitIgnored(7),
      { rows: rows(7), pagination: { offset: 20, limit: 7, returned: 7 } },
    ],
    [
      'ignores the offset',
      faults.offsetIgnored(),
      { rows: rows(20), pagination: { offset: 0, limit: 20, hasMore: true } },
    ],
    [
      'echoes another window',
      faults.pagination({ offset: 19, limit: 99 }),
      { rows: rows(20), pagination: { offset: 19, limit: 99 } },
    ],
    ['has a wrong total', faults.pagination({ total: 7 }), { pagination: { total: 7 } }],
    ['has a total that grows', faults.changingTotal(), { pagination: { total: 121 } }],
    [
      'says it comes from elsewhere',
      faults.members({ source: 'live', mode: 'write' }),
      { source: 'live', mode: 'write' },
    ],
    [
      'has its rows under another name',
      faults.rowsNamed('items'),
      { items: rows(20), pagination: { returned: 20 } },
    ],
    ['lies one level below', faults.nestedUnder('data'), { data: { rows: rows(20) } }],
  ])('%s', async (_, fault, expected) => {
    expect((await spoiled(fault)).json()).toMatchObject(expected);
  });

  it('has no pagination, or a part of it, or nothing but rows', async () => {
    expect((await spoiled(faults.withoutPagination())).json()).not.toHaveProperty('pagination');
    const { json } = await spoiled(faults.withoutPagination('total', 'offset'));
    expect(json()['pagination']).toEqual({ limit: 20, returned: 20, hasMore: true });
    expect((await spoiled(faults.bareArray())).json()).toEqual(rows(20));
  });

  it('never ends', async () => {
    const { json } = await spoiled(faults.pagination({ hasMore: true }), '/api/v1/news?offset=1000');
    expect(json()).toMatchObject({ rows: [], pagination: { hasMore: true } });
  });

  it('has rows that break the contract, while the data stays as it was', async () => {
    const model = await openModel();
    const before = structuredClone(model.data.aiSignals.rows);
    const firstRow = async (...spoil: Fault[]) => {
      model.faults = [() => spoil];
      const { bytes } = await fetchRaw(model, '/api/v1/ai-signals');
      return JSON.parse(bytes.toString()).rows[0];
    };
    expect(await firstRow(faults.extraProperty('mood', 'good'))).toEqual({ ...before[0], mood: 'good' });
    expect(await firstRow(faults.missingProperty('asset'))).not.toHaveProperty('asset');
    expect(await firstRow(faults.editRow((row) => ({ ...row, confidence: 'high' })))).toHaveProperty(
      'confidence',
      'high',
    );
    const renamed = await firstRow(
      faults.extraProperty('mood', 'good'),
      faults.editRows((all) => all.map((row) => Object.assign(row, { asset: 'X' }))),
    );
    expect(renamed).toEqual({ ...before[0], mood: 'good', asset: 'X' });
    model.faults = [() => faults.duplicateRow()];
    await fetchRaw(model, '/api/v1/ai-signals');
    const { rowIds } = model.calls.at(-1) ?? { rowIds: [] };
    expect([rowIds.length, new Set(rowIds).size, rowIds.at(-1)]).toEqual([50, 49, before[0]?.['id']]);
    expect(model.data.aiSignals.rows).toEqual(before);
  });

  it('shows signals that age while they stand still', async () => {
    let now = 0;
    const model = await openModel({ now: () => now, faults: [() => faults.ageing()] });
    const made = Date.parse(String(model.data.aiSignals.rows[0]?.['timestamp']));
    const qualities = [];
    for (const age of [10, 2_000, 4_000]) {
      now = made + age * 1_000;
      const { bytes } = await fetchRaw(model, '/api/v1/ai-signals?limit=1');
      qualities.push(JSON.parse(bytes.toString()).rows[0].quality);
    }
    expect(qualities).toMatchObject([
      { ageSeconds: 10, freshness: 'live' },
      { ageSeconds: 2_000, freshness: 'delayed' },
      { ageSeconds: 4_000, freshness: 'stale' },
    ]);
  });

  it('leaves refusals alone', async () => {
    const model = await openModel({ keys: [], faults: [() => faults.emptyPageWithMore()] });
    expect((await fetchRaw(model, '/api/v1/news')).status).toBe(401);
  });
});
