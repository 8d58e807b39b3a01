/** Every row that a walk brought, changed or removed. */

import type { PageCell } from '../../../src/serve/ui/wire.ts';
import { count } from '../../formats.ts';
import { Awaited } from '../../parts/awaited.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import { linkTo, linkToSql } from '../../router.ts';
import { pathOf } from '../../routes.ts';
import { select } from '../../sql.ts';
import { useCurrentAnswer } from '../browsing.ts';

const MOST = 500;
/** More would push the calls of the walk out of sight. */
const MOST_OPEN = 20;
const columns = ['at', 'change', 'key'];

type Props = {
  walk: number;
  job: string;
  /** As the walk counted them itself. */
  counted: number;
  first: PageCell;
  last: PageCell;
};

export function Changes({ walk, job, counted, first, last }: Props) {
  const isNone = first === null || last === null;
  // The numbers of its commits find them without reading those of others.
  const sql = select({
    columns,
    from: 'changes',
    where: [
      { column: 'job', is: '=', value: job },
      { column: 'seq', is: '>=', value: Number(first) },
      { column: 'seq', is: '<=', value: Number(last) },
    ],
    order: [{ column: 'seq' }],
  });
  const asked = useCurrentAnswer(isNone ? null : { ...sql, limit: MOST });
  const { value } = asked;
  return (
    <section class="card stack" aria-labelledby="changes">
      <div class="tools">
        <h2 id="changes">Changes</h2>
        <span class="note">
          {count(counted, 'row')}
          {value?.isCut && `, the first ${MOST} of them here`}
        </span>
        <span class="spread" />
        {!isNone && <a href={linkToSql(sql)}>Open as SQL</a>}
      </div>
      <Awaited asked={asked} />
      {isNone && <p class="note">It changed nothing.</p>}
      {value && value.rows.length > 0 && (
        <details open={value.rows.length <= MOST_OPEN}>
          <summary>Which rows</summary>
          <Table
            caption={`Changes of walk ${walk}`}
            columns={tableOf(job)}
            rows={value.rows}
            isLoading={asked.isOld}
          />
        </details>
      )}
    </section>
  );
}

const words: Readonly<Record<string, { word: string; tag: string }>> = {
  insert: { word: '+ new', tag: 'good' },
  update: { word: '~ changed', tag: 'warn' },
  delete: { word: '− gone', tag: 'bad' },
};

const tableOf = (job: string): TableColumn[] => [
  { name: 'at', label: 'Committed' },
  {
    name: 'change',
    label: 'Change',
    show: (change) => <span class={`tag ${words[String(change)]?.tag}`}>{words[String(change)]?.word}</span>,
  },
  {
    name: 'key',
    label: 'Row',
    kind: 'text',
    show: (key) => <a href={linkTo(pathOf({ view: 'row', job, key: String(key) }))}>{String(key)}</a>,
  },
];
