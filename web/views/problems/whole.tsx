/** A list that is short enough to be shown whole. */

import { useState } from 'preact/hooks';
import { count } from '../../formats.ts';
import { Running } from '../../parts/running.tsx';
import { Empty, Failed, Loading } from '../../parts/states.tsx';
import { Pager, Table, type TableColumn } from '../../parts/table.tsx';
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
  const [turned, setTurned] = useState(0);
  const rows = asked.value?.rows ?? [];
  const offset = turned < rows.length ? turned : 0;
  return (
    <section class="stack" aria-labelledby={id}>
      <div class="heading">
        <h2 id={id}>{title}</h2>
        <span class="note">{note}</span>
      </div>
      {asked.trouble && <Failed trouble={asked.trouble} again={asked.again} />}
      <Running asked={asked} />
      {asked.value === null && !asked.trouble && <Loading />}
      {asked.value !== null && rows.length === 0 && <Empty>{empty}</Empty>}
      {rows.length > 0 && (
        <div class="card">
          <Table
            caption={caption}
            columns={columns}
            rows={rows.slice(offset, offset + PAGE)}
            isLoading={asked.isOld}
          />
        </div>
      )}
      <div class="tools">
        {rows.length > PAGE && (
          <Pager
            offset={offset}
            limit={PAGE}
            shown={Math.min(PAGE, rows.length - offset)}
            total={rows.length}
            turn={setTurned}
          />
        )}
        {rows.length > 0 && <span class="note">{count(rows.length, unit)}</span>}
        <span class="spread" />
        <a href={linkToSql(sql)}>Open as SQL</a>
      </div>
    </section>
  );
}
