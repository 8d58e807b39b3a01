/**
 * The mirror as the service reads it: opened when it is there, opened anew where it was replaced. While it cannot be read,
 * responses say so and the process goes on. And what is made of a connection once and kept with it: statements, and its transaction.
 */

import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import { Failure } from '../../base/errors.ts';
import type { ListedJob } from '../../job/list.ts';
import { openPages, type Pages } from '../../reading/pages.ts';
import { type Connection, openMirror } from '../../store/read.ts';
import { guarded, watchFiles } from '../../store/sqlite-files.ts';
import { type ReportOutage, reportOnChange } from '../access/outage.ts';

export type OpenMirror = {
  readonly connection: Connection;
  /** Another one for another file: what is cached of one mirror is nothing of the next. */
  readonly name: string;
  readonly pages: Pages;
  /** Another number when anything has been committed. */
  version(): number;
};

export type WatchedMirror = ReturnType<typeof watchMirror>;

const CHECK_EVERY_MS = 1_000;

/** A response waits for no process that locks the mirror: all others would wait with it. */
const LOCK_WAIT_MS = 20;

export function watchMirror(
  dir: string,
  jobs: readonly ListedJob[],
  { monotonic }: Pick<Clock, 'monotonic'>,
  report: ReportOutage,
) {
  const attempt = reportOnChange(report);
  let open: (OpenMirror & { isLost: () => Failure | undefined }) | undefined;
  let outage: Failure | undefined;
  let checkedAt = Number.NEGATIVE_INFINITY;

  function close(): void {
    open?.connection.close();
    open = undefined;
  }

  function current(): OpenMirror {
    if (monotonic() - checkedAt >= CHECK_EVERY_MS) {
      checkedAt = monotonic();
      outage = undefined;
      if (open?.isLost()) close();
    }
    if (outage) throw outage;
    open ??= openIn(dir, jobs);
    return open;
  }

  return {
    /** Undefined where the mirror cannot be read now, which has been reported. */
    read: <Result extends object>(work: (mirror: OpenMirror) => Result): Result | undefined =>
      attempt(() => {
        try {
          const mirror = current();
          return guarded(mirror.connection.name, () => work(mirror));
        } catch (thrown) {
          if (thrown instanceof Failure && thrown.kind !== 'incomplete') close();
          if (thrown instanceof Failure && !open) outage = thrown;
          throw thrown;
        }
      }),
    /** What a process of the pool met: the mirror is opened anew, and the next to read it says when it is over. */
    report: (failure: Failure): void =>
      void attempt(() => {
        close();
        throw failure;
      }),
    close,
  };
}

function openIn(dir: string, jobs: readonly ListedJob[]) {
  const connection = openMirror(dir, LOCK_WAIT_MS);
  try {
    return guarded(connection.name, () => {
      const version = connection.prepare<[], number>('PRAGMA data_version').pluck();
      const pages = openPages(connection, jobs);
      const { ino, birthtimeNs } = lstatSync(connection.name, { bigint: true });
      const identity = createHash('sha256').update(`${ino} ${birthtimeNs}`).digest('base64url');
      return {
        connection,
        name: identity.slice(0, 8),
        pages,
        version: () => version.get() as number,
        isLost: watchFiles(connection.name),
      };
    });
  } catch (thrown) {
    connection.close();
    throw thrown;
  }
}

/** Statements of a connection, which cost more to prepare than most rows to read. */
const statements = new WeakMap<Connection, Map<string, ReturnType<Connection['prepare']>>>();
const MAX_STATEMENTS = 200;

export function prepared(connection: Connection, sql: string) {
  const known = statements.get(connection) ?? new Map<string, ReturnType<Connection['prepare']>>();
  statements.set(connection, known);
  const found = known.get(sql);
  if (found) return found;
  if (known.size >= MAX_STATEMENTS) known.clear();
  const statement = connection.prepare(sql);
  known.set(sql, statement);
  return statement;
}

const moments = new WeakMap<Connection, (work: () => unknown) => unknown>();

/** Runs `work` on one moment of the database. Its transaction is made once for each connection: to make one takes 8 µs. */
export function inReadTransaction<Value>(connection: Connection, work: () => Value): Value {
  const run = moments.get(connection) ?? connection.transaction((work: () => unknown) => work());
  moments.set(connection, run);
  return run(work) as Value;
}
