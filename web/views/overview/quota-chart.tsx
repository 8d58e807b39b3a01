/** The quota of the last day, its resets, and what the plan will leave of it. */

import { useMemo } from 'preact/hooks';
import type { Overview, QuotaPoint } from '../../../src/serve/ui/wire.ts';
import { count, duration, number } from '../../formats.ts';
import { Chart, type Series } from '../../parts/chart.tsx';
import { Empty } from '../../parts/states.tsx';
import { forecast, spentPerHour } from './forecast.ts';

type Props = { points: readonly QuotaPoint[]; plan: Overview['plan'] };

const TITLE = 'Calls left of the quota';
const STEP_MS = 600_000;
const DAY_MS = 86_400_000;
/** More resets than this would hide the line. */
const MOST_MARKS = 12;

export function QuotaChart({ points, plan }: Props) {
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

function drawingOf(points: readonly QuotaPoint[], plan: Props['plan']): Drawing {
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

function noteOf({ resets, hasForecast }: Drawing, plan: Props['plan']): string {
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
