/** Stores for tests of one part: a mirror of an API that answers with just these rows, and tables without any mirror around it. */

import { mkdtempSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { faults } from '../../model-api/index.ts';
import { isoTime } from '../../src/base/clock.ts';
import type { Job } from '../../src/job.ts';
import { type Connection, openConnection } from '../../src/store/connection.ts';
import { type Keep, openStore, type WalkRow } from '../../src/store.ts';
import { memory, removeFolder } from '../helpers/folder.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';

export type RowsBench = Bench & {
  /** One walk over a dataset of these rows, each as JSON, on one page. */
  mirrorRows(job: string, ...rows: string[]): Promise<WalkRow>;
};

/** A mirror of an API that answers with just the rows of `mirrorRows`, for JSON that no JavaScript would write. */
export async function setupRows(): Promise<RowsBench> {
  let body = '';
  const bench = await setup({ faults: [() => faults.status(200, Buffer.from(body))] });
  const mirrorRows = (job: string, ...rows: string[]) => {
    body = pageOf(rows);
    return bench.mirror(job);
  };
  return Object.assign(bench, { mirrorRows });
}

function pageOf(rows: readonly string[]): string {
  const count = rows.length;
  const pagination = { offset: 0, limit: 100, total: count, returned: count, hasMore: false };
  return `{"rows":[${rows.join(',')}],"pagination":${JSON.stringify(pagination)}}`;
}

/** An empty mirror of these jobs, and a connection of its own that writes to it. */
export function openTables(jobs: readonly Job[]): Connection {
  const dir = mkdtempSync(join(memory, 'mirror-tables-'));
  openStore(dir, jobs, () => 0).close();
  const connection = openConnection(join(dir, 'mirror.db'));
  onTestFinished(() => {
    connection.close();
    removeFolder(dir);
  });
  return connection;
}

/** Bytes that the work adds to the write-ahead log. */
export function bytesWritten(connection: Connection, work: () => void): number {
  connection.pragma('wal_checkpoint(TRUNCATE)');
  work();
  return statSync(`${connection.name}-wal`).size;
}

const DAY = 24 * 3_600_000;

/** So many days; for ever where not given. */
export const keepFor = ({
  history = Number.POSITIVE_INFINITY,
  records = Number.POSITIVE_INFINITY,
}: {
  history?: number;
  records?: number;
}): Keep => ({
  historyMs: history * DAY,
  recordsMs: records * DAY,
});

/** Days go by, and a call is made before their last: the time of nothing else is believed where much is forgotten. */
export function passDays({ clock, tamper }: Bench, days: number): void {
  clock.advance(days * DAY);
  const at = isoTime(clock.now() - DAY);
  tamper(`INSERT INTO requests (at, job, url, ms, bytes) VALUES ('${at}', 'other', '', 0, 0)`);
}
