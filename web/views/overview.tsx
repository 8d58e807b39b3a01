/** One look at all of it: what is wrong first, then each dataset, then what follows the mirror and what may still be called. */

import type { SinkName, SinkStatus, Overview as State } from '../../src/serve/page/wire.ts';
import { count, duration, number, plural } from '../formats.ts';
import { useLive } from '../live.ts';
import { Heading } from '../parts/heading.tsx';
import { Late } from '../parts/late.tsx';
import { ProblemList, problemsOf } from '../parts/problems.tsx';
import { Failed, Loading } from '../parts/states.tsx';
import { Ago, Time } from '../parts/time.tsx';
import { linkTo, usePageAddress } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import { DatasetTable, PresentDataset } from './overview/list.tsx';

const loadPast = async () => (await import('./overview/past.tsx')).PastDatasets;

export const Overview: ViewOf<'overview'> = () => {
  const { overview, problem } = useLive();
  const { at } = usePageAddress();
  if (!overview)
    return (
      <>
        <Heading title="Overview" />
        {problem ? <Failed problem={problem} /> : <Loading what="Reading the mirror" />}
      </>
    );
  const { status, datasets } = overview;
  if (at !== null)
    return (
      <>
        <Heading title="Overview" />
        <p class="card">
          The datasets are shown as they were at <Time at={at} />. Problems and quota are only shown for now.
        </p>
        <Late key={at} load={loadPast} props={{ at, datasets: status.datasets }} />
      </>
    );
  const days = new Map(datasets.map((day) => [day.job, day]));
  return (
    <>
      <Heading title="Overview">
        <p class="note">{summaryOf(overview)}</p>
      </Heading>
      <ProblemList problems={problemsOf(overview)} overview={overview} label="Problems" />
      <DatasetTable>
        {status.datasets.map((dataset) => (
          <PresentDataset
            key={dataset.job}
            dataset={dataset}
            day={days.get(dataset.job)}
            hasDaemon={status.daemon !== null}
          />
        ))}
      </DatasetTable>
      <Sinks status={status} />
      <QuotaLine status={status} />
    </>
  );
};

function summaryOf(overview: State): string {
  const { datasets } = overview.status;
  const good = datasets.filter(({ fresh, completeAsOf }) => fresh && completeAsOf !== null).length;
  const all = good === datasets.length ? `All ${good}` : `${good} of ${datasets.length}`;
  const problems = problemsOf(overview).length;
  return `${all} datasets are complete and fresh; ${problems === 0 ? 'no' : problems} ${plural(problems, 'problem')}.`;
}

function QuotaLine({ status: { quota, calls } }: { status: State['status'] }) {
  const { limit, remaining, reserve, asOf } = quota;
  return (
    <p class="card tools">
      <b>Quota</b>
      {remaining === null ? (
        <span>not reported by the API yet</span>
      ) : (
        <span>
          <b>{number(remaining)}</b>
          {limit !== null && ` of ${number(limit)}`} calls left
          {reserve > 0 && `, ${number(reserve)} of them reserved`}
          {asOf !== null && (
            <span class="note">
              {' '}
              as of <Ago at={asOf} />
            </span>
          )}
        </span>
      )}
      <span>{number(calls.lastHour)} called in the last hour</span>
      <a href={linkTo('/quota')}>Quota and plan</a>
    </p>
  );
}

type Sink = { name: string; docs: string };

const sinks: Readonly<Record<SinkName, Sink>> = {
  ship: { name: 'Postgres', docs: 'docs/ship.md' },
  lake: { name: 'Lake', docs: 'docs/lake.md' },
};

const names = Object.keys(sinks) as SinkName[];

/** How far each sink is behind, and what to do. Nothing where the daemon has none. */
function Sinks({ status }: { status: State['status'] }) {
  const set = names.flatMap((name) => {
    const lag = status[name];
    return lag === null ? [] : [{ ...sinks[name], lag }];
  });
  if (set.length === 0) return null;
  return (
    <section class="card lines" aria-labelledby="sinks-title">
      <h2 id="sinks-title">Follows the mirror</h2>
      <ul class="lines">
        {set.map(({ name, docs, lag }) => (
          <li key={name} class="lines">
            <p>
              <b>{name}</b> <LagBadge lag={lag} />{' '}
              {lag.changes === 0
                ? 'all changes have arrived'
                : `${count(lag.changes, 'change')} behind, the oldest ${duration(lag.seconds)} old`}
            </p>
            {lag.trouble && (
              <>
                <p>
                  Nothing has arrived since <Time at={lag.trouble.since} exactness="minute" />:{' '}
                  {lag.trouble.message}
                </p>
                <p class="note">
                  → The daemon tries again <Ago at={lag.trouble.nextTry} />, and mirrors meanwhile; {docs}{' '}
                  says what helps.
                </p>
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function LagBadge({ lag: { changes, trouble } }: { lag: SinkStatus }) {
  if (trouble) return <span class="tag warn">! nothing arrives</span>;
  return changes === 0 ? <span class="tag good">up to date</span> : <span class="tag">on its way</span>;
}
