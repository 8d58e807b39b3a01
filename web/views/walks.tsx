/** Every walk with its evidence, newest first. */

import { count } from '../formats.ts';
import { Heading } from '../parts/heading.tsx';
import type { TableColumn } from '../parts/table.tsx';
import { usePlace } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import type { Condition } from '../sql.ts';
import {
  Choice,
  DatasetChoice,
  equal,
  Filters,
  List,
  reading,
  TimeFilters,
  useNewestFirst,
  within,
} from './browsing.tsx';
import { JobLink, Past, Remarks, tookOf, WalkLink, WalkOutcome } from './walks/parts.tsx';

const columns = [
  ...['id', 'started_at', 'job', 'kind', 'status', 'verdict', 'error', 'finished_at', 'rows', 'total'],
  ...['inserted', 'updated', 'deleted', 'held', 'quarantined', 'pages', 'api_calls', 'calls_saved'],
  ...['generated_at', 'anomalies', 'renewal_of', 'waits_until', 'waits_for'],
];
const value = reading(columns);

const kinds = { Kind: { walk: 'walk', glance: 'glance', renewed: 'renewed by one call' } };
const outcomes = {
  'It proves': { snapshot: 'snapshot', verified: 'verified', union: 'union: nothing' },
  'It is': { running: 'running', waiting: 'waiting', complete: 'complete', failed: 'failed' },
};

export const WalksView: ViewOf<'walks'> = () => {
  const { search, at } = usePlace();
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
        columns={columns.map((name) => ({ name, ...shown[name] }))}
        hidden={hidden}
        listed={listed}
        empty="No walk fits these filters. Walks that changed nothing are forgotten after some time."
      />
    </>
  );
};

/** PhraseText along with others. */
const hidden = new Set([
  'kind',
  'status',
  'total',
  'anomalies',
  'renewal_of',
  'waits_until',
  'waits_for',
  'calls_saved',
]);

const shown: Record<string, Partial<TableColumn>> = {
  id: { label: 'Walk', kind: 'text', show: (id) => <WalkLink id={id} /> },
  started_at: { label: 'Began' },
  job: { label: 'Dataset', show: (job) => <JobLink job={job} /> },
  verdict: { label: 'Outcome', show: (_, row) => <WalkOutcome read={(name) => value(row, name)} /> },
  finished_at: { label: 'Took', kind: 'number', show: (end, row) => tookOf(value(row, 'started_at'), end) },
  rows: { label: 'Rows', show: (rows, row) => rowsOf(rows, value(row, 'total')) },
  inserted: { label: 'New' },
  updated: { label: 'Changed' },
  deleted: { label: 'Gone' },
  held: { label: 'Held' },
  quarantined: { label: 'Refused' },
  pages: { label: 'Pages' },
  api_calls: {
    label: 'Calls',
    show: (calls, row) => {
      const saved = Number(value(row, 'calls_saved'));
      return saved > 0 ? <span title={`${count(saved, 'call')} saved`}>{String(calls)}</span> : undefined;
    },
  },
  generated_at: { label: 'Generated', show: (at) => (at === null ? '–' : undefined) },
  error: {
    label: 'Remarks',
    kind: 'text',
    show: (_, row) => <Remarks read={(name) => value(row, name)} />,
  },
};

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
