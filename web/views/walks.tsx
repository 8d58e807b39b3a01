/** Every walk with its evidence, newest first. */

import { Heading } from '../parts/heading.tsx';
import { namesOf, type TableColumn } from '../parts/table.tsx';
import { usePageAddress } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import {
  Choice,
  DatasetChoice,
  Filters,
  isUnremarkable,
  jobColumn,
  List,
  Past,
  Remarks,
  reading,
  TimeFilters,
  tookOf,
  WalkLink,
  WalkOutcome,
  within,
} from './browsing.tsx';

const kinds = {
  Kind: {
    'kind=eq.walk': 'walk',
    'kind=eq.glance': 'glance',
    'renewal_of=not.is.null': 'renewed by one call',
  },
};
const outcomes = {
  'It proves': {
    'verdict=eq.snapshot': 'snapshot',
    'verdict=eq.verified': 'verified',
    'verdict=eq.union': 'union: nothing',
  },
  'It is': Object.fromEntries(
    ['running', 'waiting', 'complete', 'failed'].map((status) => [`status=eq.${status}`, status]),
  ),
};

export const WalksView: ViewOf<'walks'> = () => {
  const { search, at } = usePageAddress();
  return (
    <>
      <Heading title="Walks">
        <span class="note">each full read or quick check of a dataset, and what it proves</span>
      </Heading>
      <Past what="Walks that had begun by then, as they are known now." />
      <Filters>
        <DatasetChoice />
        <Choice label="Kind" groups={kinds} />
        <Choice label="Outcome" groups={outcomes} />
        <TimeFilters />
      </Filters>
      <List
        caption="Walks"
        unit="walk"
        table="walks"
        columns={columns}
        where={within('started_at', search, at)}
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
    isNothing: (_, row) => isUnremarkable((name) => value(row, name)),
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
  ...['anomalies', 'renewal_of', 'waits_until', 'waits_for'].map(hidden),
];
const value = reading(namesOf(columns));

/** Where the API said how many there are, and other ones came. */
function rowsOf(rows: unknown, total: unknown) {
  if (total === null || total === rows) return undefined;
  return (
    <span title={`the API said ${total}`}>
      {String(rows)} of {String(total)}
    </span>
  );
}
