import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isLock, type Lock, tryLock } from '../../../src/store/index.ts';
import { nodeOfSources, sourceAddress } from '../../helpers/sources.ts';

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'mm-lock-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

test('a lock is held by one at a time, whoever asks', () => {
  const dir = folder();
  const first = tryLock(dir, 'news');
  expect(isLock(first)).toBe(true);
  expect(tryLock(dir, 'news')).toEqual({ holder: process.pid });
  expect(isLock(tryLock(dir, 'usage'))).toBe(true);
  (first as Lock).release();
  expect(isLock(tryLock(dir, 'news'))).toBe(true);
});

test('a lock falls when its holder is killed, and a holder that is only paused keeps it', async () => {
  const dir = folder();
  const script = `
    import { tryLock } from ${JSON.stringify(sourceAddress('store/index.ts'))};
    globalThis.kept = tryLock(${JSON.stringify(dir)}, 'news');
    process.stdout.write('held');
    setInterval(() => {}, 1000);`;
  const holder = spawn(process.execPath, [...nodeOfSources, '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
  holder.kill('SIGSTOP');
  expect(tryLock(dir, 'news')).toEqual({ holder: holder.pid });
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  expect(isLock(tryLock(dir, 'news'))).toBe(true);
});
