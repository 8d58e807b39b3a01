import { expect, test } from 'vitest';
import { declaredMetrics } from '../../../scripts/docs/pages.ts';
import { setupWatched } from './support.ts';

test('the service tells what is declared, and nothing else', async () => {
  const { read } = await setupWatched({ walked: [] });
  const told = [...(await read()).matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]);
  expect(new Set(told.map(String))).toEqual(
    new Set(declaredMetrics().map(({ name, type }) => String([name, type]))),
  );
});
