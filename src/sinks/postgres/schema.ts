/** The schema in Postgres: whose it is, how far each dataset has come there, and who may read it. */

import { isoTime } from '../../base/clock.ts';
import { Failure } from '../../base/errors.ts';
import { type Identity, quoted } from '../../store/read.ts';
import type { Postgres } from './client.ts';

/** How far a dataset has come there. Numbers are of changes, see the view `changes`. */
export type SinkPosition = {
  /** Null where nothing has come yet. */
  seq: number | null;
  epoch: string;
  /** Digest of the columns, as they were then. */
  shape: string;
  /** What volatile columns were as of, and which rows were held. */
  volatile: string;
  /** From this walk on, walks are sent anew; and the latest that had come, with its beginning. */
  walksFrom: number;
  lastWalk: string;
  historyFrom: string;
};

/** Of the tables below and of those of the datasets: a schema of another version is left untouched. */
const VERSION = 4;

const tables = `
CREATE TABLE _mirror (version integer NOT NULL, id text NOT NULL, made_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE _positions (
  job text PRIMARY KEY, seq bigint, epoch text NOT NULL DEFAULT '', shape text NOT NULL DEFAULT '',
  volatile text NOT NULL DEFAULT '', walks_from bigint NOT NULL DEFAULT 0, last_walk text NOT NULL DEFAULT '',
  history_from text NOT NULL DEFAULT '', at timestamptz);
COMMENT ON TABLE _mirror IS 'Of market-mirror: which mirror this schema follows.';
COMMENT ON TABLE _positions IS 'Of market-mirror: up to which change each dataset has come.'`;

/**
 * Makes the schema, or finds it to be this mirror's.
 * @throws Failure `config` for one of another mirror, of another version, or with other tables: untouched.
 */
export async function claimSchema(postgres: Postgres, schema: string, identity: Identity): Promise<void> {
  await postgres.transaction(async () => {
    const found = await lockSchema(postgres, schema);
    if (typeof found === 'object') return refuseForeign(postgres, schema, found, identity);
    if (found === 'absent') await postgres.run(`CREATE SCHEMA ${quoted(schema)}`);
    await postgres.run(tables);
    await postgres.run('INSERT INTO _mirror (version, id) VALUES ($1, $2)', [VERSION, identity.name]);
  });
}

/** Finds the schema as it is. @throws Failure as `claimSchema` does, and `incomplete` where there is none. */
export async function findSchema(postgres: Postgres, schema: string, identity: Identity): Promise<void> {
  await postgres.transaction(async () => {
    const found = await lockSchema(postgres, schema);
    if (typeof found !== 'object')
      throw new Failure('incomplete', `${postgres.name}: the schema ${schema} is not there: ship makes it`);
    refuseForeign(postgres, schema, found, identity);
  });
}

/** Removes the schema with all that lies in it. @returns whether it was this mirror's. @throws Failure `config`, as above. */
export async function dropSchema(postgres: Postgres, schema: string, identity: Identity): Promise<boolean> {
  return await postgres.transaction(async () => {
    const found = await lockSchema(postgres, schema);
    if (typeof found !== 'object') return false;
    refuseOther(postgres, schema, found, identity);
    await postgres.run(`DROP SCHEMA ${quoted(schema)} CASCADE`);
    return true;
  });
}

/**
 * The schema of this name, locked until the transaction ends.
 * @throws Failure `config` for one with other tables.
 */
async function lockSchema(postgres: Postgres, schema: string): Promise<'absent' | 'empty' | Owner> {
  await postgres.run(`SELECT pg_advisory_xact_lock(hashtext('market-mirror'), hashtext($1))`, [schema]);
  if (!(await hasSchema(postgres, schema))) return 'absent';
  const owner = await ownerOf(postgres, schema);
  if (owner) return owner;
  if (await hasTables(postgres, schema)) throw refused(postgres, schema, 'holds tables of somebody else:');
  return 'empty';
}

type Owner = { id: string; version: number };

function refuseOther(postgres: Postgres, schema: string, { id }: Owner, { name }: Identity): void {
  if (id !== name) throw refused(postgres, schema, `follows another mirror (${id}):`);
}

/** Of another version, or of another mirror. */
function refuseForeign(postgres: Postgres, schema: string, owner: Owner, identity: Identity): void {
  const { version } = owner;
  if (version > VERSION)
    throw refused(postgres, schema, 'was made by a newer market-mirror: upgrade this one, or');
  if (version < VERSION)
    throw refused(
      postgres,
      schema,
      'was made by a development version: remove it (market-mirror ship --drop --yes) and ship again, or',
    );
  refuseOther(postgres, schema, owner, identity);
}

const refused = (postgres: Postgres, schema: string, why: string) =>
  new Failure(
    'config',
    `${postgres.name}: the schema ${schema} ${why} name another with ?schema= in MIRROR_SHIP`,
  );

async function hasSchema(postgres: Postgres, schema: string): Promise<boolean> {
  return (await postgres.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])).length > 0;
}

async function hasTables(postgres: Postgres, schema: string): Promise<boolean> {
  const found = await postgres.query(
    'SELECT 1 FROM pg_class JOIN pg_namespace AS of ON of.oid = relnamespace WHERE nspname = $1 LIMIT 1',
    [schema],
  );
  return found.length > 0;
}

async function ownerOf(postgres: Postgres, schema: string): Promise<Owner | undefined> {
  const [there] = await postgres.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [
    `${quoted(schema)}._mirror`,
  ]);
  if (!there?.there) return undefined;
  const [owner] = await postgres.query<Owner>(`SELECT id, version FROM ${quoted(schema)}._mirror`);
  return owner;
}

/** The position of a job, locked until the transaction ends. */
export async function lockPosition(postgres: Postgres, job: string): Promise<SinkPosition> {
  await postgres.run('INSERT INTO _positions (job) VALUES ($1) ON CONFLICT DO NOTHING', [job]);
  const [row] = await postgres.query<
    Omit<SinkPosition, 'seq' | 'walksFrom'> & { seq: string | null; walksFrom: string }
  >(
    `SELECT seq, epoch, shape, volatile, walks_from AS "walksFrom", last_walk AS "lastWalk",
       history_from AS "historyFrom" FROM _positions WHERE job = $1 FOR UPDATE`,
    [job],
  );
  if (!row) throw new Failure('incomplete', `${postgres.name}: the position of ${job} is gone; try again`);
  return { ...row, seq: row.seq === null ? null : Number(row.seq), walksFrom: Number(row.walksFrom) };
}

/** Moves the position, and notifies listeners once all of it is committed. */
export async function movePosition(
  postgres: Postgres,
  { job, schema, now }: { job: string; schema: string; now: number },
  position: SinkPosition,
): Promise<void> {
  const { seq, epoch, shape, volatile, walksFrom, lastWalk, historyFrom } = position;
  await postgres.run(
    `WITH moved AS (UPDATE _positions SET seq = $2, epoch = $3, shape = $4, volatile = $5, walks_from = $6, last_walk = $7,
       history_from = $8, at = $9 WHERE job = $1 RETURNING job)
     SELECT pg_notify($10, $11) FROM moved`,
    [
      ...[job, seq, epoch, shape, volatile, walksFrom, lastWalk, historyFrom, isoTime(now)],
      ...[schema, JSON.stringify({ job, seq, epoch })],
    ],
  );
}

/** Makes the role, where there is none, and lets it read all that is and will be in the schema. */
export async function admitReader(postgres: Postgres, schema: string, role: string): Promise<void> {
  const name = quoted(role);
  await postgres.transaction(async () => {
    const there = await postgres.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [role]);
    if (there.length === 0) await postgres.run(`CREATE ROLE ${name} NOLOGIN`);
    await postgres.run(`GRANT USAGE ON SCHEMA ${quoted(schema)} TO ${name}`);
    await postgres.run(`GRANT SELECT ON ALL TABLES IN SCHEMA ${quoted(schema)} TO ${name}`);
    await postgres.run(
      `ALTER DEFAULT PRIVILEGES IN SCHEMA ${quoted(schema)} GRANT SELECT ON TABLES TO ${name}`,
    );
  });
}
