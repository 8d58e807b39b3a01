/**
 * The mirror as the service reads it: opened when it is there, opened anew where it was replaced. While it cannot be read,
 * answers say so and the process goes on.
 */

import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import type { Clock } from '../../../clock.ts';
import { Failure } from '../../../errors.ts';
import type { ListedJob } from '../../../job-list.ts';
import { type Filtered, openFiltered } from '../../../reading/filters.ts';
import { openPages, type Pages } from '../../../reading/pages.ts';
import { type Connection, openMirror } from '../../../store/read.ts';
import { guarded, watchFiles } from '../../../store/sqlite-files.ts';
import { type Tell, tellingOnce } from '../trouble.ts';

export type OpenMirror = {
  readonly connection: Connection;
  /** Another one for another file: what is kept of one mirror is nothing of the next in its place. */
  readonly name: string;
  readonly pages: Pages;
  readonly filtered: Filtered;
  /** A number that is another one when anything has been committed since. */
  version(): number;
};

export type Mirror = {
  /** Undefined where it cannot be read now; the operator has been told why. */
  read<T extends object>(work: (mirror: OpenMirror) => T): T | undefined;
  close(): Promise<void>;
};

const LOOK_EVERY_MS = 1_000;

/** An answer waits for nobody who locks the mirror: all others would wait with it. */
const LOCK_WAIT_MS = 20;

/** @param tell of what keeps it from being read, once each. */
export function watchedMirror(
  dir: string,
  jobs: readonly ListedJob[],
  { monotonic }: Pick<Clock, 'monotonic'>,
  tell: Tell,
): Mirror {
  const attempt = tellingOnce(tell);
  let open: (OpenMirror & { lost: () => Failure | undefined }) | undefined;
  let trouble: Failure | undefined;
  let lookedAt = Number.NEGATIVE_INFINITY;

  async function close(): Promise<void> {
    const closing = open;
    open = undefined;
    await closing?.filtered.close();
    closing?.connection.close();
  }

  function current(): OpenMirror {
    if (monotonic() - lookedAt >= LOOK_EVERY_MS) {
      lookedAt = monotonic();
      trouble = undefined;
      if (open?.lost()) void close();
    }
    if (trouble) throw trouble;
    open ??= openFrom(dir, jobs);
    return open;
  }

  return {
    read: (work) =>
      attempt(() => {
        try {
          const mirror = current();
          return guarded(mirror.connection.name, () => work(mirror));
        } catch (thrown) {
          if (thrown instanceof Failure && thrown.kind !== 'incomplete') void close();
          if (thrown instanceof Failure && !open) trouble = thrown;
          throw thrown;
        }
      }),
    close,
  };
}

function openFrom(dir: string, jobs: readonly ListedJob[]) {
  const connection = openMirror(dir, LOCK_WAIT_MS);
  try {
    return guarded(connection.name, () => {
      const version = connection.prepare<[], number>('PRAGMA data_version').pluck();
      const pages = openPages(connection, jobs);
      return {
        connection,
        name: nameOf(connection.name),
        pages,
        filtered: openFiltered(connection, jobs, pages),
        version: () => version.get() as number,
        lost: watchFiles(connection.name),
      };
    });
  } catch (thrown) {
    connection.close();
    throw thrown;
  }
}

function nameOf(file: string): string {
  const { ino, birthtimeNs } = lstatSync(file, { bigint: true });
  return createHash('sha256').update(`${ino} ${birthtimeNs}`).digest('base64url').slice(0, 8);
}
