/** What is wrong and what to do; which rows are refused, what differs, and which fields were discovered. */

import type { PageCell } from '../../src/serve/page/wire.ts';
import { useCurrentAnswer } from '../ask.ts';
import { count, number } from '../formats.ts';
import { useLive } from '../live.ts';
import { Cell } from '../parts/cell.tsx';
import { Heading } from '../parts/heading.tsx';
import { ProblemList, problemsOf } from '../parts/problems.tsx';
import { Loading } from '../parts/states.tsx';
import { hiding, namesOf, type TableColumn, usePages } from '../parts/table.tsx';
import { Ago } from '../parts/time.tsx';
import { linkTo, usePageAddress } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import { pathOf } from '../routes.ts';
import { type Condition, type Order, select } from '../sql.ts';
import {
  Choice,
  Code,
  codeColumn,
  DatasetChoice,
  equal,
  Filters,
  jobColumn,
  List,
  ListPage,
  PAGE,
  reading,
  requestColumn,
  useNewestFirst,
  valueColumn,
  walkColumn,
} from './browsing.tsx';

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
  const { search, at } = usePageAddress();
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

const meanings: Readonly<Record<string, string>> = {
  'extra-property': 'a property that the contract does not know',
  'new-value': 'a value that the contract does not list',
  'out-of-range': 'a number outside the range of the contract',
  'new-field': 'a field that the first whole walk did not find',
  'vanished-field': 'a field that the last whole walk did not find',
  'new-type': 'a type that the field did not have before',
  'no-column': 'a field that has no column of its own',
  'contradicted-key': 'the field does not identify each row',
  'new-key': 'other fields identify the rows than before',
  'moved-rows': 'the rows moved to another place in the response',
  'moving-field': 'the field moves alike in all rows, and so makes no version',
  more: 'all above the 1,000 that are told one by one',
};

const driftColumns: readonly TableColumn[] = [
  jobColumn,
  {
    name: 'kind',
    label: 'Difference',
    show: (kind) => (
      <div class="wide">
        <Code text={String(kind)} /> <span class="note">{meanings[String(kind)]}</span>
      </div>
    ),
  },
  codeColumn('path', 'Place'),
  valueColumn('detail', 'What came'),
  { name: 'times', label: 'Times' },
  { name: 'first_seen_at', label: 'First seen' },
  { name: 'last_seen_at', label: 'Last seen' },
  walkColumn('First in walk'),
  requestColumn,
];

function Drift() {
  return (
    <Whole
      table="drift"
      title="Drift"
      caption="Differences"
      note="differences from what the contract or earlier rows say; the rows are kept all the same"
      unit="difference"
      order={[{ column: 'last_seen_at', descending: true }]}
      identity={['job', 'kind', 'path', 'detail']}
      columns={driftColumns}
      empty="Everything is as it was expected."
    />
  );
}

const fieldColumns: readonly TableColumn[] = [
  jobColumn,
  codeColumn('column', 'Column'),
  codeColumn('path', 'Place'),
  {
    name: 'types',
    label: 'Types',
    kind: 'text',
    show: (types) => <span class="unbroken">{typesOf(types)}</span>,
  },
  {
    name: 'nullable',
    label: 'May be null',
    kind: 'text',
    show: (nullable) => (nullable === 1 ? 'yes' : 'no'),
  },
  valueColumn('example', 'Example'),
  { name: 'first_seen_at', label: 'First seen' },
  { name: 'last_seen_at', label: 'Last seen' },
  walkColumn('Last in walk'),
];

function Fields() {
  return (
    <Whole
      table="fields"
      title="Discovered fields"
      caption="Fields"
      note="of datasets whose rows are not specified; each is a column of its table"
      unit="field"
      order={[{ column: 'first_seen_at', descending: true }, { column: 'job' }, { column: 'column' }]}
      identity={['job', 'column']}
      columns={fieldColumns}
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

const MAX_ROWS = 10_000;

type WholeProps = {
  table: string;
  title: string;
  /** Of the table, for those who do not see it. */
  caption: string;
  note: string;
  unit: string;
  order: readonly Order[];
  identity: readonly string[];
  columns: readonly TableColumn[];
  empty: string;
};

/** A table of a few thousand rows at most, which is read whole. */
function Whole({ table, title, caption, note, unit, order, identity, columns, empty }: WholeProps) {
  const { search, at } = usePageAddress();
  const where = [...equal('job', search.get('job')), ...seenBy(at)];
  const sql = select({ columns: namesOf(columns), from: table, where, order });
  const query = useCurrentAnswer({ ...sql, limit: MAX_ROWS });
  const rows = query.value?.rows ?? [];
  const { shown, pager } = usePages(rows, PAGE);
  return (
    <section class="stack" aria-labelledby={table}>
      <div class="heading">
        <h2 id={table}>{title}</h2>
        <span class="note">{note}</span>
      </div>
      <ListPage {...{ caption, columns, query, rows: shown, identity, sql, empty }}>
        {pager}
        {rows.length > 0 && <span class="note">{count(rows.length, unit)}</span>}
      </ListPage>
    </section>
  );
}

const seenBy = (at: string | null): Condition[] =>
  at === null ? [] : [{ column: 'first_seen_at', is: '<=', value: at }];

const quarantineColumns: readonly TableColumn[] = [
  { name: 'id', isHidden: true },
  jobColumn,
  {
    name: 'key',
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
  {
    name: 'problems',
    label: 'Reason and place',
    kind: 'text',
    show: (problems) => (
      <ul class="wide lines">
        {faultsOf(problems).map(({ path, expected, received }, at) => (
          <li key={at}>
            <Code text={path || 'the row'} />: expected {expected}, received{' '}
            <Cell value={received} label={path} />
          </li>
        ))}
      </ul>
    ),
  },
  valueColumn('body', 'Body'),
  { name: 'last_seen_at', label: 'Last refused' },
  { name: 'first_seen_at', label: 'First' },
  { name: 'times', label: 'Times', show: (times) => number(Number(times)) },
  {
    name: 'resolved_at',
    label: 'Resolved',
    show: (at) => (at === null ? <span class="tag warn">open</span> : undefined),
  },
  walkColumn('Walk'),
  requestColumn,
];
const value = reading(namesOf(quarantineColumns));

const states = { Rows: { resolved: 'resolved', all: 'open and resolved' } };

/** Unless chosen otherwise, those that stand. */
const StateChoice = () => <Choice name="state" label="Refused rows" groups={states} all="open" />;

function Quarantine() {
  const { search, at } = usePageAddress();
  const state = search.get('state');
  const listed = useNewestFirst({
    from: 'quarantine',
    columns: state === null ? hiding(quarantineColumns, 'resolved_at') : quarantineColumns,
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
        listed={listed}
        empty={state === null ? 'No row is refused.' : 'No row fits these filters.'}
      />
    </section>
  );
}

function stateOf(state: string | null, at: string | null): Condition[] {
  if (state === 'all') return [];
  const column = 'resolved_at';
  if (state === 'resolved')
    return [at === null ? { column, is: 'not null' } : { column, is: '<=', value: at }];
  const open: Condition = { column, is: 'null' };
  return [at === null ? open : { either: [open, { column, is: '>', value: at }] }];
}

type Fault = { path: string; expected: string; received: string };

/** What a refused row breaks. Where the JSON cannot be read: its text. */
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
