/** What is wrong and what to do; which rows are refused, what differs, and which fields were discovered. */

import type { PageCell } from '../../src/serve/ui/wire.ts';
import { useCurrentAnswer } from '../ask.ts';
import { count, number } from '../formats.ts';
import { useLive } from '../live.ts';
import { Cell } from '../parts/cell.tsx';
import { Heading } from '../parts/heading.tsx';
import { ProblemList, problemsOf } from '../parts/problems.tsx';
import { Awaited, Empty, Loading } from '../parts/states.tsx';
import { Table, type TableColumn, usePages } from '../parts/table.tsx';
import { Ago } from '../parts/time.tsx';
import { linkTo, linkToSql, usePlace } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import { pathOf } from '../routes.ts';
import { type Condition, type Sql, select } from '../sql.ts';
import {
  Choice,
  DatasetChoice,
  equal,
  Filters,
  List,
  PAGE,
  reading,
  useNewestFirst,
  within,
} from './browsing.tsx';
import { Code, JobLink, RequestLink, WalkLink } from './walks/parts.tsx';

export const ProblemsView: ViewOf<'problems'> = () => (
  <>
    <Heading title="Problems" />
    <Present />
    <Filters names={['job', 'state']}>
      <DatasetChoice />
      <StateChoice />
    </Filters>
    <Quarantine />
    <Drift />
    <Fields />
  </>
);

/** What is wrong now, of the dataset that is chosen or of all. */
function Present() {
  const { overview } = useLive();
  const { search, at } = usePlace();
  if (!overview) return <Loading />;
  const problems = problemsOf(overview, search.get('job'));
  return (
    <>
      {at !== null && <p class="note">As of now, whatever moment is shown below:</p>}
      <ProblemList problems={problems} overview={overview} label="Problems" />
      {problems.length === 0 && (
        <p class="card">
          <span class="tag good">✓</span> Nothing is wrong, as of <Ago at={overview.at} />.
        </p>
      )}
    </>
  );
}

/** Differences between what the contract or earlier rows say and what came. */

const columns = [
  'job',
  'kind',
  'path',
  'detail',
  'times',
  'first_seen_at',
  'last_seen_at',
  'walk_id',
  'request_id',
];

const meanings: Readonly<Record<string, string>> = {
  'extra-property': 'a property that the contract does not know',
  'new-value': 'a value that the contract does not list',
  'out-of-range': 'a number outside the range of the contract',
  'new-field': 'a field that the first whole walk did not find',
  'vanished-field': 'a field that the last whole walk did not find',
  'new-type': 'a type that the field did not have before',
  'no-column': 'a field that has no column of its own',
  'repeated-name': 'an object had two members of one name',
  'contradicted-key': 'the key that was chosen does not tell rows apart',
  more: 'all above the 1,000 that are told one by one',
};

const shown: Record<string, Partial<TableColumn>> = {
  job: { label: 'Dataset', show: (job) => <JobLink job={job} /> },
  kind: {
    label: 'Difference',
    show: (kind) => (
      <div class="wide">
        <Code text={String(kind)} /> <span class="note">{meanings[String(kind)]}</span>
      </div>
    ),
  },
  path: { label: 'Place', kind: 'text', show: (path) => <Code text={String(path)} /> },
  detail: {
    label: 'What came',
    kind: 'text',
    show: (detail) =>
      detail === '' ? (
        '–'
      ) : (
        <div class="wide">
          <Cell value={detail} label="What came" />
        </div>
      ),
  },
  times: { label: 'Times' },
  first_seen_at: { label: 'First seen' },
  last_seen_at: { label: 'Last seen' },
  walk_id: { label: 'First in walk', kind: 'text', show: (id) => <WalkLink id={id} /> },
  request_id: {
    label: 'X-Request-ID',
    kind: 'text',
    show: (id) => <RequestLink id={id} />,
  },
};

function Drift() {
  const { search, at } = usePlace();
  const sql = select({
    columns,
    from: 'drift',
    where: [...equal('job', search.get('job')), ...within('first_seen_at', new URLSearchParams(), at)],
    order: [{ column: 'last_seen_at', descending: true }],
  });
  return (
    <Whole
      id="drift"
      title="Drift"
      caption="Differences"
      note="differences from what the contract or earlier rows say; the rows are kept all the same"
      unit="difference"
      sql={sql}
      columns={columns.map((name) => ({ name, ...shown[name] }))}
      empty="Everything is as it was expected."
    />
  );
}

/** The fields of datasets whose rows are not specified, as they were discovered. */

const fieldColumns = [
  ...['job', 'column', 'path', 'types', 'nullable', 'example', 'first_seen_at', 'last_seen_at', 'walk_id'],
];

const fieldShapes: Record<string, Partial<TableColumn>> = {
  job: { label: 'Dataset', show: (job) => <JobLink job={job} /> },
  column: { label: 'Column', kind: 'text', show: (column) => <Code text={String(column)} /> },
  path: { label: 'Place', kind: 'text', show: (path) => <Code text={String(path)} /> },
  types: { label: 'Types', kind: 'text', show: (types) => <span class="unbroken">{typesOf(types)}</span> },
  nullable: { label: 'May be null', kind: 'text', show: (nullable) => (nullable === 1 ? 'yes' : 'no') },
  example: {
    label: 'Example',
    kind: 'text',
    show: (example) => (
      <div class="wide">
        <Cell value={example} label="Example" />
      </div>
    ),
  },
  first_seen_at: { label: 'First seen' },
  last_seen_at: { label: 'Last seen' },
  walk_id: { label: 'Last in walk', kind: 'text', show: (id) => <WalkLink id={id} /> },
};

function Fields() {
  const { search, at } = usePlace();
  const sql = select({
    columns: fieldColumns,
    from: 'fields',
    where: [...equal('job', search.get('job')), ...within('first_seen_at', new URLSearchParams(), at)],
    order: [{ column: 'first_seen_at', descending: true }, { column: 'job' }, { column: 'column' }],
  });
  return (
    <Whole
      id="fields"
      title="Discovered fields"
      caption="Fields"
      note="of datasets whose rows are not specified; each is a column of its table"
      unit="field"
      sql={sql}
      columns={fieldColumns.map((name) => ({ name, ...fieldShapes[name] }))}
      empty="None: all rows here are as they were specified."
    />
  );
}

function typesOf(json: PageCell): string {
  try {
    const types = JSON.parse(String(json)) as unknown[];
    return types.length === 0 ? 'only null so far' : types.map(String).join(', ');
  } catch {
    return String(json);
  }
}

/** Rows that broke the contract: each whole, with the reason and its place. */

const quarantineColumns = [
  ...['id', 'job', 'key', 'problems', 'body', 'last_seen_at', 'first_seen_at', 'times', 'resolved_at'],
  ...['walk_id', 'request_id'],
];
const value = reading(quarantineColumns);

const states = { Rows: { resolved: 'resolved', all: 'open and resolved' } };

/** Unless chosen otherwise, those that stand. */
const StateChoice = () => <Choice name="state" label="Refused rows" groups={states} all="open" />;

function Quarantine() {
  const { search, at } = usePlace();
  const state = search.get('state');
  const listed = useNewestFirst({
    from: 'quarantine',
    columns: quarantineColumns,
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

const quarantineShapes: Record<string, Partial<TableColumn>> = {
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

const table: readonly TableColumn[] = quarantineColumns.map((name) => ({ name, ...quarantineShapes[name] }));

/** A list that is short enough to be shown whole. */

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

function Whole({ id, title, caption, note, unit, sql, columns, empty }: Props) {
  const query = useCurrentAnswer({ ...sql, limit: MOST });
  const rows = query.value?.rows ?? [];
  const { shown, pager } = usePages(rows, PAGE);
  return (
    <section class="stack" aria-labelledby={id}>
      <div class="heading">
        <h2 id={id}>{title}</h2>
        <span class="note">{note}</span>
      </div>
      <Awaited query={query} />
      {query.value !== null && rows.length === 0 && <Empty>{empty}</Empty>}
      {rows.length > 0 && (
        <div class="card list">
          <Table caption={caption} columns={columns} rows={shown} isLoading={query.isOld} />
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

/** What a refused row breaks, out of the JSON that it is kept as. */

type Fault = { path: string; expected: string; received: string };

/** Of what cannot be read, the text itself. */
function faultsOf(json: PageCell): Fault[] {
  try {
    const found = JSON.parse(String(json)) as unknown;
    if (Array.isArray(found)) return found.map(faultOf);
  } catch {}
  return [{ path: '', expected: 'a list of problems', received: String(json) }];
}

function faultOf(one: unknown): Fault {
  const { path, expected, received } = (one ?? {}) as Record<string, unknown>;
  return { path: textOf(path), expected: textOf(expected), received: textOf(received) };
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing'));
