import { statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filesystemAt, filesystemOf } from '../../src/store/filesystem.ts';

const FUSE = 0x65735546;

/** As Linux writes them; the mount at `/data` is the device 0:52. */
const mountsWith = (typeAndSource: string) =>
  [
    '22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw',
    '40 22 0:38 / /mnt/other rw,nosuid shared:9 - fuse.s3fs s3fs rw,user_id=0',
    `41 22 0:52 / /data rw,nosuid,nodev shared:10 - ${typeAndSource} rw,user_id=0,group_id=0`,
    '',
  ].join('\n');

test.each([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x517b, 'SMB'],
  [0x01021997, '9p'],
  [0x00c36400, 'Ceph'],
])('a file system of the network is refused by its name: type %d is %s', (type, name) => {
  expect(filesystemOf(type, 52, '')).toEqual({ name, verdict: 'refused' });
});

test.each([
  ['fuse.sshfs user@host:/srv', 'sshfs'],
  ['fuse.glusterfs server:/volume', 'GlusterFS'],
  ['fuse.ceph ceph-fuse', 'Ceph'],
  ['fuse.ceph-fuse ceph-fuse', 'Ceph'],
  ['fuse.s3fs s3fs', 's3fs'],
  ['fuse.gcsfuse my-bucket', 'gcsfuse'],
  ['fuse gcsfuse', 'gcsfuse'],
  ['fuse.rclone remote:bucket', 'rclone'],
  ['fuse.goofys bucket', 'goofys'],
  ['fuse mountpoint-s3', 'mountpoint-s3'],
  ['fuse.mount-s3 bucket', 'mountpoint-s3'],
  ['fuse.blobfuse2 blobfuse2', 'blobfuse'],
  ['fuse blobfuse', 'blobfuse'],
])('a mounted bucket or folder of another machine is refused by its name: %s', (mount, name) => {
  expect(filesystemOf(FUSE, 52, mountsWith(mount))).toEqual({ name, verdict: 'refused' });
});

test.each([
  ['fuse.mergerfs /mnt/disk1:/mnt/disk2', 'FUSE (mergerfs)'],
  ['fuseblk /dev/sdb1', 'FUSE (fuseblk)'],
  ['fuse.encfs encfs', 'FUSE (encfs)'],
  ['virtiofs rclone', 'FUSE (virtiofs)'],
])('another file system of a program is doubtful: %s', (mount, name) => {
  expect(filesystemOf(FUSE, 52, mountsWith(mount))).toEqual({ name, verdict: 'doubtful' });
});

test('one that stands in no table of mounts is doubtful', () => {
  expect(filesystemOf(FUSE, 77, mountsWith('fuse.sshfs x'))).toEqual({ name: 'FUSE', verdict: 'doubtful' });
  expect(filesystemOf(FUSE, 52, '')).toEqual({ name: 'FUSE', verdict: 'doubtful' });
});

test('a local disk is one, whatever is mounted elsewhere', () => {
  expect(filesystemOf(0xef53, 52, mountsWith('fuse.sshfs x'))).toEqual({ name: '', verdict: 'local' });
});

test('devices of large numbers are found in the table', () => {
  const mounts = '41 22 259:70000 / /data rw - fuse.sshfs user@host: rw';
  // As glibc's makedev puts them together.
  const device = (70_000 % 256) | (259 << 8) | 0;
  const whole = device + Math.floor(70_000 / 256) * 2 ** 20;
  expect(filesystemOf(FUSE, whole, mounts).name).toBe('sshfs');
});

test('the folder for temporary files is told as the system tells of it', () => {
  const { type } = statfsSync(tmpdir());
  const expected = filesystemOf(type, statSync(tmpdir()).dev, '');
  expect(filesystemAt(join(tmpdir(), 'mirror.db')).verdict).toBe(expected.verdict);
});
