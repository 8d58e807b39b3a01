/** The account: what may still be called, what the plan makes of it, and what was called. */

import { useMemo } from 'preact/hooks';
import type { Overview, PageQuestion } from '../../src/serve/page/wire.ts';
import { useCurrentAnswer, useRequestOf } from '../ask.ts';
import { serviceNow } from '../clock.ts';
import { count, DAY_MS, duration, HOUR_MS, MINUTE_MS, number } from '../formats.ts';
import { useLive } from '../live.ts';
import { Chart, type Series } from '../parts/chart.tsx';
import { Fact, Heading, Tabs } from '../parts/heading.tsx';
import { Awaited, Empty, Loading } from '../parts/states.tsx';
import { NumberTable } from '../parts/table.tsx';
import { Ago, Time } from '../parts/time.tsx';
import { linkHere, linkTo, usePageAddress } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import type { Answer } from '../service.ts';

/** What is shown of the past, and the time of one bar. */
const ranges = {
  '1h': { label: '1 hour', ms: HOUR_MS, stepMs: MINUTE_MS, step: 'minute' },
  '24h': { label: '24 hours', ms: DAY_MS, stepMs: 10 * MINUTE_MS, step: 'ten minutes' },
  '7d': { label: '7 days', ms: 7 * DAY_MS, stepMs: HOUR_MS, step: 'hour' },
} as const;

type Range = (typeof ranges)[keyof typeof ranges];

export const QuotaView: ViewOf<'quota'> = () => {
  const { overview } = useLive();
  const { search, at } = usePageAddress();
  const chosen = search.get('range') ?? '';
  const range = Object.hasOwn(ranges, chosen) ? ranges[chosen as keyof typeof ranges] : ranges['24h'];
  // By whole steps, so that the question stays the same for a while.
  const from = Math.floor((serviceNow() - range.ms) / range.stepMs) * range.stepMs;
  const points = useCurrentAnswer(pointsSince(from, range));
  const asked = useRequestOf(points, { range, from });
  if (!overview) return <Loading />;
  const { status, plan } = overview;
  const firstCall = points.value?.rows[0]?.[5];
  const begun = typeof firstCall === 'string' ? Date.parse(firstCall) : null;
  return (
    <>
      <Heading title="Quota">
        <Tabs
          label="Time shown"
          tabs={Object.entries(ranges).map(([key, one]) => ({
            text: one.label,
            link: linkHere({ range: key === '24h' ? null : key }),
            isHere: one === range,
          }))}
        />
        {at !== null && <span class="note">as of now, whatever moment is shown elsewhere</span>}
      </Heading>
      <QuotaFacts status={status} />
      <section
        class={`card stack${asked.range === range ? '' : ' old'}`}
        aria-label="Calls left, and calls made"
      >
        <Awaited query={points} />
        {points.value && begun === null && <Empty>No call was made in the last {asked.range.label}.</Empty>}
        {points.value && begun !== null && (
          <QuotaCharts
            answer={points.value}
            plan={plan}
            range={asked.range}
            from={Math.max(asked.from, begun)}
          />
        )}
        {begun !== null && begun > asked.from && (
          <p class="note">
            Calls are known from <Time at={new Date(begun).toISOString()} /> on.
          </p>
        )}
      </section>
      <section class="card stack" aria-labelledby="plan-title">
        <PlanTable plan={plan} />
      </section>
      <section class="card stack" aria-labelledby="calls-title">
        <CallsTable status={status} range={range} from={from} />
      </section>
    </>
  );
};

/** @param from epoch milliseconds. */
function pointsSince(from: number, { stepMs }: Range): PageQuestion {
  return {
    // The bare columns are those of the row with the greatest id: SQLite promises it for a lone max().
    sql: `SELECT unixepoch(at) / :step AS bucket, count(*) AS calls, sum(status IS 429) AS refused,
  max(CASE WHEN rate_remaining IS NOT NULL THEN id END) AS latest, rate_remaining AS remaining,
  (SELECT min(at) FROM requests) AS first_known
FROM requests WHERE at >= :from GROUP BY 1 ORDER BY 1`,
    params: { step: stepMs / 1_000, from: new Date(from).toISOString() },
    limit: 10_000,
  };
}

/** What is known of the limits, in a line; and what waits for them. */
function QuotaFacts({ status }: { status: Overview['status'] }) {
  const { limit, remaining, asOf, reserve, source, resets, other } = status.quota;
  const { rate, concurrency, notes } = status;
  return (
    <section class="card stack" aria-label="Limits">
      <dl class="facts">
        <Fact name="Calls left">
          {remaining === null ? (
            'not known yet: the API has not reported any'
          ) : (
            <>
              <b>{number(remaining)}</b> {limit !== null && `of ${number(limit)}`}
              {reserve > 0 && `, ${number(reserve)} of them reserved`}; {resets.says}
              {resets.at !== null && (
                <>
                  , next <Ago at={resets.at} />
                </>
              )}{' '}
              {asOf !== null && source !== 'set' && (
                <span class="note">
                  as of <Ago at={asOf} />
                </span>
              )}
            </>
          )}
        </Fact>
        {other !== null && other.remaining !== null && (
          <Fact name="Of another quota">
            {number(other.remaining)} of {number(other.limit ?? 0)}, by the header; {other.resets.says}
          </Fact>
        )}
        {notes.length > 0 && <Fact name="Mind">{notes.join('; ')}</Fact>}
        {rate && concurrency && (
          <Fact name="Rate">
            {rate.perSecond === null ? 'No limit was met.' : `${number(rate.perSecond, 1)} calls a second.`}{' '}
            {rate.perSecond !== null && <span class="note">{rate.evidence}</span>}{' '}
            {number(concurrency.allowed)} at once. <span class="note">{concurrency.evidence}</span>
          </Fact>
        )}
        <Fact name="Waiting">
          <Waits status={status} />
        </Fact>
        <Fact name="Processes">
          <Processes status={status} />
        </Fact>
      </dl>
    </section>
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
  if (known.length + waiting.length === 0) return <>Nothing waits.</>;
  return (
    <ul class="waits lines">
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
    <>
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
    </>
  );
}

type ChartsProps = { answer: Answer; plan: Overview['plan']; range: Range; from: number };

/** More resets than this would hide the line. */
const MOST_MARKS = 12;

function QuotaCharts({ answer, plan, range, from }: ChartsProps) {
  const drawn = useMemo(() => drawingOf(answer, plan, range, from), [answer, plan, range, from]);
  const { limit } = plan.quota;
  return (
    <>
      <Chart
        title="Calls left"
        isTime
        xLabel="until"
        height={220}
        note={noteOf(drawn, plan, range)}
        {...drawn.left}
        marks={drawn.resets.length > MOST_MARKS ? [] : drawn.marks}
        {...(limit !== null && { reachesTo: limit })}
      />
      <Chart title={`Calls made, each ${range.step}`} isTime xLabel="until" height={140} {...drawn.made} />
    </>
  );
}

type Lines = { x: number[]; spans: [number, number]; series: Series[] };
type Drawing = {
  left: Lines;
  made: Lines;
  resets: number[];
  marks: { x: number; label: string }[];
};

function drawingOf({ rows }: Answer, plan: Overview['plan'], { stepMs }: Range, from: number): Drawing {
  const now = Date.parse(plan.at);
  const past = rows.map(([bucket, calls, refused, , remaining]) => ({
    begin: Number(bucket) * stepMs,
    end: Math.min(now, (Number(bucket) + 1) * stepMs),
    calls: Number(calls),
    refused: Number(refused),
    remaining: typeof remaining === 'number' ? remaining : null,
  }));
  const x = past.map(({ end }) => end);
  const resets = past.flatMap(({ remaining, begin }, index) => {
    const before = past[index - 1]?.remaining ?? null;
    return remaining !== null && before !== null && remaining > before ? [begin] : [];
  });
  const left: Series[] = [
    {
      label: 'left',
      kind: 'steps',
      isFilled: true,
      values: past.map(({ remaining }) => remaining),
    },
  ];
  const made: Series[] = [
    { label: 'calls', kind: 'bars', colour: '--series-6', values: past.map(({ calls }) => calls) },
  ];
  if (past.some(({ refused }) => refused > 0))
    made.push({
      label: 'refused (429)',
      kind: 'points',
      colour: '--bad',
      values: past.map(({ refused }) => refused || null),
    });
  // Both reach as far, so that what is above each other is of one time.
  const spans: [number, number] = [from, x.at(-1) ?? now];
  return {
    left: { x, spans, series: left },
    made: { x, spans, series: made },
    resets,
    marks: [...resets.map((at) => ({ x: at, label: 'reset' })), { x: now, label: 'now' }],
  };
}

function noteOf({ resets }: Drawing, plan: Overview['plan'], range: Range): string {
  const seen = resets.length > 0 ? `${count(resets.length, 'reset')} seen in ${range.label}. ` : '';
  return `${seen}The plan spends ${number(plan.calls / 24, 0)} calls an hour.`;
}

/** The calls of that time, by dataset and by answer. */
function CallsTable({ status, range, from }: { status: Overview['status']; range: Range; from: number }) {
  const query = useCurrentAnswer({
    sql: 'SELECT job, status, count(*) AS calls FROM requests WHERE at >= :from GROUP BY 1, 2',
    params: { from: new Date(from).toISOString() },
    limit: 10_000,
  });
  const asked = useRequestOf(query, range);
  const calls = (query.value?.rows ?? []).map(([job, status, calls]) => ({
    job: String(job),
    status: status === null ? null : Number(status),
    calls: Number(calls),
  }));
  const { today, lastHour } = status.calls;
  const jobs = status.datasets.map(({ job }) => job);
  const statuses = [...new Set(calls.map((one) => one.status))].sort((a, b) => (a ?? 999) - (b ?? 999));
  const sumOf = (job: string | null, of?: number | null) =>
    calls
      .filter((one) => (job === null || one.job === job) && (of === undefined || one.status === of))
      .reduce((sum, one) => sum + one.calls, 0);
  return (
    <>
      <h2 id="calls-title">Calls of the last {asked.label}</h2>
      <Awaited query={query} />
      {calls.length === 0 ? (
        query.value && <p>None was made.</p>
      ) : (
        <NumberTable
          label={`Calls of the last ${asked.label} by dataset and answer`}
          heads={['dataset', ...statuses.map((one) => String(one ?? 'none')), 'all']}
          lines={[...jobs, null].map((job) => [
            job === null ? 'all' : <a href={linkTo('/calls', { job })}>{job}</a>,
            ...statuses.map((one) => (
              <span key={one} class={job === null || isWell(one) ? undefined : 'toned bad'}>
                {cellOf(sumOf(job, one))}
              </span>
            )),
            cellOf(sumOf(job)),
          ])}
        />
      )}
      <p class="note">
        {statuses.includes(null) && 'None: no answer came. '}
        {number(lastHour)} in the last hour, {number(today)} since midnight UTC.
      </p>
    </>
  );
}

const cellOf = (calls: number) => (calls === 0 ? '–' : number(calls));
const isWell = (status: number | null) => status !== null && status < 400;

type Plan = Overview['plan'];

function PlanTable({ plan }: { plan: Plan }) {
  const { datasets, calls, available, unknown } = plan;
  return (
    <>
      <h2 id="plan-title">Plan of the next 24 hours</h2>
      <p>
        {number(calls, 0)} calls expected
        {available === null ? '' : `, of ${number(available, 0)} that may be made`}. {whatIsEnough(plan)}
      </p>
      <NumberTable
        label="Plan of the next 24 hours by dataset"
        heads={['dataset', 'schedule', 'walk every', 'glance every', 'held to', 'calls']}
        lines={datasets.map((dataset) => [
          <>
            {dataset.job} {dataset.state !== 'planned' && <span class="tag">{words[dataset.state]}</span>}
            {!dataset.drawsOnQuota && <span class="tag">free</span>}
          </>,
          span(dataset.targetSeconds),
          span(dataset.everySeconds),
          span(dataset.glanceEverySeconds),
          span(dataset.heldToSeconds),
          dataset.calls === null ? '–' : number(dataset.calls, 0),
        ])}
      />
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

/** One sentence, so that none contradicts another. */
const whatIsEnough = ({ schedules }: Plan): string =>
  ({
    unknown: 'Whether so many may be made is not known yet.',
    kept: 'Every schedule can be kept.',
    scarce: 'Calls are scarce: the longer intervals are what the quota allows.',
    starved: 'Calls are so scarce that not every dataset is walked once a day.',
  })[schedules];
