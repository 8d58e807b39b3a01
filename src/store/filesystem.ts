/** The file system under the mirror: SQLite's locks can be trusted only where one kernel knows all of them. */

import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { Failure } from '../base/errors.ts';

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

/** What a file system of this type is. @param type as `statfs` gives it. */
export function filesystemOf(type: number): Filesystem {
  const network = NETWORK_TYPES.get(type);
  if (network !== undefined) return { name: network, verdict: 'refused' };
  // sshfs and mounted buckets are among them, and local ones.
  return type === FUSE_TYPE ? { name: 'FUSE', verdict: 'doubtful' } : { name: '', verdict: 'local' };
}

/** The file system that a file lies on, or would lie on: its folder is there. */
export const filesystemAt = (file: string): Filesystem => filesystemOf(statfsSync(dirname(file)).type);

/** @throws Failure `config` for a file on a file system that other machines may use at once. */
export function refuseNetworkFilesystem(file: string): void {
  const { name, verdict } = filesystemAt(file);
  if (verdict === 'refused')
    throw new Failure(
      'config',
      `MIRROR_DIR: ${dirname(file)} lies on ${name}; choose a folder on a local disk`,
    );
}
