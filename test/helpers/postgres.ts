/** A Postgres of the tests' own: one for a whole run, started by the first test that asks; each test has a database of its own. */

import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { startCuttingProxy } from './cutting-proxy.ts';
import { addressOf, careless, folderOfServer, startPostgres, stopPostgres } from './postgres-server.ts';

const FOLDER = 'MARKET_MIRROR_TEST_POSTGRES';

/** Called by vitest before all tests, in a process of its own; what it returns is called after them. */
export default function prepare(): () => void {
  const folder = folderOfServer();
  process.env[FOLDER] = folder;
  return () => stopPostgres(folder);
}

export type Postgres = {
  /** As MIRROR_SHIP takes it. */
  url: string;
  /** Where it listens, and the name of the database there. */
  folder: string;
  database: string;
  /** Asks in the schema of the mirror. */
  query<Row extends object>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Lets go of the database. */
  end(): Promise<void>;
};

/** @param template a database that nobody uses, to be copied. */
export async function postgres(template = 'template0'): Promise<Postgres> {
  const folder = await start();
  const database = `t${randomUUID().replaceAll('-', '')}`;
  const admin = new pg.Client({ host: folder, user: 'postgres', database: 'postgres' });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${database} TEMPLATE ${template}`);
  await admin.end();
  const client = new pg.Client({ host: folder, user: 'postgres', database });
  await client.connect();
  client.on('error', () => undefined);
  await client.query('SET search_path = market_mirror; SET TimeZone = UTC');
  const end = () => client.end().catch(() => undefined);
  onTestFinished(end);
  return {
    url: addressOf(folder, database),
    folder,
    database,
    query: async (sql, values = []) => (await client.query(sql, [...values])).rows,
    end,
  };
}

export type Cutting = {
  /** As MIRROR_SHIP takes it. */
  url: string;
  /** How many pieces clients have sent. */
  sent: () => number;
};

/** A way to it on which connections are lost: see `startCuttingProxy`. */
export async function cuttingProxy(
  { folder, database }: Postgres,
  isCut: Parameters<typeof startCuttingProxy>[1],
): Promise<Cutting> {
  const { port, sent, close } = await startCuttingProxy(folder, isCut);
  onTestFinished(close);
  return { url: `postgres://postgres@127.0.0.1:${port}/${database}`, sent };
}

/** Whoever makes the folder of the data starts it; the others wait until it answers. */
async function start(): Promise<string> {
  const folder = process.env[FOLDER];
  if (!folder) throw new Error('the Postgres of the tests is started by vitest.config.ts');
  try {
    mkdirSync(join(folder, 'started'));
  } catch {
    while (!existsSync(join(folder, 'ready'))) await delay(50);
    return folder;
  }
  startPostgres(careless, folder);
  mkdirSync(join(folder, 'ready'));
  return folder;
}
