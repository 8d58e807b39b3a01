import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { holderNote, livingHolder } from '../../src/store/read.ts';
import { isLock, type Lock, tryLock } from '../../src/store.ts';
import { temporaryFolder } from '../helpers/folder.ts';
import { nodeOfSources, sourceAddress } from '../helpers/sources.ts';

test('a lock is held by one at a time, whoever asks', () => {
  const dir = temporaryFolder();
  const first = tryLock(dir, 'news');
  expect(isLock(first)).toBe(true);
  expect(tryLock(dir, 'news')).toEqual({ holder: process.pid });
  expect(isLock(tryLock(dir, 'usage'))).toBe(true);
  (first as Lock).release();
  expect(isLock(tryLock(dir, 'news'))).toBe(true);
});

/** A process that takes the lock `news` of the folder and leaves a note beside it. */
async function holderOf(dir: string) {
  const script = `
    import { tryLock } from ${JSON.stringify(sourceAddress('store.ts'))};
    globalThis.kept = tryLock(${JSON.stringify(dir)}, 'news');
    globalThis.kept.note('Redis is away');
    process.stdout.write('held');
    setInterval(() => {}, 1000);`;
  const holder = spawn(process.execPath, [...nodeOfSources, '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
  return holder;
}

test('a holder keeps its lock while it is paused, and holds and says nothing once it was killed, whoever has its number then', async () => {
  const dir = temporaryFolder();
  const holder = await holderOf(dir);
  expect([livingHolder(dir, 'news'), holderNote(dir, 'news')]).toEqual([holder.pid, 'Redis is away']);
  holder.kill('SIGSTOP');
  expect(tryLock(dir, 'news')).toEqual({ holder: holder.pid });
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  // After a restart of the machine, or in a container, its number is soon that of another process: of this one here.
  writeFileSync(join(dir, 'locks/news.pid'), `${process.pid}\n`);
  expect([livingHolder(dir, 'news'), holderNote(dir, 'news')]).toEqual([null, null]);
  expect(isLock(tryLock(dir, 'news'))).toBe(true);
  expect([livingHolder(dir, 'news'), holderNote(dir, 'news')]).toEqual([process.pid, null]);
});

test('who only looks keeps nobody from a lock', async () => {
  const dir = temporaryFolder();
  (tryLock(dir, 'news') as Lock).release();
  const script = `
    import { livingHolder } from ${JSON.stringify(sourceAddress('store/read.ts'))};
    process.stdout.write('looks');
    for (;;) livingHolder(${JSON.stringify(dir)}, 'news');`;
  const looking = spawn(process.execPath, [...nodeOfSources, '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void looking.kill('SIGKILL'));
  await once(looking.stdout, 'data');
  for (let turn = 0; turn < 300; turn += 1) {
    const lock = tryLock(dir, 'news');
    expect([turn, isLock(lock)]).toEqual([turn, true]);
    expect(tryLock(dir, 'news')).toEqual({ holder: process.pid });
    (lock as Lock).release();
  }
});
