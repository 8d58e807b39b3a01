/** One connection to Postgres, and its errors as Failures. */

import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { Failure, type FailureKind } from '../../base/errors.ts';
import { version } from '../../base/version.ts';
import type { ShipAddress } from '../../config.ts';
import { quoted } from '../../store/read.ts';

export type Postgres = {
  /** Host, port and database: nothing secret. */
  name: string;
  query<Row extends object>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  /** How many rows it touched. */
  run(sql: string, values?: readonly unknown[]): Promise<number>;
  /** Sends rows in the text form of COPY, no faster than they are taken. @param target what follows COPY. @returns how many it took. */
  copy(target: string, lines: Iterable<Buffer>): Promise<number>;
  /** All of `work`, or nothing; bare names in it are of the schema. @throws Failure of which the transaction left nothing, unless it was lost at its end. */
  transaction<T>(work: () => Promise<T>): Promise<T>;
  /** Like `work`, but what fails in it leaves nothing, and the transaction around it goes on. */
  attempt<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
};

/** Older ones get no corrections any more. */
const OLDEST_VERSION = 14;
const CONNECT_MS = 10_000;
/** After so long a silence the kernel asks whether the host is still there; Linux would wait for two hours. */
const KEEP_ALIVE_MS = 30_000;
/** How long it waits for another shipper, or for a report that reads a table to which a column is added. */
const LOCK_WAIT = '60s';

/**
 * @param schema where transactions find bare names; it may come to be in one.
 * @throws Failure `incomplete` or `disk`, which `failureOf` tells apart.
 */
export async function openPostgres(
  { url, schema }: Pick<ShipAddress, 'url' | 'schema'>,
  signal: AbortSignal,
): Promise<Postgres> {
  const client = new pg.Client({
    connectionString: url,
    application_name: `market-mirror/${version()}`,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  });
  const name = `Postgres ${client.host}:${client.port}/${client.database ?? ''}`;
  let lost: Error | undefined;
  // Without a listener, a connection that is lost between two statements would end the process.
  client.on('error', (error) => {
    lost = error;
  });
  // While it connects, `end` would wait for the host.
  const stop = () => void client.connection.stream.destroy();
  const withFailures = async <T>(work: () => Promise<T>): Promise<T> => {
    const stopped = () => new Failure('incomplete', `${name}: stopped; the next run goes on from here`);
    if (signal.aborted) throw stopped();
    try {
      return await work();
    } catch (thrown) {
      throw signal.aborted ? stopped() : failureOf(lost ?? thrown, name);
    }
  };
  const ask = (sql: string, values: readonly unknown[] = []) => client.query(sql, [...values]);
  signal.addEventListener('abort', stop, { once: true });
  const release = () => signal.removeEventListener('abort', stop);
  const close = async () => {
    release();
    await client.end().catch(() => undefined);
  };
  try {
    await withFailures(() => client.connect());
  } catch (thrown) {
    release();
    throw thrown;
  }
  try {
    await withFailures(() => configureSession(client, name));
  } catch (thrown) {
    await close();
    throw thrown;
  }
  const atomic = async <T>(
    work: () => Promise<T>,
    [begin, commit, undo]: readonly [string, string, string],
  ): Promise<T> => {
    await withFailures(() => ask(begin));
    try {
      const result = await work();
      await withFailures(() => ask(commit));
      return result;
    } catch (thrown) {
      if (!lost) await ask(undo).catch(() => undefined);
      throw thrown;
    }
  };
  return {
    name,
    query: (sql, values) => withFailures(async () => (await ask(sql, values)).rows),
    run: (sql, values) => withFailures(async () => (await ask(sql, values)).rowCount ?? 0),
    copy: (target, lines) =>
      withFailures(async () => {
        const input = client.query(copyFrom(`COPY ${target}`));
        await pipeline(Readable.from(lines), input);
        return input.rowCount;
      }),
    // A pooler may give each transaction another session, and between two of them the session to others.
    transaction: (work) =>
      atomic(work, [`BEGIN; SET LOCAL search_path = ${quoted(schema)}`, 'COMMIT', 'ROLLBACK']),
    attempt: (work) =>
      atomic(work, ['SAVEPOINT attempt', 'RELEASE attempt', 'ROLLBACK TO attempt; RELEASE attempt']),
    close,
  };
}

async function configureSession(client: pg.Client, name: string): Promise<void> {
  const { rows } = await client.query<{ number: number; said: string; encoding: string }>(
    `SELECT current_setting('server_version_num')::int / 10000 AS number, current_setting('server_version') AS said,
       current_setting('server_encoding') AS encoding`,
  );
  const [{ number = 0, said = '', encoding = '' } = {}] = rows;
  if (number < OLDEST_VERSION)
    throw new Failure(
      'disk',
      `${name} is version ${said}, which is too old: it takes ${OLDEST_VERSION} or newer`,
    );
  if (encoding !== 'UTF8')
    throw new Failure('disk', `${name} keeps its text as ${encoding}: make a database with ENCODING 'UTF8'`);
  await client.query(
    `SET lock_timeout = '${LOCK_WAIT}'; SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0;
     SET client_min_messages = warning; SET DateStyle = ISO; SET TimeZone = 'UTC'; SET tcp_keepalives_idle = 30;
     SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3`,
  );
}

/** By the first characters of an error's code: whether trying again can help (`incomplete`), and what it means for people. */
const meanings: readonly [RegExp, FailureKind, string][] = [
  [
    /^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EHOST|ENET|EPIPE|ENOENT$|EACCES$|EPERM$)/,
    'incomplete',
    'cannot be reached',
  ],
  [/^(08|57P0)/, 'incomplete', 'is not there for now'],
  [/^53300/, 'incomplete', 'takes no more connections for now'],
  [/^28/, 'incomplete', 'refuses the user or the password of MIRROR_SHIP'],
  [/^3D000/, 'incomplete', 'has no such database: make it'],
  [/^(55P03|40)/, 'incomplete', 'is busy with the same tables: try again'],
  [/^25006/, 'incomplete', 'is read-only: name the server that is written to'],
  [
    /^42501/,
    'incomplete',
    'lets this user do too little: it takes CREATE and TEMPORARY on the database, or the schema as its own',
  ],
  [/^23/, 'incomplete', 'cannot take the rows: a constraint that was added there refuses them'],
  [/^P0/, 'incomplete', 'cannot take the rows: a trigger or function that was added there refuses them'],
  [/^22/, 'disk', 'cannot hold a value as a column, an index or a trigger there wants it'],
  [/^53100/, 'disk', 'has no room left on its disk'],
  [/^54011/, 'disk', 'takes no more columns in a table: dropped ones count, too'],
  [
    /^54000/,
    'disk',
    'cannot hold a row: it is wider than a page there, or a value longer than an index takes',
  ],
  [/^(53|58|XX)/, 'disk', 'cannot keep it'],
];

/** Codes whose messages name tables, columns and rights, and no value of a row. */
const NAMES_ALONE = /^(0A|23|2BP01|42|54|55)/;

/** An error of Postgres or of the connection, as a Failure: no value of a row is in its message. What is neither stays as it is. */
export function failureOf(thrown: unknown, name: string): unknown {
  if (thrown instanceof Failure || !(thrown instanceof Error)) return thrown;
  const errors = thrown instanceof AggregateError ? (thrown.errors as Error[]) : [thrown];
  const [first = thrown] = errors as (Error & { code?: string })[];
  const { code = '', message } = first as Error & { code?: string };
  // Names of errors of the system have five letters, too: EPERM.
  const isCode = /^[0-9A-Z]{5}$/.test(code) && !('syscall' in first);
  // What a server says with a code may hold any word: of a trigger, of a column.
  const isLost =
    !isCode && /terminated|timeout expired|Connection ended|not queryable|Client was closed/i.test(message);
  const [, kind, words] = meanings.find(([pattern]) => pattern.test(isLost ? '08' : code)) ?? [];
  const said = code === '' ? message : NAMES_ALONE.test(code) ? `${message}; ${code}` : code;
  if (kind && words) return new Failure(kind, `${name} ${words} (${said})`, { cause: thrown });
  if (isCode) return new Failure('disk', `${name} refuses a statement (${said})`, { cause: thrown });
  return /ssl|certificate|password|SASL/i.test(message)
    ? new Failure('incomplete', `${name} cannot be reached: ${message}`, { cause: thrown })
    : thrown;
}
