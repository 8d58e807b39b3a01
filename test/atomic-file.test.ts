import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { openAtomicFile } from '../src/base/atomic-file.ts';
import { temporaryFolder } from './helpers/folder.ts';

/** What may stand where a file is to go, and is none. */
const takers: Record<string, (path: string) => unknown> = {
  'a pipe': (path) => spawnSync('mkfifo', [path]),
  'a folder': (path) => mkdirSync(path),
  'a link to a device': (path) => symlinkSync('/dev/full', path),
  'a link to what a process has open': (path) => symlinkSync('/proc/self/fd/0', path),
  'a link to a file that a process has open': (path) => {
    const open = openSync(fileURLToPath(import.meta.url), 'r');
    onTestFinished(() => closeSync(open));
    symlinkSync(`/proc/self/fd/${open}`, path);
  },
};

test.each(Object.entries(takers))(
  '%s is never replaced, whatever is forced, nor where it took the place meanwhile',
  async (_, take) => {
    const dir = temporaryFolder();
    const file = join(dir, 'taken');
    for (const force of [true, false]) {
      const atomic = await openAtomicFile(file, force);
      await take(file);
      const before = lstatSync(file).ino;
      await expect(atomic.commit()).rejects.toMatchObject({ kind: 'usage' });
      await atomic.discard();
      await expect(openAtomicFile(file, force)).rejects.toMatchObject({ kind: 'usage' });
      expect(lstatSync(file).ino).toBe(before);
      expect(readdirSync(dir)).toEqual(['taken']);
      rmSync(file, { recursive: true });
    }
  },
);

test('a file that came meanwhile is kept, unless it may be replaced', async () => {
  const dir = temporaryFolder();
  const file = join(dir, 'a.csv');
  for (const force of [false, true]) {
    const atomic = await openAtomicFile(file, force);
    await atomic.handle.writeFile('ours');
    writeFileSync(file, 'theirs');
    const settled = await atomic.commit().catch((thrown: Error) => thrown.message);
    await atomic.discard();
    expect(settled).toBe(force ? undefined : `${file} exists already: --force replaces it`);
    expect(readFileSync(file, 'utf8')).toBe(force ? 'ours' : 'theirs');
    expect(readdirSync(dir)).toEqual(['a.csv']);
    rmSync(file);
  }
});

test('a link is something that is there: replaced only by force, and what it leads to stays as it is', async () => {
  const dir = temporaryFolder();
  const [target, link, nowhere] = ['target', 'link', 'nowhere'].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(target, 'theirs');
  symlinkSync(target, link);
  symlinkSync(join(dir, 'none'), nowhere);
  for (const path of [link, nowhere]) {
    await expect(openAtomicFile(path, false)).rejects.toMatchObject({ kind: 'usage' });
    const atomic = await openAtomicFile(path, true);
    await atomic.handle.writeFile('ours');
    await atomic.commit();
    expect([lstatSync(path).isFile(), readFileSync(path, 'utf8')]).toEqual([true, 'ours']);
  }
  expect([readFileSync(target, 'utf8'), existsSync(join(dir, 'none'))]).toEqual(['theirs', false]);
});
