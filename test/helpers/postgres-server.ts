/** A server of Postgres in a folder of its own, reached by a socket there. */

import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

export type PostgresServer = {
  /** Its socket lies here: `host` of whoever connects. */
  folder: string;
  stop(): void;
};

/** Settings of a server whose data may be lost with the machine. */
export const careless = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];

/** The path of a socket may not be long. */
export const folderOfServer = () => mkdtempSync('/tmp/mm-pg-');

/** @param settings such as `fsync=off`; what is not named is as Postgres has it. */
export function startPostgres(
  settings: readonly string[] = careless,
  folder = folderOfServer(),
): PostgresServer {
  if (process.getuid?.() === 0) chownSync(folder, ...ownerIds());
  const data = join(folder, 'data');
  as(folder, 'initdb', [
    ...['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8'],
    ...['--no-sync', '--no-instructions'],
  ]);
  const options = [`-k ${folder}`, `-c listen_addresses=''`, ...settings.map((setting) => `-c ${setting}`)];
  as(folder, 'pg_ctl', [
    ...['-D', data, '-w', '-t', '60', '-s', '-l', join(folder, 'log')],
    ...['-o', options.join(' '), 'start'],
  ]);
  return { folder, stop: () => stopPostgres(folder) };
}

/** Ends the server of a folder, where one was started, and removes the folder. */
export function stopPostgres(folder: string): void {
  if (existsSync(join(folder, 'data/postmaster.pid')))
    as(folder, 'pg_ctl', ['-D', join(folder, 'data'), '-m', 'immediate', '-w', '-s', 'stop']);
  rmSync(folder, { recursive: true, force: true });
}

/** As MIRROR_SHIP takes it. */
export const addressOf = (folder: string, database: string) =>
  `postgres:///${database}?host=${encodeURIComponent(folder)}&user=postgres`;

/** It refuses to run as root. */
function as(folder: string, program: string, args: readonly string[]): void {
  const isRoot = process.getuid?.() === 0;
  const user = ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', 'env', `HOME=${folder}`];
  const [command = '', ...rest] = [...(isRoot ? user : []), postgresProgram(program), ...args];
  execFileSync(command, rest, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}

function ownerIds(): [number, number] {
  const id = (option: string) => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));
  return [id('-u'), id('-g')];
}

/** Debian keeps them beside the versions. */
export function postgresProgram(program: string): string {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const found = versions
    .map((version) => join(debian, version, 'bin', program))
    .find((file) => existsSync(file));
  return found ?? program;
}
