/** The examples of every command's help, run as they stand there. */

import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { listenOnLoopback } from '../helpers/loopback.ts';
import { runMain } from '../helpers/main.ts';
import { postgres } from '../helpers/postgres.ts';
import { CANARY, setupSync } from '../helpers/sync-bench.ts';

import { virtualClock } from '../helpers/virtual-clock.ts';

const help = async (...args: string[]) => (await runMain([...args, '--help'], {}, virtualClock())).stdout;
const commands = [...(await help()).matchAll(/^ {2}([a-z][a-z-]+)\b.* {2}/gm)].map(([, name = '']) => name);
const examples = await Promise.all(
  commands.map(async (command) => {
    const lines = [...(await help(command)).matchAll(/^ {2}\$ market-mirror (.*)$/gm)];
    return { command, lines: lines.map(([, line = '']) => line) };
  }),
);

const THREE_HOURS_MS = 3 * 3_600_000;

/** These run until they are ended, with a Redis and a mirror or a port of their own. */
const endless = ['start', 'demo', 'serve', 'serve --port 8080'];
/** Tried where one of those runs (keys.test.ts). */
const besideThem = ['keys page'];

test('every command shows how it is used', () => {
  expect(commands).toContain('doctor');
  const silent = examples.filter(({ command, lines }) => command !== 'help' && lines.length === 0);
  expect(silent).toEqual([]);
});

test('what help shows works as it is shown', async () => {
  // Some of them look back by hours.
  const { sync, environment, clock, cwd } = await setupSync(
    { rows: 12 },
    virtualClock(Date.now() - THREE_HOURS_MS),
  );
  const home = process.cwd();
  process.chdir(cwd);
  onTestFinished(() => process.chdir(home));
  writeFileSync('market-api.key', CANARY, { mode: 0o600 });
  await sync();
  clock.advance(THREE_HOURS_MS);
  await sync();
  const { url: MIRROR_SHIP } = await postgres();
  const { url: MIRROR_NOTIFY, close } = await listenOnLoopback(createServer((_, answer) => answer.end()));
  onTestFinished(close);
  cpSync(join(home, 'deploy/reports'), 'examples', { recursive: true });
  const others = { MIRROR_SHIP, MIRROR_LAKE: 'lake', MIRROR_REPORTS: 'examples', MIRROR_NOTIFY };

  for (const line of examples.flatMap(({ lines }) => lines)) {
    if ([...endless, ...besideThem].includes(line)) continue;
    // What would run on and on ends at once.
    const signal = /^model-api|--watch/.test(line) ? AbortSignal.abort() : undefined;
    const settings = line.startsWith('init') ? {} : { ...environment, ...others };
    // Another program may listen on its own port.
    const words = [...wordsOf(line), ...(line.startsWith('model-api') ? ['--port', '0'] : [])];
    const { code, stdout, stderr } = await runMain(words, settings, clock, signal);
    expect([line, code, stderr]).toEqual([line, 0, expect.not.stringContaining('market-mirror: ')]);
    expect(stdout + stderr).not.toContain(CANARY);
    const [, file] = /(?:-o|backup) (\S+)/.exec(line) ?? [];
    if (file) expect(existsSync(file), line).toBe(true);
    rmSync('.env', { force: true });
  }
});

/** As a shell would take the line apart; where it sends the output is left to shells. */
function wordsOf(line: string): string[] {
  const words = line.replace(/ > .*/, '').match(/"[^"]*"|[^\s"]+/g) ?? [];
  return words.map((word) => word.replace(/^"|"$/g, ''));
}
