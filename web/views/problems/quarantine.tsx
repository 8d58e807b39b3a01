/** Rows that broke the contract: each whole, with the reason and its place. */

import { number } from '../../formats.ts';
import { Cell } from '../../parts/cell.tsx';
import type { TableColumn } from '../../parts/table.tsx';
import { linkTo, usePlace } from '../../router.ts';
import { pathOf } from '../../routes.ts';
import type { Condition } from '../../sql.ts';
import { Choice, equal } from '../browsing/filters.tsx';
import { List } from '../browsing/list.tsx';
import { reading, useNewestFirst } from '../browsing.ts';
import { Code, JobLink, RequestLink, WalkLink } from '../walks/parts.tsx';
import { faultsOf } from './faults.ts';

const columns = [
  ...['id', 'job', 'key', 'problems', 'body', 'last_seen_at', 'first_seen_at', 'times', 'resolved_at'],
  ...['walk_id', 'request_id'],
];
const value = reading(columns);

const states = { Rows: { resolved: 'resolved', all: 'open and resolved' } };

/** Unless chosen otherwise, those that stand. */
export const StateChoice = () => <Choice name="state" label="Refused rows" groups={states} all="open" />;

export function Quarantine() {
  const { search, at } = usePlace();
  const state = search.get('state');
  const listed = useNewestFirst({
    from: 'quarantine',
    columns,
    where: [...equal('job', search.get('job')), ...stateOf(state, at), ...seenBy(at)],
  });
  return (
    <section class="stack" aria-labelledby="quarantine">
      <div class="heading">
        <h2 id="quarantine">Quarantine</h2>
        <span class="note">rows that break the contract; the version before them stays</span>
      </div>
      <List
        caption="Refused rows"
        unit="refused row"
        columns={table}
        hidden={state === null ? new Set(['id', 'resolved_at']) : new Set(['id'])}
        listed={listed}
        empty={state === null ? 'No row is refused.' : 'No row fits these filters.'}
      />
    </section>
  );
}

const seenBy = (at: string | null): Condition[] =>
  at === null ? [] : [{ column: 'first_seen_at', is: '<=', value: at }];

function stateOf(state: string | null, at: string | null): Condition[] {
  if (state === 'all') return [];
  if (state === 'resolved')
    return [
      at === null
        ? { column: 'resolved_at', is: 'not null' }
        : { column: 'resolved_at', is: '<=', value: at },
    ];
  const open: Condition = { column: 'resolved_at', is: 'null' };
  return [at === null ? open : { either: [open, { column: 'resolved_at', is: '>', value: at }] }];
}

const shown: Record<string, Partial<TableColumn>> = {
  job: { label: 'Dataset', show: (job) => <JobLink job={job} /> },
  key: {
    label: 'Row',
    kind: 'text',
    show: (key, row) =>
      key === null ? (
        <span class="null">no key</span>
      ) : (
        <a href={linkTo(pathOf({ view: 'row', job: String(value(row, 'job')), key: String(key) }))}>
          <Code text={String(key)} />
        </a>
      ),
  },
  problems: {
    label: 'Reason and place',
    kind: 'text',
    show: (problems) => (
      <ul class="wide faults">
        {faultsOf(problems).map(({ path, expected, received }, at) => (
          <li key={at}>
            <Code text={path || 'the row'} />: expected {expected}, received{' '}
            <Cell value={received} label={path} />
          </li>
        ))}
      </ul>
    ),
  },
  body: {
    label: 'Body',
    kind: 'text',
    show: (body) => (
      <div class="wide">
        <Cell value={body} label="Body" />
      </div>
    ),
  },
  last_seen_at: { label: 'Last refused' },
  first_seen_at: { label: 'First' },
  times: { label: 'Times', show: (times) => number(Number(times)) },
  resolved_at: {
    label: 'Resolved',
    show: (at) => (at === null ? <span class="tag warn">open</span> : undefined),
  },
  walk_id: { label: 'Walk', kind: 'text', show: (id) => <WalkLink id={id} /> },
  request_id: {
    label: 'X-Request-ID',
    kind: 'text',
    show: (id) => <RequestLink id={id} />,
  },
};

const table: readonly TableColumn[] = columns.map((name) => ({ name, ...shown[name] }));
