/** A Postgres of the tests' own: one for a whole run, started by the first test that asks; each test has a database of its own. */

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { onTestFinished } from 'vitest';

const FOLDER = 'MARKET_MIRROR_TEST_POSTGRES';

/** Called by vitest before all tests, in a process of its own; what it returns is called after them. */
export default function prepare(): () => void {
  // The path of a socket may not be long.
  const folder = mkdtempSync('/tmp/mm-pg-');
  process.env[FOLDER] = folder;
  return () => {
    if (existsSync(join(folder, 'data/postmaster.pid')))
      as(folder, 'pg_ctl', ['-D', join(folder, 'data'), '-m', 'immediate', '-w', '-s', 'stop']);
    rmSync(folder, { recursive: true, force: true });
  };
}

export type Postgres = {
  /** As MIRROR_SHIP takes it. */
  url: string;
  /** Where it listens, and the name of the database there. */
  folder: string;
  database: string;
  /** Asks in the schema of the mirror. */
  query<Row extends object>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
};

export async function postgres(): Promise<Postgres> {
  const folder = await start();
  databases += 1;
  const database = `t${process.pid}_${databases}`;
  const admin = new pg.Client({ host: folder, user: 'postgres', database: 'postgres' });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${database} TEMPLATE template0`);
  await admin.end();
  const client = new pg.Client({ host: folder, user: 'postgres', database });
  await client.connect();
  client.on('error', () => undefined);
  await client.query('SET search_path = market_mirror; SET TimeZone = UTC');
  onTestFinished(() => client.end().catch(() => undefined));
  return {
    url: `postgres:///${database}?host=${encodeURIComponent(folder)}&user=postgres`,
    folder,
    database,
    query: async (sql, values = []) => (await client.query(sql, [...values])).rows,
  };
}

export type Cutting = {
  /** As MIRROR_SHIP takes it. */
  url: string;
  /** How many pieces clients have sent. */
  sent: () => number;
};

/**
 * A way to it on which connections are lost.
 * @param isCut told of each piece that a client sends, with its number; `after`: it arrives, its answer does not.
 */
export async function cuttingProxy(
  { folder, database }: Postgres,
  isCut: (piece: string, number: number) => 'before' | 'after' | false,
): Promise<Cutting> {
  let sent = 0;
  const server = createServer((client) => {
    const there = connect(join(folder, '.s.PGSQL.5432'));
    const cut = () => {
      client.destroy();
      there.destroy();
    };
    let isLast = false;
    for (const socket of [client, there]) socket.on('error', cut).on('close', cut);
    there.on('data', (piece) => (isLast ? cut() : client.write(piece)));
    client.on('data', (piece) => {
      sent += 1;
      const how = isCut(piece.toString('latin1'), sent);
      if (how === 'before') return cut();
      isLast ||= how === 'after';
      return there.write(piece);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `postgres://postgres@127.0.0.1:${port}/${database}`, sent: () => sent };
}

let databases = 0;

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
  if (process.getuid?.() === 0) chownSync(folder, ...ownerIds());
  const data = join(folder, 'data');
  as(folder, 'initdb', [
    ...['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8'],
    '--no-sync',
    '--no-instructions',
  ]);
  const options = `-k ${folder} -c listen_addresses='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off`;
  as(folder, 'pg_ctl', [
    '-D',
    data,
    '-w',
    '-t',
    '60',
    '-s',
    '-l',
    join(folder, 'log'),
    '-o',
    options,
    'start',
  ]);
  mkdirSync(join(folder, 'ready'));
  return folder;
}

/** It refuses to run as root. */
function as(folder: string, program: string, args: readonly string[]): void {
  const isRoot = process.getuid?.() === 0;
  const user = ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', 'env', `HOME=${folder}`];
  const [command = '', ...rest] = [...(isRoot ? user : []), placeOf(program), ...args];
  execFileSync(command, rest, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}

function ownerIds(): [number, number] {
  const id = (option: string) => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));
  return [id('-u'), id('-g')];
}

/** Debian keeps them beside the versions. */
function placeOf(program: string): string {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const found = versions
    .map((version) => join(debian, version, 'bin', program))
    .find((file) => existsSync(file));
  return found ?? program;
}
