/** One transaction a page: rows, refused rows, drift, the call and the walk's checkpoint, all or nothing. */

import { isoTime } from '../../clock.ts';
import type { Call, CheckedRows, Page } from '../../page.ts';
import { type Checkpoint, isBehindHead, type Met } from '../../walk/checkpoint.ts';
import type { Connection } from '../db/connection.ts';
import { watchFields } from '../fields.ts';
import { createSequence } from '../records/changes.ts';
import { createDriftLog } from '../records/drift.ts';
import { type Origin, openQuarantine } from '../records/quarantine.ts';
import { type Counts, createCheckpointKeeper } from './checkpoint.ts';
import type { OpenWalk } from './open-walk.ts';
import { type ComparedRow, createTableWriter, type Held } from './rows.ts';

/** A page with the checkpoint behind it, and whether its rows count as met. */
export type PageToSave = { page: CheckedRows & { call: Call }; checkpoint: Checkpoint; met: Met };

export type PageWriter = {
  /**
   * Holds a page against the mirror, ahead of the transaction that saves it. Returns of each of its keys whether this
   * pass of the walk has met it, and whether the mirror held it by a walk that has ended well.
   */
  lookUp(page: CheckedRows): Pick<Page, 'seen' | 'known'>;
  savePage(page: PageToSave): Counts;
  /** Commits the checkpoints of pages that changed nothing, which wait a little for company. */
  flush(): void;
  /** Notes what a walk that has read the whole dataset did not find; call in the transaction that ends it. */
  conclude(): void;
};

export function createPageWriter(connection: Connection, walk: OpenWalk, now: () => number): PageWriter {
  const { job, row } = walk;
  const table = createTableWriter(connection, job);
  const quarantine = openQuarantine(connection, job.name);
  const driftLog = createDriftLog(connection, job.name);
  const fields = job.contract ? undefined : watchFields(connection, job, row.id, driftLog);
  const progress = createCheckpointKeeper(connection, walk, now);
  const nextSeq = createSequence(connection);
  // One transaction for a page of look-ups: each by itself would take and leave SQLite's locks.
  const atOnce = connection.transaction((read: () => Pick<Page, 'seen' | 'known'>) => read());
  const atomically = connection.transaction((work: () => void) => work()).immediate;
  let lookedUp: { accepted: CheckedRows['accepted']; rows: ComparedRow[] } | undefined;

  function lookUp({ accepted, keys }: CheckedRows): Pick<Page, 'seen' | 'known'> {
    const rows = accepted.map((row) => table.compare(row));
    const found = new Map(rows.map(({ key, held }) => [key, held]));
    lookedUp = { accepted, rows };
    const isSeen = (key: string) => (found.has(key) ? hasMetRow(found.get(key)) : hasMetRefused(key));
    const isKnown = (key: string) => (found.has(key) ? isSettled(found.get(key)) : isKnownRefused(key));
    return {
      seen: keys.map((key) => key !== null && isSeen(key)),
      known: keys.map((key) => key !== null && isKnown(key)),
    };
  }

  /** The rows of a page beside what the table holds, as they were looked up. */
  function comparedRows(page: CheckedRows): ComparedRow[] {
    if (lookedUp?.accepted !== page.accepted) lookUp(page);
    return lookedUp?.rows ?? [];
  }

  /** The time of this page's commit; one that changes rows gets its number in the order of all changes. */
  function timeOf(rows: readonly ComparedRow[]): number {
    if (!rows.some(({ change }) => change === 'new' || change === 'changed')) return now();
    const seq = nextSeq(job.name, now());
    row.firstSeq ??= seq;
    row.lastSeq = seq;
    return seq;
  }

  /** Returns their numbers by key. */
  function writeRows(rows: readonly ComparedRow[], at: string, counts: Counts): Map<string, number> {
    const numbers = new Map<string, number>();
    for (const compared of rows) {
      numbers.set(compared.key, table.write(compared, row.id, at));
      if (compared.change === 'new') counts.inserted += 1;
      if (compared.change === 'changed') counts.updated += 1;
      quarantine.resolve(compared.key, at);
    }
    return numbers;
  }

  /** Returns the numbers, by key, of those that the mirror holds as they were before. */
  function writeProblems({ page, met }: PageToSave, origin: Origin, counts: Counts): Map<string, number> {
    const numbers = new Map<string, number>();
    for (const refusedRow of page.refused) {
      const number = quarantine.keep(refusedRow, origin);
      counts.quarantined += 1;
      if (refusedRow.key === null || met !== 'add') continue;
      // A refused row is still there upstream: what the mirror holds under its key must not look gone.
      const held = table.find(refusedRow.key);
      if (held) numbers.set(refusedRow.key, held.rowid);
      else progress.meetRefused(number);
    }
    for (const found of page.drifts) {
      driftLog.note(found, origin);
      counts.drifted += found.times;
    }
    return numbers;
  }

  function meetInOrder({ page, checkpoint }: PageToSave, ...written: Map<string, number>[]): void {
    const part = isBehindHead(checkpoint) ? 'head' : 'rows';
    for (const key of page.keys) {
      if (key === null) continue;
      const rowid = written.find((numbers) => numbers.has(key))?.get(key);
      if (rowid !== undefined) progress.meetRow(rowid, part);
    }
  }

  const hasMetRow = (held: Held | undefined) => held !== undefined && walk.met.rows.has(held.rowid);
  const isSettled = (found: { walkId: number } | undefined) =>
    found !== undefined && !walk.unsettled.has(found.walkId);
  /** Whether this pass has met a row of that key, which is refused now. */
  const hasMetRefused = (key: string) => {
    const refused = quarantine.find(key);
    return (refused !== undefined && walk.met.refused.has(refused.number)) || hasMetRow(table.find(key));
  };
  const isKnownRefused = (key: string) => isSettled(quarantine.find(key)) || isSettled(table.find(key));

  return {
    lookUp: (page) => atOnce(() => lookUp(page)),
    savePage(saved) {
      const { page, met, checkpoint } = saved;
      const counts = { inserted: 0, updated: 0, quarantined: 0, drifted: 0 };
      try {
        const rows = comparedRows(page);
        atomically(() => {
          const { requestId } = page.call;
          const origin = { job: job.name, walkId: row.id, requestId, now: isoTime(timeOf(rows)) };
          counts.drifted += fields?.note(page.fields, origin) ?? 0;
          const written = writeRows(rows, origin.now, counts);
          const refused = writeProblems(saved, origin, counts);
          if (met === 'add') meetInOrder(saved, written, refused);
          if (met === 'clear') progress.forget();
          progress.arrive(checkpoint, page.call, counts);
        });
      } catch (thrown) {
        progress.abandon();
        throw thrown;
      }
      return counts;
    },
    flush: () =>
      atomically(() => {
        driftLog.flush();
        progress.commit();
      }),
    conclude() {
      row.drifted += fields?.conclude() ?? 0;
    },
  };
}
