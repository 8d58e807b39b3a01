import { afterAll, beforeAll, test } from 'vitest';
import { type Lived, openLived } from './lived.ts';
import { expectNoFaults } from './views.ts';

let lived: Lived;
beforeAll(async () => {
  lived = await openLived();
});
afterAll(() => lived.close());

const query = new URLSearchParams({
  sql: 'SELECT date(timestamp) AS day, count(*) AS signals FROM ai_signals GROUP BY 1',
});

test.each([
  ['walks', '/walks'],
  ['a walk', '/walks/1'],
  ['calls', '/calls'],
  ['problems', '/problems'],
  ['the editor of SQL', '/sql'],
  ['an answer', `/sql#${query}`],
  ['an address of nothing', '/walks/999999'],
])('%s can be read by everybody, on every screen', async (_, path) => {
  await expectNoFaults(lived, path);
});
