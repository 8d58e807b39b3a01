/** Every call of a walk, in the order in which they were sent. */

import { count } from '../../formats.ts';
import { Awaited } from '../../parts/awaited.tsx';
import { Empty } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { linkTo, linkToSql } from '../../router.ts';
import { select } from '../../sql.ts';
import { useCurrentAnswer } from '../browsing.ts';
import { callColumns, callTable, hiddenCallColumns } from '../calls.tsx';

/** A walk of more calls is read in the list of all calls, page by page. */
const MOST = 500;
/** Of one walk they are all the same. */
const hidden = new Set([...hiddenCallColumns, 'job', 'walk_id']);

export function Calls({ walk }: { walk: number }) {
  const sql = select({
    columns: callColumns,
    from: 'requests',
    where: [{ column: 'walk_id', is: '=', value: walk }],
    order: [{ column: 'id' }],
  });
  const asked = useCurrentAnswer({ ...sql, limit: MOST });
  const { value } = asked;
  return (
    <section class="card stack list" aria-labelledby="calls">
      <div class="tools">
        <h2 id="calls">Calls</h2>
        {value && (
          <span class="note">{value.isCut ? `the first ${MOST}` : count(value.rows.length, 'call')}</span>
        )}
        <span class="spread" />
        <a href={linkTo('/calls', { walk })}>Among all calls</a>
        <a href={linkToSql(sql)}>Open as SQL</a>
      </div>
      <Awaited asked={asked} />
      {value && value.rows.length === 0 && <Empty>Its calls are forgotten: only their number is kept.</Empty>}
      {value && value.rows.length > 0 && (
        <Table
          caption={`Calls of walk ${walk}`}
          columns={callTable}
          rows={value.rows}
          hidden={hidden}
          isLoading={asked.isOld}
        />
      )}
    </section>
  );
}
