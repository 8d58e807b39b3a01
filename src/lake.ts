/** A lake that follows the mirror: files of Parquet in a folder or a bucket, put there once and never rewritten. */

import type { LakeAddress } from './config.ts';
import { Failure } from './errors.ts';
import type { Job } from './job.ts';
import { layDataset, type Outcome } from './lake/dataset.ts';
import { openDisk } from './lake/disk.ts';
import { json, type Place, readJson } from './lake/place.ts';
import { type Identity, identityOf, openMirror, readMirror } from './store/read.ts';

export type { Laid, Outcome } from './lake/dataset.ts';

export type LakeParts = {
  dir: string;
  address: LakeAddress;
  jobs: readonly Job[];
  /** How long snapshots stay, in milliseconds; infinite for ever. */
  keepMs: number;
  now: () => number;
};

/**
 * Puts there what is proven and not there yet, one dataset after the other. What fails with one leaves the others to go on.
 * @throws Failure `config` for a lake that is not this mirror's, `disk` or `incomplete` where it cannot be used.
 */
export async function lay(parts: LakeParts, only?: readonly string[]): Promise<Outcome[]> {
  const { dir, jobs, keepMs, now } = parts;
  const identity = readMirror(dir, identityOrWait);
  const place = await claimed(parts, identity);
  const outcomes: Outcome[] = [];
  for (const job of jobs.filter(({ name }) => !only || only.includes(name))) {
    const connection = openMirror(dir);
    try {
      connection.exec('BEGIN');
      const laid = await layDataset({ place, connection, identity, job, now: now(), keepMs });
      outcomes.push({ job: job.name, laid, failure: null });
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown;
      const { kind, message } = thrown;
      outcomes.push({ job: job.name, laid: null, failure: { kind, message } });
    } finally {
      connection.close();
    }
  }
  return outcomes;
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
async function claimed({ address, now }: LakeParts, identity: Identity): Promise<Place> {
  if (address.kind !== 'disk') throw new Failure('config', 'a lake in a bucket is not there yet');
  const place = openDisk(address.folder, now());
  const mine: Owner = { version: VERSION, mirror: identity.name };
  const owner = (await ownerOf(place)) ?? (await take(place, mine));
  if (owner.version > VERSION)
    throw new Failure('config', `${place.shown} was made by a newer market-mirror: upgrade this one`);
  if (owner.mirror !== identity.name)
    throw new Failure('config', `${place.shown} follows another mirror: name another lake`);
  return place;
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
  try {
    return await readJson<Owner>(place, OWNER);
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    throw new Failure('config', `${place.shown}: ${OWNER} cannot be read: name another lake`);
  }
}
