/** A lake that follows the mirror: files of Parquet in a folder or a bucket, put there once and never rewritten. */

import type { Clock, Random } from '../clock.ts';
import type { LakeSettings } from '../config.ts';
import { Failure } from '../errors.ts';
import type { FollowedJob } from '../job-list.ts';
import { type Identity, identityOf, openMirror, readMirror } from '../store/read.ts';
import { type DatasetParts, layDataset, type Outcome } from './lake/dataset.ts';
import { openDisk } from './lake/disk.ts';
import { json, type Place } from './lake/place.ts';
import type { Verified } from './lake/verify.ts';

export type { Laid, Outcome } from './lake/dataset.ts';
export type { Difference, Verified } from './lake/verify.ts';

export type LakeParts = {
  dir: string;
  settings: LakeSettings;
  jobs: readonly FollowedJob[];
  clock: Clock;
  random: Random;
  signal: AbortSignal;
};

/** What became of one dataset, and of the files that are there. */
export type VerifiedOutcome = Outcome & { verified: Verified | null };

/**
 * The same, and then looks at every file that is there.
 * @throws Failure as `lay` does.
 */
export async function verify(parts: LakeParts, only?: readonly string[]): Promise<VerifiedOutcome[]> {
  const { verifyDataset } = await import('./lake/verify.ts');
  return await eachDataset(parts, only, async (dataset) => ({
    laid: await layDataset(dataset),
    verified: await verifyDataset(dataset),
  }));
}

/**
 * Puts there what is proven and not there yet, one dataset after the other. What fails with one leaves the others to go on.
 * @throws Failure `config` for a lake that is not this mirror's, `disk` or `incomplete` where it cannot be used.
 */
export async function lay(parts: LakeParts, only?: readonly string[]): Promise<VerifiedOutcome[]> {
  return await eachDataset(parts, only, async (dataset) => ({
    laid: await layDataset(dataset),
    verified: null,
  }));
}

type Done = Pick<VerifiedOutcome, 'laid' | 'verified'>;

async function eachDataset(
  parts: LakeParts,
  only: readonly string[] | undefined,
  work: (dataset: DatasetParts) => Promise<Done>,
): Promise<VerifiedOutcome[]> {
  const { dir, jobs } = parts;
  const identity = readMirror(dir, identityOrWait);
  const place = await claimed(parts, identity);
  try {
    const outcomes: VerifiedOutcome[] = [];
    for (const job of jobs.filter(({ name }) => !only || only.includes(name)))
      outcomes.push(await oneDataset(parts, { place, identity, job }, work));
    return outcomes;
  } finally {
    await place.close();
  }
}

async function oneDataset(
  { dir, clock, settings: { keepMs }, signal }: LakeParts,
  dataset: Pick<DatasetParts, 'place' | 'identity' | 'job'>,
  work: (dataset: DatasetParts) => Promise<Done>,
): Promise<VerifiedOutcome> {
  if (signal.aborted) throw new Failure('incomplete', 'stopped');
  const job = dataset.job.name;
  const connection = openMirror(dir);
  try {
    const done = await work({ ...dataset, connection, now: clock.now(), keepMs });
    return { job, ...done, failure: null };
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    const { kind, message } = thrown;
    return { job, laid: null, verified: null, failure: { kind, message } };
  } finally {
    connection.close();
  }
}

function identityOrWait(connection: Parameters<typeof identityOf>[0]): Identity {
  const identity = identityOf(connection);
  if (identity) return identity;
  throw new Failure('incomplete', `${connection.name} has no name yet: the next sync or start gives it one`);
}

/** Whose lake it is. */
const OWNER = '_market-mirror.json';

type Owner = { version: number; mirror: string };

const VERSION = 1;

/** @throws Failure `config` for a place that is another's. */
async function claimed(parts: LakeParts, identity: Identity): Promise<Place> {
  const place = await openPlace(parts);
  try {
    await claim(place, identity);
    return place;
  } catch (thrown) {
    await place.close();
    throw thrown;
  }
}

async function claim(place: Place, identity: Identity): Promise<void> {
  const mine: Owner = { version: VERSION, mirror: identity.name };
  const owner = (await ownerOf(place)) ?? (await take(place, mine));
  if (owner.version > VERSION)
    throw new Failure('config', `${place.shown} was made by a newer market-mirror: upgrade this one`);
  if (owner.mirror !== identity.name)
    throw new Failure('config', `${place.shown} follows another mirror: name another lake`);
  if (await place.put(OWNER, json(owner)))
    throw new Failure(
      'config',
      `${place.shown} writes over what is there, although it is told not to (If-None-Match): two lakes at once would spoil it; name another service`,
    );
}

async function openPlace({ dir, settings, clock, random, signal }: LakeParts): Promise<Place> {
  const { address, access } = settings;
  if (address.kind === 'disk') return openDisk(address.folder, clock.now());
  if (!access) throw new Failure('bug', 'a bucket, and no access to it');
  const { openS3, wayIn } = await import('./lake/s3.ts');
  const { bucket, prefix } = address;
  return await openS3({ access, bucket, prefix, way: wayIn(dir), clock, random, signal });
}

async function take(place: Place, mine: Owner): Promise<Owner> {
  const { folders, files } = await place.list('');
  const [other] = [...folders, ...files].filter((name) => name !== OWNER);
  if (other !== undefined)
    throw new Failure(
      'config',
      `${place.shown} holds other files (${other}) and no lake: name an empty folder or prefix`,
    );
  await place.put(OWNER, json(mine));
  return (await ownerOf(place)) ?? mine;
}

async function ownerOf(place: Place): Promise<Owner | undefined> {
  const text = (await place.read(OWNER))?.toString('utf8');
  try {
    return text === undefined ? undefined : (JSON.parse(text) as Owner);
  } catch {
    throw new Failure('config', `${place.shown}: ${OWNER} cannot be read: name another lake`);
  }
}
