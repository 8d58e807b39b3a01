import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isoTime, systemClock } from '../../src/base/clock.ts';
import { isAlive } from '../../src/base/process-name.ts';
import { keepServing, type Timing } from '../../src/daemon/service.ts';
import type { Trouble } from '../../src/reading/status.ts';
import { temporaryFolder } from '../helpers/folder.ts';

const quick: Timing = { firstMs: 8, longestMs: 40, hopelessMs: 77, steady: 60_000, grace: 10_000 };

/** A child that runs `script`, or a program of its own, in place of the service; time stands still but for pauses. */
function child(
  script: string | readonly string[],
  timing: Partial<Timing> = quick,
  sleep: typeof systemClock.sleep = systemClock.sleep,
) {
  const folder = temporaryFolder();
  const troubles: (Trouble | null)[] = [];
  const said: string[] = [];
  const hear = (_: unknown, text: string) => void said.push(text);
  const service = keepServing({
    dir: folder,
    environment: { PATH: process.env['PATH'], MARKET_API_KEY: 'canary', REDIS_URL: 'redis://canary' },
    clock: { ...systemClock, now: () => 0, sleep },
    random: () => 1,
    log: { info: hear, warn: hear, error: hear } as never,
    onProblem: (problem) => troubles.push(problem),
    program:
      typeof script !== 'string'
        ? script
        : [
            process.execPath,
            '-e',
            `const { appendFileSync } = require('node:fs'); const note = (text) => appendFileSync('${folder}/notes', text + '\\n');
       note(String(process.pid)); ${script}`,
          ],
    timing,
  });
  onTestFinished(service.end);
  const notes = () => {
    try {
      return readFileSync(join(folder, 'notes'), 'utf8').trim().split('\n');
    } catch {
      return [];
    }
  };
  return { ...service, folder, troubles, said, notes };
}

const pauses = (troubles: readonly (Trouble | null)[]) =>
  troubles.map((trouble) => trouble && Date.parse(trouble.nextTry));

const listens =
  "process.send({ serving: 'http://localhost:1' }); process.on('disconnect', () => process.exit());";

test('one that ends is started again, after longer and longer pauses up to a bound, and said once', async () => {
  const { troubles, said, end } = child(['/bin/sh', '-c', 'exit 70']);
  await expect.poll(() => troubles.length).toBeGreaterThanOrEqual(5);
  await end();
  expect(pauses(troubles).slice(0, 5)).toEqual([8, 16, 32, 40, 40]);
  expect(troubles[0]).toEqual({
    message: 'it was ended with exit code 70; the log may say why',
    since: isoTime(0),
    nextTry: isoTime(8),
  });
  expect(said).toEqual([expect.stringMatching(/^the service does not run: .*; mirroring goes on$/)]);
});

test('what trying again does not mend is tried rarely, and named', async () => {
  const { troubles } = child(`process.send({ failed: 'the certificate is gone' }); process.exitCode = 78`);
  await expect.poll(() => troubles).toHaveLength(1);
  expect(troubles[0]).toMatchObject({ message: 'the certificate is gone', nextTry: isoTime(77) });
});

test.each([
  ['is not there', 'ENOENT', '/nowhere/node', ''],
  ['the system refuses to start', 'E2BIG', process.execPath, 'x'.repeat(2 ** 22)],
])('one that %s is tried again: %s', async (_, code, file, argument) => {
  const troubles: unknown[] = [];
  const service = keepServing({
    dir: tmpdir(),
    environment: {},
    clock: systemClock,
    random: Math.random,
    log: { info() {}, warn() {}, error() {} } as never,
    onProblem: (problem) => troubles.push(problem),
    program: [file, argument],
    timing: quick,
  });
  onTestFinished(service.end);
  await expect.poll(() => troubles.length).toBeGreaterThanOrEqual(2);
  expect(troubles[0]).toMatchObject({ message: expect.stringContaining(code) });
});

test('once it listens, nothing keeps it from running any more', async () => {
  const { troubles, said, notes } = child(listens);
  await expect.poll(() => troubles).toEqual([null]);
  process.kill(Number(notes()[0]), 'SIGKILL');
  await expect.poll(() => troubles).toHaveLength(3);
  expect(troubles[1]).toMatchObject({ message: 'it was ended by SIGKILL; the log may say why' });
  expect(troubles[2]).toBeNull();
  expect(said.at(-1)).toBe('the service runs again');
});

test('it ends with the daemon, and is killed where it does not', async () => {
  const well = child(`process.on('SIGTERM', () => { note('asked'); process.exit() }); ${listens}`);
  await expect.poll(() => well.troubles).toEqual([null]);
  await well.end();
  expect(well.notes()[1]).toBe('asked');
  const deaf = child(`process.on('SIGTERM', () => undefined); ${listens}`, { ...quick, grace: 50 });
  await expect.poll(() => deaf.troubles).toEqual([null]);
  const pid = Number(deaf.notes()[0]);
  await deaf.end();
  expect(isAlive(pid)).toBe(false);
});
