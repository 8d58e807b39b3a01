/** The command lines of what measures. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { median } from '../../lab/figures.ts';
import { compiledFolder } from '../helpers/program-file.ts';

async function run(name: string, ...args: string[]) {
  // The campaign attacks the built program, which it finds from its own place in the sources.
  const program =
    name === 'campaign'
      ? ['--import', 'tsx', 'lab/campaign.ts']
      : [join(compiledFolder(), `dist/lab/${name}.js`)];
  const child = spawn(process.execPath, [...program, ...args]);
  const ended = once(child, 'exit');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: (await ended)[0], stdout, stderr };
}

test('npm run … -- --help prints the options of each tool', async () => {
  const tools = ['bench', 'soak', 'simulate'];
  const helps = await Promise.all(tools.map((name) => run(name, '--help')));
  for (const [at, { code, stdout }] of helps.entries()) {
    expect(stdout).toMatch(new RegExp(`^Usage: npm run ${tools[at]} -- \\[options\\]`));
    expect(code).toBe(0);
  }
});

test('what there is not is refused in one line, with 64', async () => {
  await Promise.all([
    expectRefused('bench', 'speed'),
    expectRefused('soak', '--lives=many'),
    expectRefused('campaign', '--attacks=kill,flood'),
    expectRefused('simulate', 'freshness', 'nonsense'),
  ]);
});

async function expectRefused(name: string, ...options: string[]) {
  const { code, stdout, stderr } = await run(name, ...options);
  expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
  expect(stderr).toMatch(/^error: .*\n$/);
}

test('a median is the value in the middle, whatever the order', () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([10, 9, 1, 2])).toBe(9);
  expect(median([])).toBeNaN();
});
