import { afterAll, beforeAll, expect, test } from 'vitest';
import { openOnce } from '../../lab/bench/page/first-view.ts';
import { openSight, type Sight } from './support.ts';

let sight: Sight;
beforeAll(async () => {
  sight = await openSight({ rows: 1_000 });
});
afterAll(() => sight.close());

test('the first view is traced; `npm run bench -- page` judges what is only printed here', async () => {
  const { usableMs, longestTaskMs } = await openOnce(sight.browser, sight.url);
  process.stdout.write(
    `first view: usable after ${usableMs.toFixed(0)} ms, longest task ${longestTaskMs.toFixed(0)} ms\n`,
  );
  // Of a page that does nothing there would be no tasks, and of one that hangs no end.
  expect(usableMs).toBeLessThan(30_000);
  expect(longestTaskMs).toBeGreaterThan(0);
});
