/** What is wrong and what to do; which rows are refused, what differs, and which fields were discovered. */

import { useLive } from '../live.ts';
import { Heading } from '../parts/heading.tsx';
import { Empty, Loading } from '../parts/states.tsx';
import { Told } from '../parts/told.tsx';
import { usePlace } from '../router.ts';
import { DatasetChoice, Filters } from './browsing/filters.tsx';
import { Drift } from './problems/drift.tsx';
import { Fields } from './problems/fields.tsx';
import { Quarantine, StateChoice } from './problems/quarantine.tsx';
import type { ViewOf } from './view.ts';
import { JobLink } from './walks/parts.tsx';

export const ProblemsView: ViewOf<'problems'> = () => (
  <>
    <Heading title="Problems" />
    <Standing />
    <Filters names={['job', 'state']}>
      <DatasetChoice />
      <StateChoice />
    </Filters>
    <Quarantine />
    <Drift />
    <Fields />
  </>
);

/** Those that `status` names, of the dataset that is chosen and of none. */
function Standing() {
  const { overview } = useLive();
  const { search, at } = usePlace();
  const job = search.get('job');
  if (!overview) return <Loading />;
  const problems = overview.status.problems.filter(
    (one) => job === null || one.job === null || one.job === job,
  );
  return (
    <section class="card" aria-labelledby="standing">
      <div class="tools">
        <h2 id="standing">What is wrong now</h2>
        {at !== null && <span class="note">as of now, whatever moment is shown below</span>}
      </div>
      {problems.length === 0 ? (
        <Empty>Nothing.</Empty>
      ) : (
        <ul class="wrongs">
          {problems.map(({ level, code, job: of, messageParts, adviceParts }) => (
            <li key={`${code} ${of}`}>
              <span class={`tag ${level === 'error' ? 'bad' : 'warn'}`}>
                {level === 'error' ? '× error' : '! warning'}
              </span>
              <span>
                {of !== null && (
                  <>
                    <JobLink job={of} />{' '}
                  </>
                )}
                <Told phrase={messageParts} />
              </span>
              <span class="advice">
                → <Told phrase={adviceParts} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
