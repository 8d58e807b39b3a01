/** Pages that wait in memory for their commit, and what a look-up must know of them: the table does not show them yet. */

import type { Call } from '../../api/call.ts';
import type { CheckedRows } from '../../validate/checked.ts';
import type { Checkpoint, MetRowsChange } from '../../walk/checkpoint.ts';
import { createRowidSet } from '../met-rows.ts';
import type { ComparedRow } from './rows.ts';

/** A page with the checkpoint behind it, and whether its rows count as met. */
export type PageToSave = {
  page: CheckedRows & { call: Call };
  checkpoint: Checkpoint;
  metRows: MetRowsChange;
};

/** What is left to do of it: its rows beside what the table holds, as they were looked up, and all else but the rows. */
export type WaitingPage = Pick<PageToSave, 'checkpoint' | 'metRows'> & {
  page: Pick<PageToSave['page'], 'keys' | 'refused' | 'drifts' | 'fields' | 'call'>;
  rows: readonly ComparedRow[];
};

/** A crash repeats the calls of as many pages; a commit that writes more rows would keep all else waiting for over 25 ms. */
const MOST = { pages: 20, rowsToWrite: 1_300 };

export type WaitingPages = {
  readonly pages: readonly WaitingPage[];
  /** True once no more may wait. */
  readonly isFull: boolean;
  add(page: WaitingPage): void;
  /** The row that waits to be written under this key. */
  find(key: string): ComparedRow | undefined;
  /** Whether a page that waits counts the row of this number as met, or one of this key which has no number. */
  hasMetRow(rowid: number): boolean;
  hasMetKey(key: string): boolean;
  /** Whether the page says something else of a row than a page that waits: it can only follow that page's commit. */
  contradicts(page: CheckedRows): boolean;
  clear(): void;
};

/**
 * What waits for one commit. The next one gets maps of its own: V8 links the table of a map that grew or was cleared to the
 * next one, and so the first table that grew old would keep all that ever waited until V8 looks through its whole heap.
 */
const nothing = () => ({
  pages: [] as WaitingPage[],
  /** Those to be written; null where the row was refused. */
  rows: new Map<string, ComparedRow | null>(),
  metRows: createRowidSet(),
  metKeys: new Set<string>(),
  rowsToWrite: 0,
});

export function createWaitingPages(): WaitingPages {
  let waiting = nothing();

  function meet({ page, rows }: WaitingPage): void {
    const { metRows, metKeys } = waiting;
    for (const { key, held } of rows)
      if (held) metRows.add(held.rowid);
      else metKeys.add(key);
    for (const { key } of page.refused) if (key !== null) metKeys.add(key);
  }

  return {
    get pages() {
      return waiting.pages;
    },
    get isFull() {
      return waiting.pages.length >= MOST.pages || waiting.rowsToWrite >= MOST.rowsToWrite;
    },
    add(added) {
      const { pages, rows } = waiting;
      pages.push(added);
      for (const row of added.rows) {
        if (row.change === 'none' || rows.get(row.key) === row) continue;
        waiting.rowsToWrite += 1;
        rows.set(row.key, row);
      }
      for (const { key } of added.page.refused) if (key !== null) rows.set(key, null);
      if (added.metRows === 'add') meet(added);
    },
    find: (key) => waiting.rows.get(key) ?? undefined,
    hasMetRow: (rowid) => waiting.metRows.has(rowid),
    hasMetKey: (key) => waiting.metKeys.has(key),
    contradicts({ accepted, refused }) {
      const { rows } = waiting;
      // In most passes few pages have a row to write.
      if (rows.size === 0) return false;
      return (
        refused.some(({ key }) => key !== null && rows.has(key)) ||
        accepted.some((row) => {
          const before = rows.get(row.key);
          return before !== undefined && !isSame(before, row);
        })
      );
    },
    clear() {
      waiting = nothing();
    },
  };
}

function isSame(before: ComparedRow | null, { values }: Pick<ComparedRow, 'values'>): boolean {
  return before !== null && Object.keys(values).every((name) => before.values[name] === values[name]);
}
