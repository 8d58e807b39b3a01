/** The account: what may still be called, what the plan makes of it, and what was called. */

import { useMemo } from 'preact/hooks';
import type { Overview, QuotaPoint } from '../../../src/serve/ui/wire.ts';
import { count, DAY_MS, duration, MINUTE_MS, number } from '../../formats.ts';
import { Chart, type Series } from '../../parts/chart.tsx';
import { Empty, Scroll } from '../../parts/states.tsx';
import { Ago, Time } from '../../parts/time.tsx';
import { linkTo } from '../../router.ts';
import { forecast, spentPerHour } from './forecast.ts';

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

/** The quota of the last day, its resets, and what the plan will leave of it. */

type QuotaChartProps = { points: readonly QuotaPoint[]; plan: Overview['plan'] };

const TITLE = 'Calls left of the quota';
const STEP_MS = 10 * MINUTE_MS;
/** More resets than this would hide the line. */
const MOST_MARKS = 12;

function QuotaChart({ points, plan }: QuotaChartProps) {
  const drawn = useMemo(() => drawingOf(points, plan), [points, plan]);
  if (drawn.x.length === 0)
    return (
      <>
        <h3>{TITLE}</h3>
        <Empty>No call was made in the last 24 hours.</Empty>
      </>
    );
  const { limit } = plan.quota;
  return (
    <Chart
      title={TITLE}
      isTime
      xLabel="until"
      height={320}
      note={noteOf(drawn, plan)}
      x={drawn.x}
      series={drawn.series}
      spans={drawn.spans}
      marks={drawn.resets.length > MOST_MARKS ? [] : drawn.marks}
      {...(limit !== null && { reachesTo: limit })}
    />
  );
}

type Drawing = {
  x: number[];
  spans: [number, number];
  hasForecast: boolean;
  series: Series[];
  resets: number[];
  marks: { x: number; label: string }[];
};

function drawingOf(points: readonly QuotaPoint[], plan: QuotaChartProps['plan']): Drawing {
  const now = Date.parse(plan.at);
  const ahead = forecast(plan, now);
  const past = points.map((point) => ({ ...point, end: Math.min(now, Date.parse(point.at) + STEP_MS) }));
  const x = [...past.map(({ end }) => end), ...ahead.map(({ at }) => at)];
  const none = ahead.map(() => null);
  const resets = past.flatMap(({ remaining, at }, index) => {
    const before = past[index - 1]?.remaining ?? null;
    return remaining !== null && before !== null && remaining > before ? [Date.parse(at)] : [];
  });
  const series: Series[] = [
    {
      label: 'left',
      kind: 'steps',
      isFilled: true,
      values: [...past.map(({ remaining }) => remaining), ...none],
    },
    {
      label: 'called in ten minutes',
      kind: 'bars',
      colour: '--series-6',
      values: [...past.map(({ calls }) => calls), ...none],
    },
    ...(past.some(({ refused }) => refused > 0)
      ? [
          {
            label: 'refused (429)',
            kind: 'points' as const,
            colour: '--bad',
            values: [...past.map(({ refused }) => refused || null), ...none],
          },
        ]
      : []),
    ...(ahead.length > 0
      ? [
          {
            label: 'forecast of the plan',
            kind: 'line' as const,
            isDashed: true,
            values: [...past.map(() => null), ...ahead.map(({ left }) => Math.round(left))],
          },
        ]
      : []),
  ];
  return {
    x,
    spans: [now - DAY_MS, now],
    hasForecast: ahead.length > 0,
    series,
    resets,
    marks: [...resets.map((at) => ({ x: at, label: 'reset' })), { x: now, label: 'now' }],
  };
}

function noteOf({ resets, hasForecast }: Drawing, plan: QuotaChartProps['plan']): string {
  const { limit, refill } = plan.quota;
  const seen = resets.length > 0 ? `${count(resets.length, 'reset')} seen in 24 hours. ` : '';
  const spent = `The plan spends ${number(spentPerHour(plan), 0)} calls an hour`;
  const quota =
    limit !== null && refill.periodSeconds !== null
      ? `; the quota is ${number(limit)} every ${duration(refill.periodSeconds)}`
      : '';
  const why = hasForecast ? undefined : plan.unknown.find(({ job }) => job === null)?.why;
  return `${seen}${spent}${quota}.${why === undefined ? '' : ` No forecast: ${why}.`}`;
}

/** The calls of the last day, by dataset and by answer. */

type Calls = Overview['calls'];

function CallsTable({ calls, status }: { calls: Calls; status: Overview['status'] }) {
  const { today, lastHour, savedToday, savedInAll } = status.calls;
  const jobs = status.datasets.map(({ job }) => job);
  const statuses = [...new Set(calls.map((one) => one.status))].sort((a, b) => (a ?? 999) - (b ?? 999));
  const sumOf = (job: string | null, of?: number | null) =>
    calls
      .filter((one) => (job === null || one.job === job) && (of === undefined || one.status === of))
      .reduce((sum, one) => sum + one.calls, 0);
  return (
    <>
      <h3>Calls of the last 24 hours</h3>
      {calls.length === 0 ? (
        <p>None was made.</p>
      ) : (
        <Scroll label="Calls of the last 24 hours by dataset and answer">
          <table>
            <thead>
              <tr>
                <th scope="col">dataset</th>
                {statuses.map((one) => (
                  <th key={one} scope="col" class="number">
                    {one ?? 'none'}
                  </th>
                ))}
                <th scope="col" class="number">
                  all
                </th>
              </tr>
            </thead>
            <tbody>
              {jobs.map((job) => (
                <tr key={job}>
                  <th scope="row">
                    <a href={linkTo('/calls', { job })}>{job}</a>
                  </th>
                  {statuses.map((one) => (
                    <td key={one} class={`number${isWell(one) || sumOf(job, one) === 0 ? '' : ' ill'}`}>
                      {cellOf(sumOf(job, one))}
                    </td>
                  ))}
                  <td class="number">{cellOf(sumOf(job))}</td>
                </tr>
              ))}
            </tbody>
            <tfoot>
              <tr>
                <th scope="row">all</th>
                {statuses.map((one) => (
                  <td key={one} class="number">
                    {cellOf(sumOf(null, one))}
                  </td>
                ))}
                <td class="number">{number(sumOf(null))}</td>
              </tr>
            </tfoot>
          </table>
        </Scroll>
      )}
      <p class="note">
        {statuses.includes(null) && 'None: no answer came. '}
        {number(lastHour)} in the last hour, {number(today)} since midnight UTC.
        {savedInAll > 0 &&
          ` Proofs by one call saved ${number(savedToday)} of today's calls, ${number(savedInAll)} in all.`}
      </p>
    </>
  );
}

const cellOf = (calls: number) => (calls === 0 ? '–' : number(calls));
const isWell = (status: number | null) => status !== null && status < 400;

/** What the next 24 hours will cost, and how often each dataset is walked for it. */

type Plan = Overview['plan'];

function PlanTable({ plan }: { plan: Plan }) {
  const { datasets, calls, available, chanceOfRunningDry, unknown } = plan;
  return (
    <>
      <h3>Plan of the next 24 hours</h3>
      <p>
        {number(calls, 0)} calls expected
        {available === null ? '' : `, of ${number(available, 0)} that may be made`}. {whatIsEnough(plan)}
        {chanceOfRunningDry !== null &&
          chanceOfRunningDry >= 0.01 &&
          ` The chance of running dry is ${number(chanceOfRunningDry * 100, 0)} %.`}
      </p>
      <Scroll label="Plan of the next 24 hours by dataset">
        <table>
          <thead>
            <tr>
              <th scope="col">dataset</th>
              <th scope="col" class="number">
                schedule
              </th>
              <th scope="col" class="number">
                walk every
              </th>
              <th scope="col" class="number">
                glance every
              </th>
              <th scope="col" class="number">
                held to
              </th>
              <th scope="col" class="number">
                calls
              </th>
            </tr>
          </thead>
          <tbody>
            {datasets.map((dataset) => (
              <tr key={dataset.job}>
                <th scope="row">
                  {dataset.job}{' '}
                  {dataset.state !== 'planned' && <span class="tag">{words[dataset.state]}</span>}
                  {!dataset.drawsOnQuota && <span class="tag">free</span>}
                </th>
                <td class="number">{span(dataset.targetSeconds)}</td>
                <td class="number">{span(dataset.everySeconds)}</td>
                <td class="number">{span(dataset.glanceEverySeconds)}</td>
                <td class="number">{span(dataset.heldToSeconds)}</td>
                <td class="number">{dataset.calls === null ? '–' : number(dataset.calls, 0)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {unknown.length > 0 && (
        <ul class="note">
          {unknown.map(({ job, why }) => (
            <li key={`${job} ${why}`}>
              {job === null ? '' : `${job}: `}
              {why}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

const words = { off: 'off', forbidden: 'refused to the key', unknown: 'unknown' } as const;
const span = (seconds: number | null) => (seconds === null ? '–' : duration(seconds));

function whatIsEnough({ schedules, stretch, stretchNow }: Plan): string {
  if (schedules === 'unknown') return 'Whether so many may be made is not known yet.';
  const longer = (times: number) => `intervals become up to ${number(times, 1)} times as long`;
  if (schedules === 'scarce') return `Calls are scarce: ${longer(stretch)} as the schedules ask for.`;
  if (stretchNow > 1)
    return `The calls of the day are enough for every schedule; what is left until more come is not: until then ${longer(stretchNow)}.`;
  if (schedules === 'tight')
    return 'The calls are enough in the mean of the day; at times walks will wait for more.';
  return 'Every schedule can be kept.';
}
