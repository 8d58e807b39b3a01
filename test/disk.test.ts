import { closeSync, openSync, readSync, statSync, symlinkSync, writeFileSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { diskTrouble, makeFolder } from '../src/base/disk.ts';
import { temporaryFolder } from './helpers/folder.ts';

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (thrown) {
    return thrown;
  }
  throw new Error('nothing was thrown');
}

/** What the kernel says of a file that always fails. */
function refusal(path: string, flags: string, work: (file: number) => unknown): unknown {
  const file = openSync(path, flags);
  try {
    return thrownBy(() => work(file));
  } finally {
    closeSync(file);
  }
}

const full = () => refusal('/dev/full', 'w', (file) => writeSync(file, 'x'));
const statfs = (files: number, ffree: number) => () => ({ files, ffree });

test('a full disk, a lack of inodes, a used-up quota and a failing device are told apart, each with what to do', () => {
  const failing = refusal('/proc/self/mem', 'r', (file) => readSync(file, Buffer.alloc(1), 0, 1, 0));
  // As Node.js shows it, which has no name for it.
  const errno = -constants.errno.EDQUOT;
  const quota = Object.assign(new Error('write'), { code: `Unknown system error ${errno}`, errno });
  const found = [
    diskTrouble(full(), '/dev', statfs(100, 50)),
    diskTrouble(full(), '/dev', statfs(100, 0)),
    diskTrouble(quota),
    diskTrouble(failing),
  ];
  expect(found.map((trouble) => trouble?.code)).toEqual(['ENOSPC', 'INODES', 'EDQUOT', 'EIO']);
  for (const trouble of found) expect(trouble?.advice).toMatch(/^[^:\n]+: [^\n]+$/);
  expect(new Set(found.map((trouble) => trouble?.advice)).size).toBe(4);
});

test('a file system that makes inodes as it goes never lacks them', () => {
  expect(diskTrouble(full(), '/dev', statfs(0, 0))?.code).toBe('ENOSPC');
  expect(diskTrouble(full(), '/no/such/folder')?.code).toBe('ENOSPC');
});

test('a folder is made with those above it, or it is said why not', () => {
  const folder = temporaryFolder();
  const made = join(folder, 'above', 'below');
  for (const _ of ['made', 'there already']) makeFolder(made, 0o700);
  expect([made, join(made, '..')].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700]);
  writeFileSync(join(folder, 'file'), '');
  symlinkSync('nothing', join(folder, 'link'));
  const refused = ['file', 'file/below', 'link'].map((name) => join(folder, name));
  // There the parent exists, and the kernel says all the same that it does not.
  const troubles = [...refused, '/proc/x'].map((path) => diskTrouble(thrownBy(() => makeFolder(path))));
  expect(troubles.map((trouble) => trouble?.code)).toEqual(['EEXIST', 'ENOTDIR', 'ENOENT', 'ENOENT']);
});

test('what is no trouble of a disk is none', () => {
  for (const thrown of [new Error('no'), undefined, { code: 'ECONNRESET' }, { code: 'constructor' }])
    expect(diskTrouble(thrown)).toBeUndefined();
});
