/** What is wrong and what to do; which rows are refused, and what differs from the specification. */

import type { PageCell } from '../../src/serve/page/wire.ts';
import { number } from '../formats.ts';
import { useLive } from '../live.ts';
import { Cell } from '../parts/cell.tsx';
import { Heading } from '../parts/heading.tsx';
import { ProblemList, problemsOf } from '../parts/problems.tsx';
import { Select } from '../parts/select.tsx';
import { Loading } from '../parts/states.tsx';
import { namesOf, type TableColumn } from '../parts/table.tsx';
import { Ago } from '../parts/time.tsx';
import { condition, type Term, valueIn } from '../question.ts';
import { go, linkHere, linkTo, usePageAddress } from '../router.ts';
import { pathOf, type ViewOf } from '../routes.ts';
import {
  Code,
  codeColumn,
  DatasetChoice,
  Filters,
  jobColumn,
  List,
  reading,
  requestColumn,
  valueColumn,
  walkColumn,
} from './browsing.tsx';

export const ProblemsView: ViewOf<'problems'> = () => (
  <>
    <Heading title="Problems" />
    <Present />
    <Filters>
      <DatasetChoice />
      <StateChoice />
    </Filters>
    <Quarantine />
    <Drift />
  </>
);

/** What is wrong now, of the dataset that is chosen or of all. */
function Present() {
  const { overview } = useLive();
  const { search, at } = usePageAddress();
  if (!overview) return <Loading />;
  const problems = problemsOf(overview, valueIn(search, 'job'));
  return (
    <>
      {at !== null && <p class="note">As of now, whatever moment is shown below:</p>}
      <ProblemList problems={problems} overview={overview} label="Problems" isWhole />
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
      <span title={meanings[String(kind)]}>
        <Code text={String(kind)} /> <span class="note">{meanings[String(kind)]}</span>
      </span>
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
  const { at } = usePageAddress();
  return (
    <section class="stack" aria-labelledby="drift">
      <div class="heading">
        <h2 id="drift">Drift</h2>
        <span class="note">
          differences from what the contract or earlier rows say; the rows are kept all the same
        </span>
      </div>
      <List
        caption="Differences"
        unit="difference"
        table="drift"
        order={driftOrder}
        identity={['job', 'kind', 'path', 'detail']}
        columns={driftColumns}
        where={seenBy(at)}
        empty="Everything is as it was expected."
      />
    </section>
  );
}

const driftOrder = [
  { column: 'last_seen_at', descending: true },
  ...['job', 'kind', 'path', 'detail'].map((column) => ({ column, descending: false })),
];

const seenBy = (at: string | null): Term[] => (at === null ? [] : [condition('first_seen_at', 'lte', at)]);

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
      <ul class="lines">
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

/** Unless chosen otherwise, those that stand. */
function StateChoice() {
  const { search } = usePageAddress();
  return (
    <label>
      <span class="note">Refused rows</span>
      <Select
        value={search.get('show') ?? ''}
        options={[
          ['', 'open'],
          ['resolved', 'resolved'],
          ['all', 'open and resolved'],
        ]}
        choose={(show) => go(linkHere({ show: show || null, offset: null }), 'replace')}
      />
    </label>
  );
}

function Quarantine() {
  const { search, at } = usePageAddress();
  const state = search.get('show');
  return (
    <section class="stack" aria-labelledby="quarantine">
      <div class="heading">
        <h2 id="quarantine">Quarantine</h2>
        <span class="note">rows that break the contract; the version before them stays</span>
      </div>
      <List
        caption="Refused rows"
        unit="refused row"
        table="quarantine"
        columns={quarantineColumns}
        where={[...stateOf(state, at), ...seenBy(at)]}
        empty={state === null ? 'No row is refused.' : 'No row fits these filters.'}
      />
    </section>
  );
}

function stateOf(state: string | null, at: string | null): Term[] {
  if (state === 'all') return [];
  if (state === 'resolved')
    return [at === null ? condition('resolved_at', 'not null') : condition('resolved_at', 'lte', at)];
  return [
    at === null ? condition('resolved_at', 'null') : ['or', `(resolved_at.is.null,resolved_at.gt.${at})`],
  ];
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
