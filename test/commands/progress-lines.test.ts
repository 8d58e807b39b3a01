import { expect, it } from 'vitest';
import { progressLines } from '../../src/commands/sync.ts';
import type { Progress } from '../../src/mirror.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';

const saved = { inserted: 100, updated: 0, quarantined: 0, drifted: 0 };

it('the pace is told once there is one, from where this run took up the walk', async () => {
  const clock = virtualClock();
  const written: string[] = [];
  const output = { write: (text: string) => written.push(text) };
  const lines = await progressLines(output as never, ['news'], clock);
  const page = (pages: number, rows: number) =>
    lines.page({ job: 'news', walk: { id: 1, pages, rows }, saved, callsLeft: 7 } as Progress);
  page(3, 300);
  clock.advance(4_000);
  page(4, 400);
  expect(written).toEqual([
    'news: 3 pages, 300 rows, 7 calls left\n',
    'news: 4 pages, 400 rows, 25 rows/s, 7 calls left\n',
  ]);
});
