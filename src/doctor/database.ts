/** The disk, and the database on it. */

import { existsSync, statfsSync } from 'node:fs';
import { ageOf, CLOCK_ADVICE, describeAhead } from '../base/clock.ts';
import { bytes } from '../output/numbers.ts';
import {
  examineMirror,
  hasMirror,
  LONG_LOG_BYTES,
  lastProofAt,
  logBytes,
  mirrorBytes,
  mirrorFile,
} from '../store/read.ts';
import { type Check, ok, problem, problemOf, skipped, warning } from './check.ts';
import { nearestExisting } from './files.ts';

const MB = 1_000_000;
const GB = 1_000 * MB;
/** With less, a walk may fill the disk. */
const LEAST_FREE = 100 * MB;
const ENOUGH_FREE = GB;
/** The mirror, its log, locks and Redis take some tens of files. */
const LEAST_FREE_INODES = 100;

export function checkDisk(dir: string): Check {
  const name = 'disk';
  const { bavail, bsize, files, ffree } = statfsSync(nearestExisting(dir));
  const free = bavail * bsize;
  const size = mirrorBytes(mirrorFile(dir));
  const have = `${bytes(free)} free, the mirror takes ${bytes(size)}`;
  // A file system that makes inodes on demand says that it has none.
  if (files > 0 && ffree < LEAST_FREE_INODES)
    return problem(
      name,
      'disk',
      `${have}, but only ${ffree} inodes for new files`,
      `delete files that nobody needs on the disk of ${dir}`,
    );
  if (free < LEAST_FREE) return problem(name, 'disk', have, `free space on the disk of ${dir}`);
  return free < Math.max(ENOUGH_FREE, 2 * size)
    ? warning(name, have, 'free some space: an upgrade copies the mirror before it changes it')
    : ok(name, have);
}

export function checkDatabase(dir: string): Check {
  const name = 'database';
  const file = mirrorFile(dir);
  try {
    if (!hasMirror(dir)) return skipped(name, `${file} is not there yet: the first run makes it`);
    const { sqlite, upToDate, damage } = examineMirror(file);
    if (damage.length > 0)
      return problem(
        name,
        'disk',
        `${file} is damaged: ${damage.join('; ')}`,
        'stop everything, keep the files, and restore a backup (docs/operations.md); then look at the disk',
      );
    return upToDate
      ? ok(name, `is whole and of this version; SQLite ${sqlite}`)
      : warning(
          name,
          'is whole, and was left by an older market-mirror',
          'the next sync or start keeps a copy and brings it up to date',
        );
  } catch (thrown) {
    return problemOf(name, thrown);
  }
}

/** None where nothing is proven, or the age of the latest proof is known. */
export function checkAges(dir: string, now: number): Check[] {
  const file = mirrorFile(dir);
  const proof = existsSync(file) ? lastProofAt(file) : null;
  if (proof === null || ageOf(Date.parse(proof), now) !== null) return [];
  return [
    problem(
      'ages',
      'incomplete',
      describeAhead(proof),
      `${CLOCK_ADVICE}; the next walk on the right clock mends it`,
    ),
  ];
}

/** None where there is no mirror yet. */
export function checkLog(dir: string): Check[] {
  const name = 'write-ahead-log';
  const file = mirrorFile(dir);
  if (!existsSync(file)) return [];
  const size = logBytes(file);
  const takes = `takes ${bytes(size)}`;
  return [
    size > LONG_LOG_BYTES
      ? warning(
          name,
          `${takes}: a reader at work for long keeps it from being emptied`,
          `end its query or transaction (fuser -v ${file} names who has it open); the next walk empties the log`,
        )
      : ok(name, takes),
  ];
}
