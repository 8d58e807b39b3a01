/** Shipping the mirror to Postgres: every dataset goes on from its position there, in a transaction of its own. */

import { asFailure } from '../base/errors.ts';
import type { ShipAddress } from '../config.ts';
import { type ListedJob, listJobs } from '../job/list.ts';
import type { FollowRequest, FollowResponse, ShipThreadParts } from '../sinks.ts';
import type { Identity } from '../store/read.ts';
import { eachDataset, followResponse, neverAborted, type Outcome, readIdentity } from './follow.ts';
import { openPostgres, type Postgres } from './postgres/client.ts';
import { checkDataset, loadDataset, type PostgresCheck, type PostgresLoad } from './postgres/dataset.ts';
import { admitReader, claimSchema, dropSchema, findSchema } from './postgres/schema.ts';

export type { PostgresCheck, PostgresLoad } from './postgres/dataset.ts';

export type PostgresParts = {
  dir: string;
  address: ShipAddress;
  /** All that there are: views and tables are made for each. */
  jobs: readonly ListedJob[];
  now: () => number;
  signal: AbortSignal;
};

/**
 * Ships datasets one after the other. What fails with one leaves the others to go on, unless Postgres cannot be used.
 * @param only these, unless all; `verify`: compare both sides, whatever their positions say.
 * @throws Failure `incomplete` or `disk` where Postgres or the mirror cannot be used, `config` for a schema that is not
 * this mirror's.
 */
export async function loadPostgres(
  parts: PostgresParts,
  { only, verify = false }: { only?: readonly string[] | undefined; verify?: boolean } = {},
): Promise<Outcome<PostgresLoad>[]> {
  const { jobs, now } = parts;
  const { schema } = parts.address;
  return await withPostgres(parts, async (postgres, identity) => {
    await claimSchema(postgres, schema, identity);
    return await eachDataset({ ...parts, only }, (job, connection) =>
      loadDataset({ postgres, connection, identity, schema, job, jobs, now: now() }, verify),
    );
  });
}

/** Compares every dataset with what is there, and writes nothing. @throws Failure as `loadPostgres` does. */
export async function checkPostgres(
  parts: PostgresParts,
  only?: readonly string[],
): Promise<Outcome<PostgresCheck>[]> {
  const { now, address, jobs } = parts;
  return await withPostgres(parts, async (postgres, identity) => {
    await findSchema(postgres, address.schema, identity);
    return await eachDataset({ ...parts, only }, (job, connection) =>
      checkDataset({ postgres, connection, identity, schema: address.schema, job, jobs, now: now() }),
    );
  });
}

/** Removes all of it from Postgres. @returns whether there was anything. */
export async function removeSchema(parts: PostgresParts): Promise<boolean> {
  return await withPostgres(parts, (postgres, identity) =>
    dropSchema(postgres, parts.address.schema, identity),
  );
}

/** Lets a role read all that is shipped; makes it where there is none. */
export async function admitRole(parts: PostgresParts, role: string): Promise<void> {
  await withPostgres(parts, async (postgres, identity) => {
    await claimSchema(postgres, parts.address.schema, identity);
    await admitReader(postgres, parts.address.schema, role);
  });
}

async function withPostgres<T>(
  { dir, address, signal }: PostgresParts,
  work: (postgres: Postgres, identity: Identity) => Promise<T>,
): Promise<T> {
  const identity = readIdentity(dir);
  const postgres = await openPostgres(address, signal);
  try {
    return await work(postgres, identity);
  } catch (thrown) {
    throw asFailure(thrown);
  } finally {
    await postgres.close();
  }
}

/** The task of the thread that ships. */
export async function followInPostgres(request: ShipThreadParts & FollowRequest): Promise<FollowResponse> {
  const { dir, address, only, now } = request;
  const jobs = await listJobs();
  const outcomes = await loadPostgres({ dir, address, jobs, now: () => now, signal: neverAborted }, { only });
  return followResponse(outcomes, ({ to, problems }) => ({ to, problems }));
}
