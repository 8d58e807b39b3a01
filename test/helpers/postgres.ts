/** A Postgres of the tests' own: one for a whole run, started by the first test that asks; each test has a database of its own. */

import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { listenOnLoopback } from './loopback.ts';

const FOLDER = 'MARKET_MIRROR_TEST_POSTGRES';

/** Its data may be lost with the machine. */
const careless = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'autovacuum=off', 'jit=off'];

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
    url: `postgres:///${database}?host=${encodeURIComponent(folder)}&user=postgres`,
    folder,
    database,
    query: async (sql, values = []) => (await client.query(sql, [...values])).rows,
    end,
  };
}

/**
 * A way to it on which connections are lost.
 * @param isCut told of each piece that a client sends, with its number; `after`: it arrives, its answer does not.
 * @returns an address as MIRROR_SHIP takes it, and how many pieces clients have sent.
 */
export async function cuttingProxy(
  { folder, database }: Postgres,
  isCut: (piece: string, number: number) => 'before' | 'after' | false,
): Promise<{ url: string; sent: () => number }> {
  let sent = 0;
  const server = createServer((client) => {
    const there = connect(join(folder, '.s.PGSQL.5432'));
    const cut = () => {
      client.destroy();
      there.destroy();
    };
    let isLast = false;
    for (const socket of [client, there]) socket.on('error', cut).on('close', cut);
    // Slow on one side, slow on the other.
    there.on('data', (piece) => {
      if (isLast) return cut();
      if (!client.write(piece)) there.pause();
    });
    client.on('drain', () => there.resume());
    there.on('drain', () => client.resume());
    client.on('data', (piece) => {
      sent += 1;
      const how = isCut(piece.toString('latin1'), sent);
      if (how === 'before') return cut();
      isLast ||= how === 'after';
      if (!there.write(piece)) client.pause();
    });
  });
  const { port, close } = await listenOnLoopback(server);
  onTestFinished(close);
  return { url: `postgres://postgres@127.0.0.1:${port}/${database}`, sent: () => sent };
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
  if (isRoot) chownSync(folder, ...ownerIds());
  const data = join(folder, 'data');
  as(folder, 'initdb', [
    ...['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8'],
    ...['--no-sync', '--no-instructions'],
  ]);
  const options = [`-k ${folder}`, `-c listen_addresses=''`, ...careless.map((setting) => `-c ${setting}`)];
  as(folder, 'pg_ctl', [
    ...['-D', data, '-w', '-t', '60', '-s', '-l', join(folder, 'log')],
    ...['-o', options.join(' '), 'start'],
  ]);
  mkdirSync(join(folder, 'ready'));
  return folder;
}

const isRoot = process.getuid?.() === 0;

/** It refuses to run as root. */
function as(folder: string, program: string, args: readonly string[]): void {
  const user = ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', 'env', `HOME=${folder}`];
  const [command = '', ...rest] = [...(isRoot ? user : []), postgresProgram(program), ...args];
  execFileSync(command, rest, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}

function ownerIds(): [number, number] {
  const id = (option: string) => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));
  return [id('-u'), id('-g')];
}

/** Debian keeps them beside the versions. */
function postgresProgram(program: string): string {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const files = versions.map((version) => join(debian, version, 'bin', program));
  return files.find((file) => existsSync(file)) ?? program;
}
