/** Rows that are all there, shown a page at a time. */

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { Pager } from './table.tsx';

/** @returns the rows of the page that is shown, and what turns it, where there is more than one. */
export function usePages<Row>(
  rows: readonly Row[],
  limit: number,
): { shown: readonly Row[]; pager: VNode | null } {
  const [turned, setTurned] = useState(0);
  const offset = turned < rows.length ? turned : 0;
  const shown = rows.slice(offset, offset + limit);
  const pager =
    rows.length > limit ? (
      <Pager offset={offset} limit={limit} shown={shown.length} total={rows.length} turn={setTurned} />
    ) : null;
  return { shown, pager };
}
