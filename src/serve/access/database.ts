/**
 * `serve.db`, beside the mirror: keys as their digests alone, accounts with their limits, and what was counted against
 * those; links to the page and its sessions, as digests, too. It holds nothing by which a key could be made.
 */

import { chmodSync, closeSync, lstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../base/disk.ts';
import { Failure } from '../../base/errors.ts';
import { type Connection, guarded, openConnection } from '../../store/sqlite-files.ts';

export function serveFile(dir: string): string {
  return join(dir, 'serve.db');
}

const schema = `
   CREATE TABLE accounts (
     name TEXT PRIMARY KEY,
     created_at TEXT NOT NULL,
     quota TEXT,
     rate TEXT,
     concurrency INTEGER
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE keys (
     seq INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     digest TEXT NOT NULL UNIQUE,
     name TEXT NOT NULL,
     account TEXT NOT NULL REFERENCES accounts (name),
     scopes TEXT NOT NULL,
     addresses TEXT,
     created_at TEXT NOT NULL,
     expires_at TEXT,
     last_used_at TEXT,
     revoked_at TEXT,
     rotated_to TEXT REFERENCES keys (id)
   ) STRICT;
   CREATE TABLE counters (
     account TEXT PRIMARY KEY REFERENCES accounts (name),
     at INTEGER NOT NULL,
     state TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE calls (
     day TEXT NOT NULL,
     account TEXT NOT NULL REFERENCES accounts (name),
     endpoint TEXT NOT NULL,
     class INTEGER NOT NULL,
     calls INTEGER NOT NULL,
     first_at TEXT NOT NULL,
     last_at TEXT NOT NULL,
     PRIMARY KEY (day, account, endpoint, class)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE page_tokens (
     digest TEXT PRIMARY KEY,
     kind TEXT NOT NULL,
     key TEXT REFERENCES keys (id),
     created_at TEXT NOT NULL,
     expires_at TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;`;

/** Goes up with every change of the schema, and of the states in it. */
const VERSION = 4;

/** Tells the database from those of others: "mmsv". */
const APPLICATION = 0x6d_6d_73_76;

/**
 * Opens the database in `dir` for writing, and begins one where there is none.
 * @param lockWaitMs how long to wait for another process that is writing.
 * @throws Failure `config` for one of another version, `disk` for one that is damaged, is no such database or cannot be
 * written, `incomplete` where another process keeps it busy.
 */
export function openServeDatabase(dir: string, lockWaitMs?: number): Connection {
  const file = serveFile(dir);
  guarded(file, () => makePrivate(dir, file));
  const connection = openConnection(file, lockWaitMs);
  try {
    guarded(file, () => {
      if (isNew(connection)) connection.transaction(createSchema).immediate(connection);
    });
    return connection;
  } catch (thrown) {
    connection.close();
    throw thrown;
  }
}

/** Ends links to the page and their sessions, in a copy that is to take the place of the database. */
export function endPageAccess(copy: string): void {
  const connection = openConnection(copy);
  try {
    guarded(copy, () => isNew(connection) || connection.exec('DELETE FROM page_tokens'));
  } finally {
    connection.close();
  }
}

/** For this user alone from its first byte; its log and the index of that are made with the same mode. */
function makePrivate(dir: string, file: string): void {
  makeFolder(dir, 0o700);
  // The log lies beside the path that was opened: two folders with one database would not know of each other.
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink())
    throw new Failure('disk', `${file} is a symbolic link: put the database itself in its place`);
  closeSync(openSync(file, 'a', 0o600));
  chmodSync(file, 0o600);
}

function createSchema(connection: Connection): void {
  // Another process may have done it while this one waited.
  if (!isNew(connection)) return;
  connection.exec(schema);
  connection.pragma(`application_id = ${APPLICATION}`);
  connection.pragma(`user_version = ${VERSION}`);
}

/** Whether nothing was ever kept in it. @throws Failure `disk` for a database of something else, `config` for one of another version. */
function isNew(connection: Connection): boolean {
  const read = (name: string) => Number(connection.pragma(name, { simple: true }));
  const [application, version] = [read('application_id'), read('user_version')];
  const isEmpty = connection.prepare('SELECT 1 FROM sqlite_master').get() === undefined;
  if (application === 0 && isEmpty) return true;
  const { name } = connection;
  if (application !== APPLICATION)
    throw new Failure('disk', `${name} is not the database of serve: move it away, or restore a backup`);
  if (version > VERSION)
    throw new Failure(
      'config',
      `${name}: written by a newer market-mirror (its version is ${version}, this one knows ${VERSION}); upgrade this one`,
    );
  if (version < VERSION)
    throw new Failure(
      'config',
      `${name}: written by an older market-mirror (its version is ${version}, this one knows ${VERSION}); move it away, and create its keys anew`,
    );
  return false;
}
