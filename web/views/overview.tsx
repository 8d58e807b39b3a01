/** One look at all of it: what is wrong first, then each dataset, then what the account may still call. */

import type { Overview as State } from '../../src/serve/ui/wire.ts';
import { plural } from '../formats.ts';
import { useLive } from '../live.ts';
import { Heading } from '../parts/heading.tsx';
import { Late } from '../parts/late.tsx';
import { Failed, Loading } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { usePlace } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import { Account } from './overview/account.tsx';
import { DatasetCard } from './overview/card.tsx';
import { NoDaemon, Problems, Targets } from './overview/problems.tsx';

const loadPast = async () => (await import('./overview/past.tsx')).PastDatasets;

export const Overview: ViewOf<'overview'> = () => {
  const { overview, problem } = useLive();
  const { at } = usePlace();
  if (!overview)
    return (
      <>
        <Heading title="Overview" />
        {problem ? <Failed problem={problem} /> : <Loading what="Reading the mirror" />}
      </>
    );
  const { status, plan, calls, quota, datasets } = overview;
  const days = new Map(datasets.map((day) => [day.job, day]));
  return (
    <>
      <Heading title="Overview">
        <p class="summary">{at === null && summaryOf(overview)}</p>
      </Heading>
      {at !== null && (
        <p class="card of-past">
          The datasets are shown as they stood at <Time at={at} />. Problems, quota and calls are those of
          now.
        </p>
      )}
      <NoDaemon status={status} />
      <Problems overview={overview} isPast={at !== null} />
      <section class="stack" aria-labelledby="datasets-title">
        <h2 id="datasets-title">Datasets {at !== null && <span class="tag then">then</span>}</h2>
        {at === null ? (
          <div class="cards">
            {status.datasets.map((dataset) => (
              <DatasetCard
                key={dataset.job}
                dataset={dataset}
                day={days.get(dataset.job)}
                hasDaemon={status.daemon !== null}
              />
            ))}
          </div>
        ) : (
          <Late key={at} load={loadPast} props={{ at, datasets: status.datasets }} />
        )}
      </section>
      <Targets status={status} isPast={at !== null} />
      <Account status={status} plan={plan} quota={quota} calls={calls} isPast={at !== null} />
    </>
  );
};

function summaryOf({ status: { datasets, problems } }: State): string {
  const good = datasets.filter(({ fresh, completeAsOf }) => fresh && completeAsOf !== null).length;
  const all = good === datasets.length ? `All ${good}` : `${good} of ${datasets.length}`;
  const found =
    problems.length === 0 ? 'no problems' : `${problems.length} ${plural(problems.length, 'problem')}`;
  return `${all} datasets are complete and fresh; ${found}.`;
}
