import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runMain } from '../helpers/main.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';

const run = (...args: string[]) => runMain(args, {}, virtualClock());
const { stdout: help } = await run('--help');
const commands = [...(help.split('Commands:')[1] ?? '').matchAll(/^ {2}([a-z-]+)/gm)]
  .map(([, name = '']) => name)
  .filter((name) => name !== 'help');

test('without a command the help is shown, and that is wrong usage', async () => {
  const { code, stdout, stderr } = await run();
  expect([code, stdout]).toEqual([64, '']);
  expect(stderr).toContain('Commands:');
});

test('the version is that of the package', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(await run('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});

describe.each(commands)('%s', (command) => {
  test('has help', async () => {
    const { code, stdout, stderr } = await run(command, '--help');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(new RegExp(`^Usage: market-mirror ${command}\\b`));
  });

  test('stands in the README', () => {
    expect(readFileSync('README.md', 'utf8')).toMatch(new RegExp(`^\\| \`${command}\\b`, 'm'));
  });

  test('refuses an option that it does not know with exit code 64', async () => {
    const { code, stdout, stderr } = await run(command, '--no-such-option');
    expect([code, stdout]).toEqual([64, '']);
    expect(stderr).toBe("market-mirror: unknown option '--no-such-option'; see --help\n");
  });
});

test('the README knows no command that there is not', () => {
  const [, table = ''] = readFileSync('README.md', 'utf8').split('## Commands');
  const named = [...(table.split('\n## ')[0] ?? '').matchAll(/^\| `([a-z-]+)/gm)].map(([, name]) => name);
  expect(named.sort()).toEqual([...commands].sort());
});

test('an unknown command is named, with one that is near, and ends with exit code 64', async () => {
  const { code, stdout, stderr } = await run('snyc');
  expect([code, stdout]).toEqual([64, '']);
  expect(stderr).toBe("market-mirror: unknown command 'snyc' (Did you mean sync?); see --help\n");
});

test('an unknown job is named, with those that are known, and ends with exit code 64', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mirror-help-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const settings = { MARKET_API_URL: 'http://127.0.0.1:9', MARKET_API_KEY: 'k-1234', MIRROR_DIR: folder };
  const { code, stderr } = await runMain(['sync', 'signals'], settings, virtualClock());
  expect(code).toBe(64);
  expect(stderr).toMatch(/^market-mirror: there is no job 'signals'; known are ai-signals, .*usage\n$/);
});
