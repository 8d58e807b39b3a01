/** A lake that follows the mirror: a folder of dated Parquet files, put there once and never rewritten, one at a time. */

import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../base/errors.ts';
import { type LakeSettings, readLake } from '../config.ts';
import { type ListedJob, listJobs } from '../job/list.ts';
import type { FollowRequest, FollowResponse, LakeThreadParts } from '../sinks.ts';
import type { Identity } from '../store/read.ts';
import { describeHolder, isLock, tryLock } from '../store/sqlite-files.ts';
import { eachDataset, followResponse, neverAborted, type Outcome, readIdentity } from './follow.ts';
import {
  checkDataset,
  type DatasetParts,
  type LakeCheck,
  type LakeLoad,
  loadDataset,
} from './lake/dataset.ts';
import { listFolder, putJson, readJson, removePartial } from './lake/folder.ts';

export type { LakeCheck, LakeLoad } from './lake/dataset.ts';

export type LakeParts = {
  dir: string;
  settings: LakeSettings;
  jobs: readonly ListedJob[];
  /** Epoch milliseconds, by which files are named and kept. */
  now: () => number;
  signal: AbortSignal;
};

/**
 * Puts there what is proven and not there yet, one dataset after the other. What fails with one leaves the others to go on.
 * @param only these, unless all.
 * @throws Failure `config` for a lake that is not this mirror's, `disk` or `incomplete` where it cannot be used.
 */
export async function loadLake(parts: LakeParts, only?: readonly string[]): Promise<Outcome<LakeLoad>[]> {
  const { folder } = parts.settings;
  const identity = readIdentity(parts.dir);
  const lock = await lockLake(parts);
  try {
    claim(folder, identity);
    // What a killed lake left may fill the disk.
    removePartial(folder);
    return await eachInLake(parts, identity, only, loadDataset);
  } finally {
    lock.release();
  }
}

/** Compares every file with its receipt, and writes nothing. @throws Failure as `loadLake` does. */
export async function checkLake(parts: LakeParts, only?: readonly string[]): Promise<Outcome<LakeCheck>[]> {
  const { folder } = parts.settings;
  const identity = readIdentity(parts.dir);
  const owner = readOwner(folder);
  if (!owner) throw new Failure('incomplete', `${folder} holds no lake: market-mirror lake makes it`);
  refuseOther(folder, owner, identity);
  return await eachInLake(parts, identity, only, async (dataset) => checkDataset(dataset));
}

const eachInLake = <Done>(
  parts: LakeParts,
  identity: Identity,
  only: readonly string[] | undefined,
  work: (dataset: DatasetParts) => Promise<Done>,
): Promise<Outcome<Done>[]> =>
  eachDataset({ ...parts, only }, (job, connection) => {
    const { folder, keepMs } = parts.settings;
    return work({ folder, keepMs, connection, identity, job, now: parts.now() });
  });

/** How long one lake waits for another to end. */
const LOCK_WAIT_MS = 30_000;
const LOCK_CHECK_MS = 100;

/** One at a time. @throws Failure `incomplete` where another one goes on for long. */
async function lockLake({ dir, settings: { folder }, signal }: LakeParts) {
  const name = `lake-${createHash('sha256').update(folder).digest('hex').slice(0, 8)}`;
  for (let waited = 0; ; waited += LOCK_CHECK_MS) {
    if (signal.aborted) throw new Failure('incomplete', 'stopped');
    const lock = tryLock(dir, name);
    if (isLock(lock)) return lock;
    if (waited >= LOCK_WAIT_MS)
      throw new Failure('incomplete', `${folder}: ${describeHolder(lock)} writes to it: try again`);
    await sleep(LOCK_CHECK_MS);
  }
}

/** Whose lake it is. */
const OWNER = '_market-mirror.json';

type Owner = { version: number; mirror: string };

/** Of the files in it: a lake of another version is left untouched. */
const VERSION = 3;

/** Makes the lake, or finds it to be this mirror's. @throws Failure `config` for one that is another's. */
function claim(folder: string, identity: Identity): void {
  const owner = readOwner(folder);
  if (owner) {
    refuseOther(folder, owner, identity);
    return;
  }
  const { folders, files } = listFolder(folder);
  const [other] = [...folders, ...files].filter((name) => name !== '_partial');
  if (other !== undefined)
    throw new Failure('config', `${folder} holds other files (${other}) and no lake: name an empty folder`);
  putJson(folder, OWNER, { version: VERSION, mirror: identity.name });
}

function readOwner(folder: string): Owner | undefined {
  try {
    return readJson<Owner>(folder, OWNER);
  } catch (thrown) {
    if (!(thrown instanceof Failure && /holds no JSON/.test(thrown.message))) throw thrown;
    throw new Failure('config', `${folder}: ${OWNER} cannot be read: name another lake`);
  }
}

function refuseOther(folder: string, owner: Owner, identity: Identity): void {
  if (owner.version > VERSION)
    throw new Failure('config', `${folder} was made by a newer market-mirror: upgrade this one`);
  if (owner.version < VERSION)
    throw new Failure(
      'config',
      `${folder} was made by a development version: name another lake, or remove all that lies there`,
    );
  if (owner.mirror !== identity.name)
    throw new Failure('config', `${folder} follows another mirror: name another lake`);
}

/** The task of the lake's thread. */
export async function followInLake({
  dir,
  environment,
  only,
  now,
}: LakeThreadParts & FollowRequest): Promise<FollowResponse> {
  const settings = readLake(environment);
  if (!settings) throw new Failure('bug', 'a lake without settings');
  const parts = { dir, settings, jobs: await listJobs(), now: () => now, signal: neverAborted };
  return followResponse(await loadLake(parts, only), ({ seq }) => ({ to: seq, problems: [] }));
}
