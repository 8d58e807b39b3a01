/** A dataset: its rows, found, sorted, filtered and charted by the database. */

import { useMemo } from 'preact/hooks';
import type { Overview } from '../../src/serve/ui/wire.ts';
import { useSchema } from '../ask.ts';
import { count, number } from '../formats.ts';
import { useLive } from '../live.ts';
import { Heading } from '../parts/heading.tsx';
import { useMenus } from '../parts/menus.ts';
import { Proof } from '../parts/proof.tsx';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { Ago, Time } from '../parts/time.tsx';
import { linkHere, linkTo, usePlace } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import { ChartedRows } from './dataset/charted.tsx';
import { type Dataset, useColumns } from './dataset/known-columns.ts';
import { type Looking, lookingOf, searchOf } from './dataset/looking.ts';
import { Rows } from './dataset/rows.tsx';

type Status = Overview['status']['datasets'][number];

export const DatasetView: ViewOf<'dataset'> = ({ job }) => {
  useMenus();
  const { at } = usePlace();
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
      {failed && <Failed problem={failed} again={schema.again} />}
      {!failed && (!schema.value || !overview) && <Loading />}
      {schema.value && overview && !dataset && (
        <Empty>
          There is no dataset of this name. <a href={linkTo('/')}>All datasets</a>
        </Empty>
      )}
      {dataset && status && <Looked dataset={dataset} status={status} at={at} />}
    </>
  );
};

/** How many rows, and what is proven of them. */
function StatusBadge({ status }: { status: Status }) {
  const { rows, held, verdict, completeAsOf, fresh, doing, lastChange } = status;
  return (
    <>
      <b class="number">{count(rows, 'row')}</b>
      {held > 0 && <span class="note">{number(held)} held</span>}
      <Proof
        verdict={verdict}
        completeAsOf={completeAsOf}
        isStale={completeAsOf === null ? undefined : !fresh}
      />
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

function Looked({ dataset, status, at }: { dataset: Dataset; status: Status; at: string | null }) {
  const { search } = usePlace();
  const { historyFrom } = useSchema().value ?? {};
  const looking = lookingOf(search);
  const { columns, query } = useColumns(dataset);
  const isNew = status.rows === 0 && status.completeAsOf === null && at === null;
  if (isNew && looking.show === 'rows') return <NeverMirrored status={status} />;
  const from = historyFrom?.[dataset.name];
  return (
    <>
      <Tabs looking={looking} hasHistory={dataset.history !== null} />
      {query.problem && <Failed problem={query.problem} again={query.again} />}
      {!columns && query.isLoading && <Loading />}
      {columns && looking.show === 'chart' && (
        <ChartedRows dataset={dataset} columns={columns} looking={looking} at={at} />
      )}
      {columns && looking.show !== 'chart' && (
        <Rows key={looking.show} dataset={dataset} columns={columns} looking={looking} at={at} />
      )}
      {from && looking.show === 'removed' && (
        <p class="note">
          What was removed by <Time at={from} /> has been dropped from the history.
        </p>
      )}
    </>
  );
}

function Tabs({ looking, hasHistory }: { looking: Looking; hasHistory: boolean }) {
  const tab = (show: Looking['show'], label: string) => (
    <a
      href={linkHere(searchOf({ show, order: show === looking.show ? looking.order : null }))}
      aria-current={looking.show === show ? 'page' : undefined}
    >
      {label}
    </a>
  );
  return (
    <nav class="tabs" aria-label="Looks at this dataset">
      {tab('rows', 'Rows')}
      {tab('chart', 'Chart')}
      {hasHistory && tab('removed', 'Removed')}
    </nav>
  );
}

function NeverMirrored({ status: { doing, nextRun } }: { status: Status }) {
  return (
    <Empty>
      This dataset has not been mirrored yet.{' '}
      {doing.state === 'running' && 'Its first walk is under way: its rows come as they are read.'}
      {doing.message !== null && `${doing.message}. `}
      {doing.state !== 'running' && nextRun !== null && (
        <>
          It will be <Ago at={nextRun} />.
        </>
      )}
    </Empty>
  );
}
