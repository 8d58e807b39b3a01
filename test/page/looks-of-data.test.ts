import { afterAll, beforeAll, test } from 'vitest';
import { type Lived, openLived } from './lived.ts';
import { expectNoFaults } from './views.ts';

let lived: Lived;
beforeAll(async () => {
  lived = await openLived();
});
afterAll(() => lived.close());

test.each([
  ['the overview', () => '/'],
  ['the overview of a past', () => `/?at=${lived.before}`],
  ['a specified dataset', () => '/datasets/ai-signals'],
  ['a discovered dataset', () => '/datasets/news'],
  ['what was removed', () => '/datasets/ai-signals?show=removed'],
  ['a chart', () => '/datasets/ai-signals?show=chart&value=confidence'],
  ['the life of a row', () => `/datasets/ai-signals/rows/${lived.changed}`],
])('%s can be read by everybody, on every screen', async (_, path) => {
  await expectNoFaults(lived, path());
});
