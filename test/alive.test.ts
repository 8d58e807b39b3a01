import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { isAlive } from '../src/alive.ts';

test('a process lives until it has ended', () => {
  expect(isAlive(process.pid)).toBe(true);
  expect(isAlive(spawnSync('true').pid)).toBe(false);
});

// A file that was torn by a power cut may hold any of these; for kill(2) some mean a group of processes, or all.
test.each([0, -1, -process.pid, Number.NaN, 2 ** 40])('%d is the number of no process', (pid) => {
  expect(isAlive(pid)).toBe(false);
});
