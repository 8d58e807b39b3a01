import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filesystemAt, filesystemOf } from '../../src/store/filesystem.ts';

test.each([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x517b, 'SMB'],
  [0x01021997, '9p'],
  [0x00c36400, 'Ceph'],
])('a file system of the network is refused by its name: type %d is %s', (type, name) => {
  expect(filesystemOf(type)).toEqual({ name, verdict: 'refused' });
});

test('one of a program is doubtful, since it may be a folder of another machine or a local one', () => {
  expect(filesystemOf(0x65735546)).toEqual({ name: 'FUSE', verdict: 'doubtful' });
});

test('a local disk is one', () => {
  expect(filesystemOf(0xef53)).toEqual({ name: '', verdict: 'local' });
});

test('the folder for temporary files is told as the system tells of it', () => {
  expect(filesystemAt(join(tmpdir(), 'mirror.db'))).toEqual(filesystemOf(statfsSync(tmpdir()).type));
});
