/** Every walk with its evidence, newest first. */

import { Heading } from '../parts/heading.tsx';
import { namesOf, type TableColumn } from '../parts/table.tsx';
import { usePageAddress } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import type { Condition } from '../sql.ts';
import {
  Choice,
  DatasetChoice,
  equal,
  Filters,
  jobColumn,
  List,
  Past,
  Remarks,
  reading,
  TimeFilters,
  tookOf,
  useNewestFirst,
  WalkLink,
  WalkOutcome,
  within,
} from './browsing.tsx';

const kinds = { Kind: { walk: 'walk', glance: 'glance', renewed: 'renewed by one call' } };
const outcomes = {
  'It proves': { snapshot: 'snapshot', verified: 'verified', union: 'union: nothing' },
  'It is': { running: 'running', waiting: 'waiting', complete: 'complete', failed: 'failed' },
};

export const WalksView: ViewOf<'walks'> = () => {
  const { search, at } = usePageAddress();
  const listed = useNewestFirst({
    from: 'walks',
    columns,
    where: [
      ...equal('job', search.get('job')),
      ...kindOf(search.get('kind')),
      ...outcomeOf(search.get('outcome')),
      ...within('started_at', search, at),
    ],
  });
  return (
    <>
      <Heading title="Walks">
        <span class="note">each pass over a dataset, and what it proves</span>
      </Heading>
      <Past what="Walks that had begun by then, as they are known now." />
      <Filters names={['job', 'kind', 'outcome', 'from', 'to']}>
        <DatasetChoice />
        <Choice name="kind" label="Kind" groups={kinds} />
        <Choice name="outcome" label="Outcome" groups={outcomes} />
        <TimeFilters />
      </Filters>
      <List
        caption="Walks"
        unit="walk"
        listed={listed}
        empty="No walk fits these filters. Walks that changed nothing are forgotten after some time."
      />
    </>
  );
};

const hidden = (name: string): TableColumn => ({ name, isHidden: true });

const columns: readonly TableColumn[] = [
  { name: 'id', label: 'Walk', kind: 'text', show: (id) => <WalkLink id={id} /> },
  { name: 'started_at', label: 'Began' },
  jobColumn,
  ...['kind', 'status'].map(hidden),
  { name: 'verdict', label: 'Outcome', show: (_, row) => <WalkOutcome read={(name) => value(row, name)} /> },
  {
    name: 'error',
    label: 'Remarks',
    kind: 'text',
    show: (_, row) => <Remarks read={(name) => value(row, name)} />,
  },
  {
    name: 'finished_at',
    label: 'Took',
    kind: 'number',
    show: (end, row) => tookOf(value(row, 'started_at'), end),
  },
  { name: 'rows', label: 'Rows', show: (rows, row) => rowsOf(rows, value(row, 'total')) },
  hidden('total'),
  { name: 'inserted', label: 'New' },
  { name: 'updated', label: 'Changed' },
  { name: 'deleted', label: 'Gone' },
  { name: 'held', label: 'Held' },
  { name: 'quarantined', label: 'Refused' },
  { name: 'pages', label: 'Pages' },
  { name: 'api_calls', label: 'Calls' },
  { name: 'generated_at', label: 'Generated', show: (at) => (at === null ? '–' : undefined) },
  ...['anomalies', 'renewal_of', 'waits_until', 'waits_for'].map(hidden),
];
const value = reading(namesOf(columns));

function kindOf(kind: string | null): Condition[] {
  return kind === 'renewed' ? [{ column: 'renewal_of', is: 'not null' }] : equal('kind', kind);
}

function outcomeOf(outcome: string | null): Condition[] {
  return equal(outcome !== null && outcome in outcomes['It proves'] ? 'verdict' : 'status', outcome);
}

/** Where the API said how many there are, and other ones came. */
function rowsOf(rows: unknown, total: unknown) {
  if (total === null || total === rows) return undefined;
  return (
    <span title={`the API said ${total}`}>
      {String(rows)} of {String(total)}
    </span>
  );
}
