/** A list with its pages, or what stands in its place. */

import type { ComponentChildren } from 'preact';
import { count } from '../../formats.ts';
import { Awaited } from '../../parts/awaited.tsx';
import { Empty } from '../../parts/states.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import { linkToSql } from '../../router.ts';
import type { Listed } from '../browsing.ts';

type Props = {
  caption: string;
  /** What one row is: `walk`. */
  unit: string;
  columns: readonly TableColumn[];
  hidden?: ReadonlySet<string>;
  listed: Listed;
  /** Where there is none. */
  empty: ComponentChildren;
};

export function List({ caption, unit, columns, hidden, listed, empty }: Props) {
  const { asked, rows, total, sql } = listed;
  return (
    <section class="stack" aria-label={caption}>
      <Awaited asked={asked} />
      {asked.value !== null && rows.length === 0 && <Empty>{empty}</Empty>}
      {rows.length > 0 && (
        <div class="card list">
          <Table
            caption={`${caption}, newest first`}
            columns={columns}
            rows={rows}
            hidden={hidden}
            isLoading={asked.isOld}
          />
        </div>
      )}
      <div class="tools">
        <Turns {...listed} />
        {total !== null && <span class="note">{count(total, unit)} in all</span>}
        <span class="spread" />
        <a href={linkToSql(sql)}>Open as SQL</a>
      </div>
    </section>
  );
}

function Turns({ newer, older }: Listed) {
  if (newer === null && older === null) return null;
  return (
    <nav class="tools" aria-label="Pages">
      <Turn to={newer}>‹ Newer</Turn>
      <Turn to={older}>Older ›</Turn>
    </nav>
  );
}

function Turn({ to, children }: { to: string | null; children: ComponentChildren }) {
  return to === null ? (
    <span class="turn off">{children}</span>
  ) : (
    <a class="turn" href={to}>
      {children}
    </a>
  );
}
