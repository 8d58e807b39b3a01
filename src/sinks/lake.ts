/** A lake that follows the mirror: files of Parquet in a folder or a bucket, put there once and never rewritten. */

import { type Clock, type Random, systemClock } from '../clock.ts';
import { type LakeSettings, readLake } from '../config.ts';
import { Failure } from '../errors.ts';
import { type ListedJob, listJobs } from '../job-list.ts';
import type { FollowRequest, FollowResponse, LakeThreadParts } from '../sinks.ts';
import type { Identity } from '../store/read.ts';
import { eachDataset, followResponse, neverAborted, type Outcome, readIdentity } from './follow.ts';
import { type DatasetParts, type LakeLoad, loadDataset } from './lake/dataset.ts';
import { json, openDisk, type Storage, sweepSpools } from './lake/storage.ts';
import type { Verified } from './lake/verify.ts';

export type { LakeLoad } from './lake/dataset.ts';
export type { Difference, Verified } from './lake/verify.ts';

export type LakeParts = {
  dir: string;
  settings: LakeSettings;
  jobs: readonly ListedJob[];
  /** Epoch milliseconds, by which files are named and kept. */
  now: () => number;
  /** Signs requests to a bucket: it has to go on while a load takes long. */
  clock: Clock;
  random: Random;
  signal: AbortSignal;
};

/** What was done with one dataset, and what became of the files that are there, where all were looked at. */
export type LakeRun = { load: LakeLoad | null; verified: Verified | null };

/**
 * Puts there what is proven and not there yet, one dataset after the other. What fails with one leaves the others to go on.
 * @param only these, unless all; `verify`: then look at every file that is there.
 * @throws Failure `config` for a lake that is not this mirror's, `disk` or `incomplete` where it cannot be used.
 */
export async function loadLake(
  parts: LakeParts,
  { only, verify = false }: { only?: readonly string[] | undefined; verify?: boolean } = {},
): Promise<Outcome<LakeRun>[]> {
  const admit = async (storage: Storage, identity: Identity) => {
    // First: what a killed lake left may fill the disk.
    sweepSpools(storage.spoolFolder, parts.now());
    await claim(storage, identity);
  };
  return await eachInLake(parts, only, admit, async (dataset) => {
    const load = await loadDataset(dataset);
    if (!verify) return { load, verified: null };
    const { verifyDataset } = await import('./lake/verify.ts');
    return { load, verified: await verifyDataset(dataset) };
  });
}

/** Looks at every file that is there, and at what is not there yet, and writes nothing. @throws Failure as `loadLake` does. */
export async function checkLake(parts: LakeParts, only?: readonly string[]): Promise<Outcome<LakeRun>[]> {
  const { checkDataset } = await import('./lake/verify.ts');
  return await eachInLake(parts, only, find, async (dataset) => ({
    load: null,
    verified: await checkDataset(dataset),
  }));
}

/** @param admit throws where it is not the lake of this mirror. */
async function eachInLake(
  parts: LakeParts,
  only: readonly string[] | undefined,
  admit: (storage: Storage, identity: Identity) => Promise<void>,
  work: (dataset: DatasetParts) => Promise<LakeRun>,
): Promise<Outcome<LakeRun>[]> {
  const { now, settings } = parts;
  const identity = readIdentity(parts.dir);
  const storage = await openStorage(parts);
  try {
    await admit(storage, identity);
    return await eachDataset({ ...parts, only }, (job, connection) =>
      work({ storage, connection, identity, job, now: now(), keepMs: settings.keepMs }),
    );
  } finally {
    await storage.close();
  }
}

/** Whose lake it is. */
const OWNER = '_market-mirror.json';

type Owner = { version: number; mirror: string };

/** Of the files below: a lake of another version is left untouched. */
const VERSION = 2;

/** Makes the lake, or finds it to be this mirror's. @throws Failure `config` for one that is another's. */
async function claim(storage: Storage, identity: Identity): Promise<void> {
  const mine: Owner = { version: VERSION, mirror: identity.name };
  const owner = (await ownerOf(storage)) ?? (await claimEmpty(storage, mine));
  refuseOther(storage, owner, identity);
  if (await storage.put(OWNER, json(owner)))
    throw new Failure(
      'config',
      `${storage.shown} writes over what is there, although it is told not to (If-None-Match): two lakes at once would spoil it; name another service`,
    );
}

/** @throws Failure as `claim` does, and `incomplete` where there is none. */
async function find(storage: Storage, identity: Identity): Promise<void> {
  const owner = await ownerOf(storage);
  if (!owner) throw new Failure('incomplete', `${storage.shown} holds no lake: market-mirror lake makes it`);
  refuseOther(storage, owner, identity);
}

function refuseOther(storage: Storage, owner: Owner, identity: Identity): void {
  if (owner.version > VERSION)
    throw new Failure('config', `${storage.shown} was made by a newer market-mirror: upgrade this one`);
  if (owner.version < VERSION)
    throw new Failure(
      'config',
      `${storage.shown} was made by a development version: name another lake, or remove all that lies there`,
    );
  if (owner.mirror !== identity.name)
    throw new Failure('config', `${storage.shown} follows another mirror: name another lake`);
}

async function openStorage({ dir, settings, clock, random, signal }: LakeParts): Promise<Storage> {
  const { address, access } = settings;
  if (address.kind === 'disk') return openDisk(address.folder);
  if (!access) throw new Failure('bug', 'a bucket, and no access to it');
  const { openS3, spoolFolderIn } = await import('./lake/s3.ts');
  const { bucket, prefix } = address;
  return await openS3({ access, bucket, prefix, spoolFolder: spoolFolderIn(dir), clock, random, signal });
}

async function claimEmpty(storage: Storage, mine: Owner): Promise<Owner> {
  const { folders, files } = await storage.list('');
  const [other] = [...folders, ...files].filter((name) => name !== OWNER);
  if (other !== undefined)
    throw new Failure(
      'config',
      `${storage.shown} holds other files (${other}) and no lake: name an empty folder or prefix`,
    );
  await storage.put(OWNER, json(mine));
  return (await ownerOf(storage)) ?? mine;
}

async function ownerOf(storage: Storage): Promise<Owner | undefined> {
  const text = (await storage.read(OWNER))?.toString('utf8');
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Owner);
  } catch {
    throw new Failure('config', `${storage.shown}: ${OWNER} cannot be read: name another lake`);
  }
}

/** The task of the lake's thread. */
export async function followInLake(request: LakeThreadParts & FollowRequest): Promise<FollowResponse> {
  const { dir, environment, chance, only, now } = request;
  const settings = readLake(environment);
  if (!settings) throw new Failure('bug', 'a lake without settings');
  const outcomes = await loadLake(
    {
      ...{ dir, settings, jobs: await listJobs(), signal: neverAborted },
      ...{ now: () => now, clock: systemClock, random: () => chance },
    },
    { only },
  );
  return followResponse(outcomes, ({ load }) => ({ to: load?.seq ?? null, problems: [] }));
}
