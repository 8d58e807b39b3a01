import { expect, test } from 'vitest';
import { setup } from '../helpers/setup.ts';

const DAY_MS = 24 * 3_600_000;

test('calls are remembered for ninety days, and forgotten when a walk ends after that', async () => {
  const { mirror, clock, sql } = await setup({ rows: 10 });
  const days = () =>
    sql<{ at: string }>('SELECT at FROM requests ORDER BY id').map(({ at }) => at.slice(0, 10));
  await mirror('usage');
  clock.advance(60 * DAY_MS);
  await mirror('usage');
  expect(days()).toEqual(['2026-11-21', '2027-01-20']);
  clock.advance(31 * DAY_MS);
  await mirror('usage');
  expect(days()).toEqual(['2027-01-20', '2027-02-20']);
});
