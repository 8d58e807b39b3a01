import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { declaredMetrics, isOurs } from './declared.ts';
import { setupWatched } from './support.ts';

test('docs/serve.md describes every figure as the code does, and no other', () => {
  const listed = readFileSync('docs/serve.md', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `market_mirror_'));
  const rows = declaredMetrics()
    .filter(isOurs)
    .map(({ name, type, labels, help }) => {
      const named = labels.map((label) => `\`${label}\``).join(', ');
      return `| \`${name}\` | ${type} | ${named} | ${help} |`;
    });
  expect(listed).toEqual(rows);
});

test('the service tells what is declared, and nothing else', async () => {
  const { read } = await setupWatched({ walked: [] });
  const told = [...(await read()).matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]);
  expect(new Set(told.map(String))).toEqual(
    new Set(declaredMetrics().map(({ name, type }) => String([name, type]))),
  );
});
