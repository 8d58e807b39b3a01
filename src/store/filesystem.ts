/** The file system under the mirror: SQLite's locks can be trusted only where one kernel knows all of them. */

import { readFileSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Failure } from '../errors.ts';

type Filesystem = {
  /** As its users know it, such as `NFS`; empty for a local one. */
  name: string;
  /** `refused`: other machines may use it at once; `doubtful`: a program decides about its locks. */
  verdict: 'local' | 'doubtful' | 'refused';
};

/** Of network file systems, as `statfs` of Linux gives them. */
const NETWORK_TYPES = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x517b, 'SMB'],
  [0x01021997, '9p'],
  [0x00c36400, 'Ceph'],
]);

const FUSE_TYPE = 0x65735546;

/** Of network file systems and mounted buckets, as they name themselves in the table of mounts. */
const NETWORK_FUSE = new Map(
  Object.entries({
    ...{ sshfs: 'sshfs', glusterfs: 'GlusterFS', ceph: 'Ceph', 'ceph-fuse': 'Ceph', rclone: 'rclone' },
    ...{ s3fs: 's3fs', gcsfuse: 'gcsfuse', goofys: 'goofys', blobfuse: 'blobfuse', blobfuse2: 'blobfuse' },
    ...{ 'mountpoint-s3': 'mountpoint-s3', 'mount-s3': 'mountpoint-s3' },
  }),
);

/**
 * What such a file system is.
 * @param type as `statfs` gives it. @param device as `stat` gives it. @param mounts the text of `/proc/self/mountinfo`.
 */
export function filesystemOf(type: number, device: number, mounts: string): Filesystem {
  const network = NETWORK_TYPES.get(type);
  if (network !== undefined) return { name: network, verdict: 'refused' };
  if (type !== FUSE_TYPE) return { name: '', verdict: 'local' };
  // Programs name themselves after `fuse.`, or, where they do not, as the source of the mount.
  const mount = mountOf(device, mounts);
  const program = (mount?.type === 'fuse' ? mount.source : mount?.type.replace(/^fuse\./, '')) ?? '';
  const known = NETWORK_FUSE.get(program.toLowerCase());
  if (known !== undefined) return { name: known, verdict: 'refused' };
  return { name: program === '' ? 'FUSE' : `FUSE (${program})`, verdict: 'doubtful' };
}

/** The mount of the device: fields, then ` - `, type and source, see proc_pid_mountinfo(5). */
function mountOf(device: number, mounts: string): { type: string; source: string } | undefined {
  const wanted = numbersOf(device);
  for (const line of mounts.split('\n')) {
    const [fields = '', rest = ''] = line.split(' - ');
    if (fields.split(' ')[2] !== wanted) continue;
    const [type = '', source = ''] = rest.split(' ');
    return { type, source };
  }
  return undefined;
}

/** Major and minor number of a device, which `stat` of Linux gives as one. */
function numbersOf(device: number): string {
  const number = BigInt(device);
  const major = ((number >> 8n) & 0xfffn) | ((number >> 32n) & ~0xfffn);
  const minor = (number & 0xffn) | ((number >> 12n) & 0xffffff00n);
  return `${major}:${minor}`;
}

/** The file system that a file lies on, or would lie on: its folder is there. */
export function filesystemAt(file: string): Filesystem {
  const folder = dirname(file);
  const { type } = statfsSync(folder);
  return filesystemOf(type, statSync(folder).dev, type === FUSE_TYPE ? mountsHere() : '');
}

/** Empty where there is no such table. */
function mountsHere(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return '';
  }
}

/** @throws Failure `config` for a file on a file system that other machines may use at once. */
export function refuseNetworkFilesystem(file: string): void {
  const { name, verdict } = filesystemAt(file);
  if (verdict === 'refused')
    throw new Failure(
      'config',
      `MIRROR_DIR: ${dirname(file)} lies on ${name}; choose a folder on a local disk`,
    );
}
