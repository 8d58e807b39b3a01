/** A dataset: its rows, found, sorted and filtered by the database; those that were removed; and its fields. */

import { useMemo } from 'preact/hooks';
import type { DatasetStatus } from '../../src/serve/page/wire.ts';
import { useAnswer, useCurrentAnswer, useSchema, whileEmpty } from '../ask.ts';
import { count, number } from '../formats.ts';
import { useLive } from '../live.ts';
import { Heading, Tabs } from '../parts/heading.tsx';
import { ProblemList, problemsOf } from '../parts/problems.tsx';
import { DatasetProof } from '../parts/proof.tsx';
import { Awaited, Empty, Failed, Loading } from '../parts/states.tsx';
import { Table, type TableColumn } from '../parts/table.tsx';
import { Ago, Time } from '../parts/time.tsx';
import { askOf, condition } from '../question.ts';
import { linkTo, linkWhere, usePageAddress } from '../router.ts';
import { pathOf, type ViewOf } from '../routes.ts';
import { columnsOf, type Dataset } from './dataset/columns.ts';
import { Rows } from './dataset/rows.tsx';

/** By so many rows it is known what columns hold. */
const SAMPLE_ROWS = 50;

export const DatasetView: ViewOf<'dataset'> = ({ job }) => {
  const { at } = usePageAddress();
  const { overview, problem } = useLive();
  const schema = useSchema();
  const dataset = useMemo(() => {
    const known = schema.value?.jobs.find(({ name }) => name === job);
    const declared = schema.value?.tables.find(({ name }) => name === known?.table)?.columns ?? [];
    return known && { ...known, declared };
  }, [schema.value, job]);
  const status = overview?.status.datasets.find((each) => each.job === job);
  const failed = schema.value ? null : (schema.problem ?? (overview ? null : problem));
  return (
    <>
      <Heading title={job}>{status && at === null && <StatusBadge status={status} />}</Heading>
      {overview && at === null && (
        <ProblemList problems={problemsOf(overview, job)} overview={overview} label="Problems" />
      )}
      {failed && <Failed problem={failed} again={schema.again} />}
      {!failed && (!schema.value || !overview) && <Loading />}
      {schema.value && overview && !dataset && (
        <Empty>
          There is no dataset of this name. <a href={linkTo('/')}>All datasets</a>
        </Empty>
      )}
      {dataset && status && <Content dataset={dataset} status={status} />}
    </>
  );
};

/** How many rows, and what is proven of them. */
function StatusBadge({ status }: { status: DatasetStatus }) {
  const { rows, held, doing, lastChange } = status;
  return (
    <>
      <b>{count(rows, 'row')}</b>
      {held > 0 && (
        <a
          class="tag warn"
          href={linkWhere([condition('_held_since', 'not null')], { show: null })}
          title="Missing from the last full read; removed if the next one confirms it."
        >
          {number(held)} held
        </a>
      )}
      <DatasetProof dataset={status} />
      {lastChange !== null && (
        <span class="note">
          changed <Ago at={lastChange} />
        </span>
      )}
      {doing.state === 'running' && (
        <span class="note" role="status">
          walking: {number(doing.rows)}
          {doing.total !== null && ` of ${number(doing.total)}`} rows read
        </span>
      )}
    </>
  );
}

function Content({ dataset, status }: { dataset: Dataset; status: DatasetStatus }) {
  const { search, at } = usePageAddress();
  const { historyFrom } = useSchema().value ?? {};
  const show = search.get('show') ?? 'rows';
  const query = useAnswer(
    {
      ask: askOf({
        table: dataset.table,
        select: dataset.declared.map(({ name }) => name),
        limit: SAMPLE_ROWS,
      }),
      limit: SAMPLE_ROWS,
    },
    { changed: status.lastChange, isLive: whileEmpty },
  );
  const sample = query.value?.rows;
  const columns = useMemo(() => sample && columnsOf(dataset.declared, sample), [sample, dataset.declared]);
  const tab = (to: string, text: string) => ({
    text,
    link: linkTo(pathOf({ view: 'dataset', job: dataset.name }), to === 'rows' ? {} : { show: to }),
    isHere: show === to,
  });
  const tabs = [
    tab('rows', 'Rows'),
    ...(dataset.history === null ? [] : [tab('removed', 'Removed')]),
    tab('fields', 'Fields'),
    { text: 'Changes', link: linkTo('/changes', { job: `eq.${dataset.name}` }), isHere: false },
  ];
  const isNew = status.rows === 0 && status.completeAsOf === null && at === null;
  if (isNew && show === 'rows') return <NeverMirrored status={status} />;
  const from = historyFrom?.[dataset.name];
  return (
    <>
      <Tabs label="Looks at this dataset" tabs={tabs} />
      <Awaited query={query} />
      {show === 'fields' && <Fields dataset={dataset} />}
      {columns && show !== 'fields' && <Rows key={show} {...{ dataset, status, columns }} />}
      {from && show === 'removed' && (
        <p class="note">
          Rows removed until <Time at={from} /> are no longer in the history.
        </p>
      )}
    </>
  );
}

function NeverMirrored({ status: { doing, nextRun } }: { status: DatasetStatus }) {
  return (
    <Empty>
      This dataset has not been mirrored yet.{' '}
      {doing.state === 'running' && 'Its first walk is running: its rows appear as they are read.'}
      {doing.message !== null && `${doing.message}. `}
      {doing.state !== 'running' && nextRun !== null && (
        <>
          It will be <Ago at={nextRun} />.
        </>
      )}
    </Empty>
  );
}

const found = ['example', 'nullable', 'first_seen_at', 'last_seen_at'];
const fieldColumns: readonly TableColumn[] = [
  { name: 'name', label: 'Column', kind: 'text', show: (name) => <code>{String(name)}</code> },
  { name: 'kind', label: 'Holds', kind: 'text' },
  { name: 'about', label: 'Meaning', kind: 'text' },
  { name: 'example', label: 'Example', kind: 'text' },
  {
    name: 'nullable',
    label: 'May be null',
    kind: 'text',
    show: (nullable) => (nullable === null ? '–' : nullable === 1 ? 'yes' : 'no'),
  },
  { name: 'first_seen_at', label: 'First seen' },
  { name: 'last_seen_at', label: 'Last seen' },
];

/** Each column: what it means by the specification, or what was discovered of it. */
function Fields({ dataset: { name: job, declared, isSpecified } }: { dataset: Dataset }) {
  const query = useCurrentAnswer(
    isSpecified
      ? null
      : {
          ask: askOf({ table: 'fields', select: ['column', ...found], where: [condition('job', 'eq', job)] }),
          limit: 10_000,
        },
  );
  const known = new Map(query.value?.rows.map(([column, ...rest]) => [column, rest]));
  const rows = declared.map(({ name, type, kind, about = '' }) => [
    name,
    kind ?? type.toLowerCase(),
    about.replaceAll('`', ''),
    ...(known.get(name) ?? found.map(() => null)),
  ]);
  return (
    <div class="card list">
      <Awaited query={query} isThere />
      <Table caption={`Fields of ${job}`} columns={fieldColumns} rows={rows} identity={['name']} />
    </div>
  );
}
