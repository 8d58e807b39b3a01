import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startedAs } from '../../src/commands.ts';
import { runMain } from '../helpers/main.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';

const run = (...args: string[]) => runMain(args, {}, virtualClock());
const { stdout: help } = await run('--help');
const commands = [...(help.split('To begin:')[1] ?? '').matchAll(/^ {2}([a-z][a-z-]+)/gm)]
  .map(([, name = '']) => name)
  .filter((name) => name !== 'help');

test('without a command the help is shown, and that is wrong usage', async () => {
  const { code, stdout, stderr } = await run();
  expect([code, stdout]).toEqual([64, '']);
  expect(stderr).toContain('To begin:');
});

test('the version is that of the package, with the commit that was built and the version of the database', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const { code, stdout } = await run('--version');
  expect([code, stdout.split(' ')[0]]).toEqual([0, version]);
  expect(stdout).toMatch(/^\S+ \(commit ([0-9a-f]{12}\+?|unknown), database \d+\)\n$/);
});

test.each(commands)(
  '%s has help, is listed with its arguments, and refuses an option that it does not know: 64',
  async (command) => {
    const { code, stdout, stderr } = await run(command, '--help');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(new RegExp(`^Usage: market-mirror ${command}\\b`));
    const [usage = ''] = stdout.split('\n');
    const listed = usage.replace('Usage: market-mirror ', '').replace(' [options]', '');
    expect(help.split('\n').map((line) => line.trim().split(/ {2,}/)[0])).toContain(listed);
    expect(await run(command, '--no-such-option')).toEqual({
      code: 64,
      stdout: '',
      stderr: `market-mirror: unknown option '--no-such-option'; see market-mirror ${command} --help\n`,
    });
  },
);

test.each([
  ['by npm or npx', '/x/node_modules/.bin/market-mirror', { npm_command: 'exec' }, 'npx market-mirror'],
  ['from the PATH', '/opt/bin/market-mirror', { PATH: '/bin:/opt/bin' }, 'market-mirror'],
  ['by its path', '/opt/bin/market-mirror', { PATH: '/bin' }, '/opt/bin/market-mirror'],
  ['by a path below this folder', '/home/me/bin/market-mirror', {}, './bin/market-mirror'],
  ['by node', '/home/me/dist/src/cli.js', {}, 'node dist/src/cli.js'],
  ['by node, elsewhere', '/srv/my mirror/dist/src/cli.js', {}, "node '/srv/my mirror/dist/src/cli.js'"],
])('hints name the program as it was started: %s', (_, file, environment, expected) => {
  expect(startedAs(file, '/home/me', environment)).toBe(expected);
});

test.each([
  [['snyc'], "unknown command 'snyc' (did you mean sync?); see market-mirror --help"],
  [['sync', '--jsno'], "unknown option '--jsno' (did you mean --json?); see market-mirror sync "],
  [['sync', 'signals'], "there is no job 'signals' (did you mean ai-signals?); known are ai-signals, "],
  [
    ['query', '--format', 'josn'],
    "--format is one of table, json, ndjson, csv, md, not 'josn' (did you mean json?)",
  ],
] as const)('a slip ends with exit code 64, and with the name that was meant %j', async (args, line) => {
  const { code, stdout, stderr } = await run(...args);
  expect([code, stdout]).toEqual([64, '']);
  expect(stderr).toMatch(/^market-mirror: [^\n]+\n$/);
  expect(stderr).toContain(line);
});
