/** A copy of the mirror as it stands at one moment, made page by page while others go on writing. */

import { reportProgress } from '../progress.ts';
import { openReadOnly } from './connection.ts';
import { guarded, storeFailure } from './failure.ts';
import { renewEpoch } from './identity.ts';
import { Database } from './sqlite.ts';

/** Four megabytes: the thread is free again after some milliseconds. */
const PAGES_AT_ONCE = 1_000;

/**
 * Copies the database `file` into the empty file `copy`, every page as it is, so that row numbers stay.
 * @throws Failure `disk`, or the signal's reason where that ends it.
 */
export async function copyDatabase(
  file: string,
  copy: string,
  signal: AbortSignal,
  pagesAtOnce = PAGES_AT_ONCE,
): Promise<void> {
  const source = openReadOnly(file);
  try {
    guarded(file, () => holdMoment(source));
    const pageBytes = source.pragma('page_size', { simple: true }) as number;
    await source.backup(copy, {
      progress({ totalPages, remainingPages }) {
        signal.throwIfAborted();
        const [done, total] = [totalPages - remainingPages, totalPages].map((pages) => pages * pageBytes);
        reportProgress({ what: 'copying', unit: 'bytes', done: done ?? 0, total: total ?? 0 });
        return pagesAtOnce;
      },
    });
  } catch (thrown) {
    const isFull = thrown instanceof Database.SqliteError && thrown.code === 'SQLITE_FULL';
    throw storeFailure(thrown, isFull ? copy : file);
  } finally {
    source.close();
  }
}

/** Without this, every commit of another process would start the copy anew. */
function holdMoment(source: Database): void {
  source.exec('BEGIN');
  source.prepare('SELECT count(*) FROM sqlite_master').get();
}

/**
 * Checks a copy of `file`, and makes it a single file that can be read from a folder where nothing may be written.
 * @throws Failure `disk` where it is damaged, as the database then is.
 */
export function sealCopy(file: string, copy: string): void {
  guarded(file, () => {
    const connection = new Database(copy, { fileMustExist: true });
    try {
      connection.pragma('journal_mode = delete');
      renewEpoch(connection);
      const verdict = connection.pragma('integrity_check(1)', { simple: true });
      if (verdict !== 'ok') throw new Database.SqliteError(String(verdict), 'SQLITE_CORRUPT');
    } finally {
      connection.close();
    }
  });
}
