/** The account: what may still be called, what the plan makes of it, and what was called. */

import type { Overview } from '../../../src/serve/ui/wire.ts';
import { duration, number } from '../../formats.ts';
import { Ago, Time } from '../../parts/time.tsx';
import { CallsTable } from './calls-table.tsx';
import { PlanTable } from './plan-table.tsx';
import { QuotaChart } from './quota-chart.tsx';

type Props = Pick<Overview, 'status' | 'plan' | 'quota' | 'calls'> & { isPast: boolean };

export function Account({ status, plan, quota, calls, isPast }: Props) {
  return (
    <section class="stack" aria-labelledby="account-title">
      <h2 id="account-title">Account {isPast && <span class="tag">now</span>}</h2>
      <div class="account">
        <div class="card wide">
          <QuotaChart points={quota} plan={plan} />
        </div>
        <div class="card">
          <h3>Quota</h3>
          <QuotaFacts quota={status.quota} />
          <h3>Pace</h3>
          <Pace status={status} />
          <h3>Waiting</h3>
          <Waits status={status} />
          <h3>Processes</h3>
          <Processes status={status} />
        </div>
        <div class="card wide">
          <PlanTable plan={plan} />
        </div>
        <div class="card">
          <CallsTable calls={calls} status={status} />
        </div>
      </div>
    </section>
  );
}

function QuotaFacts({ quota }: { quota: Overview['status']['quota'] }) {
  const { limit, remaining, asOf, reserve, refill, othersPerHour } = quota;
  if (remaining === null) return <p>The API has not reported any yet.</p>;
  return (
    <>
      <p class="figure">
        <b>{number(remaining)}</b> {limit !== null && `of ${number(limit)}`} calls left
      </p>
      {asOf !== null && (
        <p class="note">
          as of <Ago at={asOf} />
          {reserve > 0 && `; ${number(reserve)} of them are kept back`}
        </p>
      )}
      <p>
        {refill.nextBy !== null && (
          <>
            Resets <Ago at={refill.nextBy} /> at the latest, every {duration(refill.periodSeconds ?? 0)}.
          </>
        )}
        {refill.perHour !== null && `${number(refill.perHour)} an hour come back.`}
        {refill.kind === 'unknown' && 'Reset time not known yet.'}{' '}
        <span class="note">
          {refill.kind === 'unknown' ? refill.evidence : `${refill.confidence}: ${refill.evidence}`}
        </span>
      </p>
      {othersPerHour > 0 && <p>Others take about {number(othersPerHour, 0)} an hour.</p>}
    </>
  );
}

function Pace({ status: { rate, concurrency } }: { status: Overview['status'] }) {
  if (!rate || !concurrency) return <p>Not learnt yet.</p>;
  return (
    <>
      <p>
        {rate.perSecond === null ? 'No limit was met.' : `${number(rate.perSecond, 1)} calls a second.`}{' '}
        <span class="note">
          {rate.perSecond === null ? rate.evidence : `${rate.confidence}: ${rate.evidence}`}
        </span>
      </p>
      <p>
        {number(concurrency.allowed)} at once. <span class="note">{concurrency.evidence}</span>
      </p>
    </>
  );
}

/** What keeps calls waiting, and the walks that wait for it. */
function Waits({ status: { waits, datasets } }: { status: Overview['status'] }) {
  const known = waits ?? [];
  // Mostly it waits for what its own calls wait for.
  const waiting = datasets.filter(
    ({ job, doing }) =>
      doing.state === 'waiting' && !known.some((wait) => wait.job === job && wait.reason === doing.reason),
  );
  if (known.length + waiting.length === 0) return <p>Nothing waits.</p>;
  return (
    <ul class="waits">
      {known.map(({ job, until, reason, why }) => (
        <li key={`${job} ${reason}`}>
          <b>{job ?? 'all calls'}</b> <Ago at={until} /> <span class="tag warn">{reason}</span>
          <p class="note">{why}</p>
        </li>
      ))}
      {waiting.map(({ job, doing }) => (
        <li key={job}>
          <b>{job}</b>: its {doing.kind} goes on {doing.until === null ? 'later' : <Ago at={doing.until} />}{' '}
          <span class="tag warn">{doing.reason}</span>
        </li>
      ))}
    </ul>
  );
}

function Processes({ status: { daemon, serve } }: { status: Overview['status'] }) {
  return (
    <p>
      {daemon === null ? 'No daemon is running.' : `The daemon is process ${daemon.pid}.`}{' '}
      {serve !== null && (
        <span class="note">
          The service is process {serve.pid}
          {serve.since !== null && (
            <>
              , since <Time at={serve.since} exactness="minute" />
            </>
          )}
          .
        </span>
      )}
    </p>
  );
}
