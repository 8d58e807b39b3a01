/** What uPlot is told: colours from the style sheet, times in the zone that was chosen, 24 hours a day. */

import type uPlot from 'uplot';
import type { Zone } from '../../formats.ts';

export type Series = {
  label: string;
  /** As many as there are of `x`. */
  values: readonly (number | null)[];
  kind: 'line' | 'steps' | 'bars' | 'points';
  /** A CSS variable that holds its colour; by its place unless given. */
  colour?: string;
  isDashed?: boolean;
  isFilled?: boolean;
};

export type ChartProps = {
  title: string;
  /** Ascending; epoch milliseconds where `isTime`. */
  x: readonly number[];
  isTime: boolean;
  xLabel: string;
  series: readonly Series[];
  height?: number;
  /** The least that the value axis reaches to. */
  reachesTo?: number;
  /** The least that the other axis spans; as far as `x` unless given. */
  spans?: readonly [from: number, to: number] | undefined;
  /** Whether the value axis begins at 0, as it must for bars and for amounts; unless given, it does. */
  fromZero?: boolean;
  /** Upright lines: something happened there. */
  marks?: readonly { x: number; label: string }[];
  /** What should be known of the data, such as that they are cut. */
  note?: string | undefined;
};

/** The CSS variable of the colour that a series has by its place. */
export const colourAt = (at: number) => `--series-${(at % 6) + 1}`;

type Size = { width: number; height: number };

/** @param props what is drawn now. @param moved told of the place under the pointer. */
export function optionsOf(
  UPlot: typeof uPlot,
  props: () => ChartProps,
  zone: Zone,
  size: Size,
  moved: (at: number | null) => void,
): uPlot.Options {
  const { isTime, series, reachesTo } = props();
  const aside = isTime ? 12 * 3_600 : 1;
  return {
    ...size,
    legend: { show: false },
    cursor: { y: false, drag: { x: true, y: false }, points: { size: 7 } },
    tzDate: (seconds) =>
      zone === 'utc' ? UPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC') : new Date(seconds * 1_000),
    scales: {
      x: {
        time: isTime,
        range: (_, min, max) => {
          const { spans, x } = props();
          const unit = isTime ? 1_000 : 1;
          const [only] = x;
          // uPlot would draw years around a single moment.
          if (x.length === 1 && only !== undefined && !spans)
            return [only / unit - aside, only / unit + aside];
          const [first = 0, last = 0] = [x[0], x.at(-1)];
          // What was drawn across to look at is no more than that.
          if (min * unit > first || max * unit < last) return [min, max];
          // Of a single point uPlot thinks that it might be years.
          const [from, to] = spans ? [Math.min(first, spans[0]), Math.max(last, spans[1])] : [first, last];
          const margin = from === to ? 1 : spans ? 0 : barMargin(props()) / unit;
          return [from / unit - margin, to / unit + margin];
        },
      },
      y: {
        range: (_, min, max) => {
          if (props().fromZero === false && min !== max)
            return UPlot.rangeNum(min ?? 0, max ?? 1, 0.08, true);
          const top = Math.max(max ?? 1, props().reachesTo ?? reachesTo ?? Number.NEGATIVE_INFINITY);
          return UPlot.rangeNum(Math.min(0, min ?? 0), top <= 0 ? (min === max ? 1 : 0) : top, 0.08, true);
        },
      },
    },
    axes: [
      { ...ink(), space: 60, ...(isTime && { values: timeFormats }) },
      { ...ink(), size: 56, space: 36, values: (_, ticks) => ticks.map(shortNumber) },
    ],
    series: [{}, ...series.map((each, at) => seriesOf(UPlot, each, at))],
    hooks: {
      setCursor: [(self) => moved(self.cursor.idx ?? null)],
      draw: [(self) => drawMarks(self, props())],
    },
  };
}

/** Half of what lies between two bars, so that the first and the last are drawn whole. */
function barMargin({ series, x }: ChartProps): number {
  if (x.length < 2 || !series.some(({ kind }) => kind === 'bars')) return 0;
  const steps = x.slice(1).map((place, at) => place - (x[at] ?? place));
  return Math.min(...steps) / 2;
}

function seriesOf(UPlot: typeof uPlot, { label, kind, colour, isDashed, isFilled }: Series, at: number) {
  const name = colour ?? colourAt(at);
  const { bars, stepped } = UPlot.paths;
  const shapes = {
    line: {},
    steps: stepped ? { paths: stepped({ align: 1 }) } : {},
    bars: bars
      ? { paths: bars({ size: [0.8, 48] }), fill: () => cssColour(name), points: { show: false } }
      : {},
    points: { paths: () => null, points: { show: true, size: 6, fill: () => cssColour(name) } },
  } as const;
  return {
    label,
    stroke: () => cssColour(name),
    width: kind === 'bars' ? 0 : 1.75,
    spanGaps: false,
    ...(isDashed && { dash: [5, 4] }),
    ...(isFilled && { fill: () => cssColour(`${name}-soft`) }),
    ...shapes[kind],
  } satisfies uPlot.Series;
}

const ink = () => ({
  stroke: () => cssColour('--ink-soft'),
  font: '12px system-ui, sans-serif',
  grid: { stroke: () => cssColour('--line'), width: 1 },
  ticks: { stroke: () => cssColour('--line'), width: 1, size: 4 },
});

/** A canvas knows no variables: the browser is asked what colour they come to. */
function cssColour(name: string): string {
  probe.style.color = `var(${name})`;
  if (!probe.isConnected) document.head.append(probe);
  return getComputedStyle(probe).color;
}

const probe = document.createElement('i');

/** By the width between two ticks: day and year where they change. uPlot's own say am and pm. */
const timeFormats: (string | number | null)[][] = [
  [31_536_000, '{YYYY}', null, null, null, null, null, null, 1],
  [2_419_200, '{MMM}', '\n{YYYY}', null, null, null, null, null, 1],
  [86_400, '{MM}-{DD}', '\n{YYYY}', null, null, null, null, null, 1],
  [3_600, '{HH}:{mm}', '\n{YYYY}-{MM}-{DD}', null, '\n{MM}-{DD}', null, null, null, 1],
  [60, '{HH}:{mm}', '\n{YYYY}-{MM}-{DD}', null, '\n{MM}-{DD}', null, null, null, 1],
  [1, '{HH}:{mm}:{ss}', '\n{YYYY}-{MM}-{DD}', null, '\n{MM}-{DD}', null, null, null, 1],
  [0.001, '{ss}.{fff}', '\n{HH}:{mm}', null, '\n{HH}:{mm}', null, null, null, 1],
];

function shortNumber(value: number): string {
  const [size, unit] =
    Math.abs(value) >= 1e9
      ? [1e9, 'G']
      : Math.abs(value) >= 1e6
        ? [1e6, 'M']
        : Math.abs(value) >= 1e4
          ? [1e3, 'k']
          : [1, ''];
  return `${Number((value / size).toPrecision(6))}${unit}`;
}

function drawMarks(self: uPlot, { marks = [], isTime }: ChartProps): void {
  const { ctx, bbox } = self;
  ctx.save();
  ctx.strokeStyle = cssColour('--ink-soft');
  ctx.fillStyle = cssColour('--ink-soft');
  ctx.textAlign = 'left';
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.lineWidth = devicePixelRatio;
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  // The latest are named where not all can be.
  let taken = Number.POSITIVE_INFINITY;
  for (const { x, label } of marks.toSorted((a, b) => b.x - a.x)) {
    const left = self.valToPos(isTime ? x / 1_000 : x, 'x', true);
    if (left < bbox.left || left > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, bbox.top + bbox.height);
    ctx.stroke();
    const right = left + ctx.measureText(label).width + 8 * devicePixelRatio;
    if (right > taken) continue;
    taken = left;
    ctx.fillText(label, left + 4 * devicePixelRatio, bbox.top + 12 * devicePixelRatio);
  }
  ctx.restore();
}
