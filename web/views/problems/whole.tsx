/** A list that is short enough to be shown whole. */

import { count } from '../../formats.ts';
import { Awaited } from '../../parts/awaited.tsx';
import { usePages } from '../../parts/pages.tsx';
import { Empty } from '../../parts/states.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import { linkToSql } from '../../router.ts';
import type { Sql } from '../../sql.ts';
import { PAGE, useCurrentAnswer } from '../browsing.ts';

/** Each dataset has about a thousand of them at most. */
const MOST = 10_000;

type Props = {
  id: string;
  title: string;
  /** Of the table. */
  caption: string;
  note: string;
  unit: string;
  sql: Sql;
  columns: readonly TableColumn[];
  empty: string;
};

export function Whole({ id, title, caption, note, unit, sql, columns, empty }: Props) {
  const asked = useCurrentAnswer({ ...sql, limit: MOST });
  const rows = asked.value?.rows ?? [];
  const { shown, pager } = usePages(rows, PAGE);
  return (
    <section class="stack" aria-labelledby={id}>
      <div class="heading">
        <h2 id={id}>{title}</h2>
        <span class="note">{note}</span>
      </div>
      <Awaited asked={asked} />
      {asked.value !== null && rows.length === 0 && <Empty>{empty}</Empty>}
      {rows.length > 0 && (
        <div class="card list">
          <Table caption={caption} columns={columns} rows={shown} isLoading={asked.isOld} />
        </div>
      )}
      <div class="tools">
        {pager}
        {rows.length > 0 && <span class="note">{count(rows.length, unit)}</span>}
        <span class="spread" />
        <a href={linkToSql(sql)}>Open as SQL</a>
      </div>
    </section>
  );
}
