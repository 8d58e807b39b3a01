import { describe, expect, it } from 'vitest';
import { datasetNames, liveEdit, seededRandom } from '../../model-api/index.ts';
import { openModel } from './support.ts';

describe('sample data', () => {
  it('is the same for the same seed, and another for another', async () => {
    const [one, same, other] = await Promise.all([7, 7, 8].map((seed) => openModel({ seed, rows: 40 })));
    expect(one?.data).toMatchObject(JSON.parse(JSON.stringify(same?.data)));
    for (const name of datasetNames) expect(one?.data[name].rows[0]).not.toEqual(other?.data[name].rows[0]);
  });

  it('never uses an id twice, in rows made later neither', async () => {
    const model = await openModel({ rows: 3_000 });
    for (const name of datasetNames) {
      const dataset = model.data[name];
      const ids = [...dataset.rows, ...dataset.make(500)].map((row) => row[dataset.idField]);
      expect(new Set(ids).size).toBe(3_500);
    }
  });
});

describe('a living dataset', () => {
  it('sees rows come, change and go while its size stays about the same', async () => {
    const model = await openModel({ rows: 100 });
    const random = seededRandom(5);
    for (const name of datasetNames) {
      const dataset = model.data[name];
      const before = new Map(dataset.rows.map((row) => [row[dataset.idField], row]));
      for (let edit = 0; edit < 60; edit++) liveEdit(dataset, random, Date.UTC(2026, 0, 1));
      const after = new Map(dataset.rows.map((row) => [row[dataset.idField], row]));
      const kept = [...after].filter(([id]) => before.has(id));
      expect(after.size).toBe(dataset.rows.length);
      expect(Math.abs(after.size - 100)).toBeLessThan(15);
      expect(after.size - kept.length).toBeGreaterThan(15);
      expect(kept.filter(([id, row]) => row !== before.get(id)).length).toBeGreaterThan(5);
    }
  });
});
