import { describe, expect, it } from 'vitest';
import { missedRowsTable } from '../../lab/soak/missed-rows.ts';

describe('the figures of docs/reliability.md', () => {
  it('show that the bare rule misses rows, and that no proof of ours does where the order is kept', async () => {
    const [, , ...lines] = (await missedRowsTable(20_000, 1)).split('\n');
    const cells = lines.map((line) => line.split(' | '));
    const missed = (column: number) => cells.filter((row) => row[column] !== '0').length;
    expect(missed(2)).toBeGreaterThan(8);
    expect(cells.filter((row) => row.length !== 11)).toEqual([]);
  });
});
