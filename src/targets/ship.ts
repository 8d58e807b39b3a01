/** Shipping the mirror to Postgres: every dataset goes on where it last ended there, each in a transaction of its own. */

import type { ShipAddress } from '../config.ts';
import { asFailure, Failure } from '../errors.ts';
import type { FollowedJob } from '../job-list.ts';
import { type Identity, identityOf, openMirror } from '../store/read.ts';
import { openTarget, type Target } from './ship/connection.ts';
import { type Outcome, shipDataset } from './ship/dataset.ts';
import { admitReader, claimSchema, dropSchema } from './ship/schema.ts';
import { makeViews } from './ship/views.ts';

export type { Outcome, Shipped } from './ship/dataset.ts';
export type { Mended } from './ship/mend.ts';

export type ShipParts = {
  dir: string;
  address: ShipAddress;
  /** All that there are: views and tables are made for each. */
  jobs: readonly FollowedJob[];
  now: () => number;
  signal: AbortSignal;
};

/**
 * Ships datasets one after the other. What fails with one leaves the others to go on, unless Postgres is not to be had.
 * @param only these, unless all; `compare`: whatever their places say.
 * @throws Failure `incomplete` or `disk` where Postgres or the mirror cannot be used, `config` for a schema that is not
 * this mirror's.
 */
export async function ship(
  parts: ShipParts,
  { only, compare = false }: { only?: readonly string[]; compare?: boolean } = {},
): Promise<Outcome[]> {
  return await withTarget(parts, async (target, identity) => {
    await claimSchema(target, parts.address.schema, identity, parts.jobs);
    const outcomes: Outcome[] = [];
    for (const job of parts.jobs)
      if (!only || only.includes(job.name))
        outcomes.push(await shipOne(parts, target, identity, job, compare));
    if (!target.isLost()) await makeViews(target, parts.jobs);
    return outcomes;
  });
}

async function shipOne(
  { dir, address, now }: ShipParts,
  target: Target,
  identity: Identity,
  job: FollowedJob,
  compare: boolean,
): Promise<Outcome> {
  const connection = openMirror(dir);
  try {
    const { schema } = address;
    const shipped = await shipDataset({ target, connection, identity, schema, job, now: now(), compare });
    return { job: job.name, shipped, failure: null };
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    const { kind, message } = thrown;
    return { job: job.name, shipped: null, failure: { kind, message } };
  } finally {
    connection.close();
  }
}

/** Removes all of it from Postgres. @returns whether there was anything. */
export async function forget(parts: ShipParts): Promise<boolean> {
  return await withTarget(parts, (target, identity) => dropSchema(target, parts.address.schema, identity));
}

/** Lets a role read all that is shipped; makes it where there is none. */
export async function admit(parts: ShipParts, role: string): Promise<void> {
  await withTarget(parts, async (target, identity) => {
    await claimSchema(target, parts.address.schema, identity, parts.jobs);
    await admitReader(target, parts.address.schema, role);
  });
}

async function withTarget<T>(
  { dir, address, signal }: ShipParts,
  work: (target: Target, identity: Identity) => Promise<T>,
): Promise<T> {
  const identity = readIdentity(dir);
  const target = await openTarget(address.url, signal);
  try {
    return await work(target, identity);
  } catch (thrown) {
    throw asFailure(thrown);
  } finally {
    await target.close();
  }
}

function readIdentity(dir: string): Identity {
  const connection = openMirror(dir);
  try {
    const identity = identityOf(connection);
    if (identity) return identity;
    throw new Failure(
      'incomplete',
      `${connection.name} has no name yet: the next sync or start gives it one`,
    );
  } finally {
    connection.close();
  }
}
