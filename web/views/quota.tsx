/** The account: what may still be called, what was called, and what the plan makes of it. */

import { useMemo } from 'preact/hooks';
import type { Overview, PageQuestion } from '../../src/serve/page/wire.ts';
import { useCurrentAnswer } from '../ask.ts';
import { serviceNow } from '../clock.ts';
import { DAY_MS, duration, HOUR_MS, MINUTE_MS, number } from '../formats.ts';
import { useLive } from '../live.ts';
import { Chart, type Series } from '../parts/chart.tsx';
import { Fact, Heading, Tabs } from '../parts/heading.tsx';
import { Awaited, Empty, Loading } from '../parts/states.tsx';
import { NumberTable } from '../parts/table.tsx';
import { Ago, Time } from '../parts/time.tsx';
import { linkHere, linkTo, usePageAddress } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import type { Answer } from '../service.ts';
import { LimitFacts, whatIsEnough } from './quota/limits.tsx';

/** What is shown of the past, and the time of one bar. */
const ranges = {
  '1h': { label: '1 hour', ms: HOUR_MS, stepMs: MINUTE_MS, step: 'minute' },
  '24h': { label: '24 hours', ms: DAY_MS, stepMs: 10 * MINUTE_MS, step: 'ten minutes' },
  '7d': { label: '7 days', ms: 7 * DAY_MS, stepMs: HOUR_MS, step: 'hour' },
} as const;
type Range = (typeof ranges)[keyof typeof ranges];

/**
 * In SQL, since a week has as many calls as a client could not be sent to count them. The bare columns are those of the row with the greatest id: SQLite promises it for a lone max().
 */
const POINTS = `SELECT unixepoch(at) / :step AS bucket, count(*) AS calls, sum(status IS 429) AS refused,
  max(CASE WHEN rate_remaining IS NOT NULL THEN id END) AS latest, rate_remaining AS remaining,
  (SELECT min(at) FROM requests) AS first_known
FROM requests WHERE at >= :from GROUP BY 1 ORDER BY 1`;

export const QuotaView: ViewOf<'quota'> = () => {
  const { overview } = useLive();
  const { search, at } = usePageAddress();
  const chosen = search.get('range') ?? '';
  const range = Object.hasOwn(ranges, chosen) ? ranges[chosen as keyof typeof ranges] : ranges['24h'];
  // By whole steps, so that the question stays the same for a while.
  const from = Math.floor((serviceNow() - range.ms) / range.stepMs) * range.stepMs;
  const since = new Date(from).toISOString();
  const question: PageQuestion = {
    ...{ sql: POINTS, limit: 10_000 },
    params: { step: range.stepMs / 1_000, from: since },
  };
  const points = useCurrentAnswer(question);
  if (!overview) return <Loading />;
  const { status, plan } = overview;
  const answer = points.isOld ? null : points.value;
  const firstCall = answer?.rows[0]?.[5];
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
      <section class="card" aria-label="Limits">
        <dl class="facts">
          <LimitFacts status={status} />
          <Fact name="Waiting">
            <Waits status={status} />
          </Fact>
        </dl>
      </section>
      <section class="card stack" aria-label="Calls made and left">
        <Awaited query={points} />
        {answer && begun === null && <Empty>No call was made in the last {range.label}.</Empty>}
        {answer && begun !== null && (
          <Strip answer={answer} range={range} from={Math.max(from, begun)} until={Date.parse(plan.at)} />
        )}
        {begun !== null && begun > from && (
          <p class="note">
            Calls are known from <Time at={new Date(begun).toISOString()} /> on.
          </p>
        )}
      </section>
      <section class="card stack" aria-labelledby="plan-title">
        <PlanTable plan={plan} calls={status.calls} />
      </section>
    </>
  );
};

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

type StripProps = { answer: Answer; range: Range; from: number; until: number };

/** Calls made and calls left, step by step. A step without a call is a gap: nothing is known of the quota then. */
function Strip({ answer: { rows }, range: { stepMs, step }, from, until }: StripProps) {
  const { x, series } = useMemo(() => {
    const byBegin = new Map(rows.map((row) => [Number(row[0]) * stepMs, row]));
    const first = Math.floor(from / stepMs) * stepMs;
    const steps = Math.max(1, Math.floor((until - first) / stepMs) + 1);
    const x = Array.from({ length: steps }, (_, at) => first + at * stepMs);
    const of = (at: number) =>
      x.map((begin) => {
        const value = byBegin.get(begin)?.[at];
        return typeof value === 'number' ? value : null;
      });
    const refused = of(2).map((calls) => calls || null);
    const series: Series[] = [
      { label: 'calls made', kind: 'bars', colour: '--series-6', values: of(1) },
      { label: 'calls left', kind: 'points', values: of(4) },
      ...(refused.some(Boolean)
        ? [{ label: 'refused (429)', kind: 'points', colour: '--bad', values: refused } as const]
        : []),
    ];
    return { x, series };
  }, [rows, stepMs, from, until]);
  return (
    <Chart
      title={`Calls made and left, each ${step}`}
      note="gaps: no calls"
      isTime
      xLabel="from"
      height={200}
      x={x}
      series={series}
    />
  );
}

const words = { off: 'off', forbidden: 'refused to the key', unknown: 'unknown' } as const;
const span = (seconds: number | null) => (seconds === null ? '–' : duration(seconds));

type PlanProps = { plan: Overview['plan']; calls: Overview['status']['calls'] };

/** What is planned for each dataset, beside what was called for it. */
function PlanTable({ plan, calls: made }: PlanProps) {
  const { datasets, calls, available, unknown } = plan;
  const hasGlances = datasets.some(({ glanceEverySeconds }) => glanceEverySeconds !== null);
  return (
    <>
      <h2 id="plan-title">Plan of the next 24 hours</h2>
      <p>
        {number(calls, 0)} calls expected
        {available === null ? '' : `, of ${number(available, 0)} that may be made`}. {whatIsEnough(plan)}{' '}
        <span class="note">
          {number(made.lastHour)} were made in the last hour, {number(made.lastDay)} in 24 hours,{' '}
          {number(made.today)} since midnight UTC.
        </span>
      </p>
      <NumberTable
        label="Plan of the next 24 hours by dataset"
        heads={[
          'dataset',
          'schedule',
          'walk every',
          ...(hasGlances ? ['glance every'] : []),
          'calls',
          'made in 24 hours',
        ]}
        lines={datasets.map((dataset) => [
          <>
            <a href={linkTo('/calls', { job: `eq.${dataset.job}` })}>{dataset.job}</a>{' '}
            {dataset.state !== 'planned' && <span class="tag">{words[dataset.state]}</span>}
            {!dataset.drawsOnQuota && <span class="tag">free</span>}
          </>,
          span(dataset.targetSeconds),
          span(dataset.everySeconds),
          ...(hasGlances ? [span(dataset.glanceEverySeconds)] : []),
          dataset.calls === null ? '–' : number(dataset.calls, 0),
          number(made.byJob[dataset.job]?.lastDay ?? 0),
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
