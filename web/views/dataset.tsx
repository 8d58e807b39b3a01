/** A dataset: its rows, found, sorted, filtered and charted by the database. */

import { useMemo } from 'preact/hooks';
import type { DatasetStatus } from '../../src/serve/page/wire.ts';
import { useAnswer, useSchema, whileEmpty } from '../ask.ts';
import { count, number } from '../formats.ts';
import { useLive } from '../live.ts';
import { Heading, Tabs } from '../parts/heading.tsx';
import { useMenus } from '../parts/menus.tsx';
import { ProblemList, problemsOf } from '../parts/problems.tsx';
import { DatasetProof } from '../parts/proof.tsx';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { Ago, Time } from '../parts/time.tsx';
import { linkHere, linkTo, usePageAddress } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import { ChartedRows } from './dataset/chart.tsx';
import { columnsOf, isOfHeld } from './dataset/columns.ts';
import { Rows } from './dataset/rows.tsx';
import { sampleSql } from './dataset/rows-sql.ts';
import { type Dataset, readState, searchFor, type ViewState } from './dataset/view-state.ts';

/** By so many rows it is known what columns hold. */
const SAMPLE_ROWS = 50;

export const DatasetView: ViewOf<'dataset'> = ({ job }) => {
  useMenus();
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
      {dataset && status && <DatasetContent dataset={dataset} status={status} at={at} />}
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
          href={linkHere(
            searchFor({ show: 'rows', filters: [{ column: '_held_since', is: 'not null', value: '' }] }),
          )}
          title="Rows that the last proof did not show. They stay until the next proof agrees."
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

function DatasetContent({
  dataset,
  status,
  at,
}: {
  dataset: Dataset;
  status: DatasetStatus;
  at: string | null;
}) {
  const { search } = usePageAddress();
  const { historyFrom } = useSchema().value ?? {};
  const state = readState(search);
  const names = dataset.declared.map(({ name }) => name);
  const query = useAnswer(
    { ...sampleSql(dataset.table, names, SAMPLE_ROWS), limit: SAMPLE_ROWS },
    { changed: status.lastChange, isLive: whileEmpty },
  );
  const sample = query.value?.rows;
  const columns = useMemo(() => sample && columnsOf(dataset.declared, sample), [sample, dataset.declared]);
  const isNew = status.rows === 0 && status.completeAsOf === null && at === null;
  if (isNew && state.show === 'rows') return <NeverMirrored status={status} />;
  const from = historyFrom?.[dataset.name];
  return (
    <>
      <LookTabs state={state} hasHistory={dataset.history !== null} />
      {query.problem && <Failed problem={query.problem} again={query.again} />}
      {!columns && query.isLoading && <Loading />}
      {columns &&
        (state.show === 'chart' ? (
          <ChartedRows {...{ dataset, status, columns, state, at }} />
        ) : (
          <Rows
            key={state.show}
            {...{ dataset, status, state, at }}
            columns={state.show === 'removed' ? columns.filter(({ name }) => !isOfHeld(name)) : columns}
          />
        ))}
      {from && state.show === 'removed' && (
        <p class="note">
          Rows removed until <Time at={from} /> are no longer in the history.
        </p>
      )}
    </>
  );
}

function LookTabs({ state, hasHistory }: { state: ViewState; hasHistory: boolean }) {
  const tab = (show: ViewState['show'], text: string) => {
    const filters = state.filters.filter(({ column }) => show !== 'removed' || !isOfHeld(column));
    return {
      text,
      link: linkHere(searchFor({ show, filters, order: show === state.show ? state.order : null })),
      isHere: state.show === show,
    };
  };
  const tabs = [tab('rows', 'Rows'), tab('chart', 'Chart'), tab('removed', 'Removed')];
  return <Tabs label="Looks at this dataset" tabs={hasHistory ? tabs : tabs.slice(0, 2)} />;
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
