import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { startChild } from '../src/base/child.ts';
import { generalEnvironment } from '../src/base/environment.ts';
import { isAlive } from '../src/base/process-name.ts';
import { temporaryFolder } from './helpers/folder.ts';
import { nodeOfSources, sourceAddress } from './helpers/sources.ts';

/** The number that a process has written into the file; 0 before. */
const numberIn = (file: string) => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0);

/** A process that starts these scripts by a shell, to be killed. */
function parentOf(scripts: readonly string[], after = '') {
  const code = `
    import { startChild } from ${JSON.stringify(sourceAddress('base/child.ts'))};
    for (const script of ${JSON.stringify(scripts)}) {
      const { child } = startChild(['/bin/sh', '-c', script], { env: { PATH: process.env.PATH }, output: 'pipe' });
      ${after}
    }
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, [...nodeOfSources, '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void parent.kill('SIGKILL'));
  return parent;
}

test('a program that cannot be started for want of file descriptors is a failure of its caller alone', async () => {
  const code = `
    import { closeSync, openSync } from 'node:fs';
    import { startChild } from ${JSON.stringify(sourceAddress('base/child.ts'))};
    const open = [];
    let said = 'it was started';
    try {
      for (;;) open.push(openSync('/dev/null'));
    } catch {}
    try {
      startChild(['/bin/true'], { env: {}, output: 'pipe' });
    } catch (thrown) {
      said = thrown.message;
    }
    open.forEach(closeSync);
    setTimeout(() => console.log(said));`;
  const limited = ['-c', 'ulimit -n 100 && exec "$0" "$@"', process.execPath, ...nodeOfSources, '-e', code];
  const { stdout } = await promisify(execFile)('/bin/sh', limited);
  expect(stdout).toBe('no process can be started: too many open files\n');
});

test('programs end when their parent is killed by kill -9, with what they started, though they ignore SIGTERM', async () => {
  const dir = temporaryFolder();
  const programs = ['exec sleep 600', "trap '' TERM; while :; do sleep 1; done", 'sleep 600 & wait'];
  const files = programs.map((_, at) => join(dir, `${at}`));
  const parent = parentOf(programs.map((program, at) => `echo $$ > '${files[at]}'; ${program}`));
  await expect.poll(() => files.every((file) => numberIn(file) > 0)).toBe(true);
  const groups = files.map(numberIn);
  onTestFinished(() => {
    for (const group of groups) if (isAlive(group)) process.kill(-group, 'SIGKILL');
  });
  parent.kill('SIGKILL');
  const lives = (group: number) => {
    try {
      return process.kill(-group, 0);
    } catch {
      return false;
    }
  };
  await expect.poll(() => programs.filter((_, at) => lives(groups[at] ?? 0))).toEqual([]);
});

test('what a program leaves behind lives on when its parent is killed later', async () => {
  const file = join(temporaryFolder(), 'pid');
  const parent = parentOf(
    [`sleep 600 > /dev/null 2>&1 & echo $! > '${file}'`],
    "child.once('exit', () => setImmediate(() => process.stdout.write('ended')));",
  );
  await once(parent.stdout ?? parent, 'data');
  const left = numberIn(file);
  onTestFinished(() => void process.kill(left, 'SIGKILL'));
  parent.kill('SIGKILL');
  await once(parent, 'exit');
  expect(isAlive(left)).toBe(true);
});

test('a child tells how it ended, and a Ctrl-C for us does not reach it', async () => {
  const { child } = startChild(['/bin/sh', '-c', 'ps -o pgid= -p $$; exit 7'], {
    env: generalEnvironment(),
    output: 'pipe',
  });
  const written = child.stdout.setEncoding('utf8').toArray();
  expect(await once(child, 'exit')).toEqual([7, null]);
  expect(Number((await written).join(''))).toBe(child.pid);
});
