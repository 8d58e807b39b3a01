/** A chart with its numbers beside it. The library that draws it is loaded with the first one. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { clockTime, number, shownNumber, type Zone, zoneName } from '../formats.ts';
import { usePreferences } from '../preferences.ts';
import { useMedia } from '../store.ts';
import { Failed } from './states.tsx';
import { NumberTable } from './table.tsx';

export function Chart(props: ChartProps) {
  const { title, note, series } = props;
  return (
    <figure class="chart">
      <figcaption class="heading">
        <b>{title}</b>
        {note !== undefined && <span class="note">{note}</span>}
        <ul class="legend tools">
          {series.map(({ label, colour, kind, isDashed }, at) => (
            <li key={label} class="pair">
              <Swatch colour={colour ?? colourAt(at)} kind={kind} isDashed={isDashed ?? false} />
              {label}
            </li>
          ))}
        </ul>
      </figcaption>
      <Drawing {...props} />
      <Numbers {...props} />
    </figure>
  );
}

function Swatch({ colour, kind, isDashed }: { colour: string; kind: Series['kind']; isDashed: boolean }) {
  const stroke = `var(${colour})`;
  return (
    <svg width="16" height="10" viewBox="0 0 16 10" aria-hidden="true">
      {kind === 'bars' && <rect x="4" y="1" width="8" height="9" style={{ fill: stroke }} />}
      {kind === 'points' && <circle cx="8" cy="5" r="3" style={{ fill: stroke }} />}
      {kind === 'line' && (
        <line
          x1="0"
          x2="16"
          y1="5"
          y2="5"
          stroke-dasharray={isDashed ? '4 3' : undefined}
          style={{ stroke, strokeWidth: 2 }}
        />
      )}
    </svg>
  );
}

function Drawing(props: ChartProps) {
  const { x, isTime, series, height, brush } = props;
  const { zone, theme } = usePreferences();
  const isDark = useMedia('(prefers-color-scheme: dark)');
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [at, setAt] = useState<number | null>(null);
  const [isMissing, setMissing] = useState(false);
  const data = useMemo(() => dataOf(props), [x, isTime, series]);
  const drawn = useRef(data);
  drawn.current = data;
  // All but the values: these need a new plot, values do not.
  const shape = JSON.stringify([
    isTime,
    zone,
    height,
    brush === undefined,
    series.map(({ values, ...rest }) => rest),
  ]);

  useEffect(() => {
    let isCurrent = true;
    const here = place.current;
    let resized: ResizeObserver | undefined;
    import('uplot').then(
      ({ default: UPlot }) => {
        if (!isCurrent || !here) return;
        const options = optionsOf(UPlot, () => latest.current, zone, here.clientWidth, setAt);
        plot.current = new UPlot(options, drawn.current, here);
        plot.current.root.querySelector('canvas')?.setAttribute('aria-hidden', 'true');
        resized = new ResizeObserver(() => plot.current?.setSize({ width: here.clientWidth, height }));
        resized.observe(here);
      },
      () => isCurrent && setMissing(true),
    );
    return () => {
      isCurrent = false;
      resized?.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);

  // What was zoomed into stays; a double click shows all of it again.
  useEffect(() => {
    const shown = plot.current?.scales['x'];
    const before = plot.current?.data[0];
    const isZoomed =
      shown && before && ((shown.min ?? 0) > (before[0] ?? 0) || (shown.max ?? 0) < (before.at(-1) ?? 0));
    plot.current?.setData(data, !isZoomed);
    if (isZoomed) plot.current?.redraw();
  }, [data]);
  // Colours come from the style sheet while it is drawn.
  useEffect(() => plot.current?.redraw(false), [theme, isDark]);

  if (isMissing)
    return (
      <Failed problem={{ kind: 'away', message: 'the chart could not be loaded: its numbers are below' }} />
    );
  return (
    <>
      <div class="plot" ref={place} style={{ height: `${height}px` }} />
      <p class="readout" aria-hidden="true">
        {at !== null && readout(props, at, zone)}
      </p>
    </>
  );
}

function dataOf({ x, isTime, series }: ChartProps): uPlot.AlignedData {
  const places = isTime ? x.map((ms) => ms / 1_000) : [...x];
  return [places, ...series.map(({ values }) => [...values])] as uPlot.AlignedData;
}

function readout({ x, isTime, series }: ChartProps, at: number, zone: 'utc' | 'local'): string {
  const values = series.flatMap(({ label, values }) => {
    const value = values[at];
    return value === null || value === undefined ? [] : [`${label} ${number(value)}`];
  });
  return [placeText(x[at] ?? 0, isTime, zone), ...values].join(' · ');
}

const placeText = (x: number, isTime: boolean, zone: 'utc' | 'local') =>
  isTime ? `${clockTime(x, zone)} ${zoneName(x, zone)}` : number(x);

const MAX_LINES = 500;

/** The numbers that are drawn, as a table; made when it is opened. */
function Numbers({ title, x, isTime, xLabel, series }: ChartProps) {
  const { zone } = usePreferences();
  const [isOpen, setOpen] = useState(false);
  const from = Math.max(0, x.length - MAX_LINES);
  return (
    <details class="numbers" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="note">Numbers</summary>
      {isOpen && (
        <>
          {from > 0 && (
            <p class="note">
              The last {MAX_LINES} of {number(x.length)}.
            </p>
          )}
          <NumberTable
            label={`${title}: numbers`}
            heads={[xLabel, ...series.map(({ label }) => label)]}
            lines={x.slice(from).map((place, line) => [
              placeText(place, isTime, zone),
              ...series.map(({ values }) => {
                const value = values[from + line];
                return value === null || value === undefined ? '–' : number(value);
              }),
            ])}
          />
        </>
      )}
    </details>
  );
}

export type Series = {
  label: string;
  /** As many as there are of `x`. */
  values: readonly (number | null)[];
  kind: 'line' | 'bars' | 'points';
  /** A CSS variable that holds its colour; by its place unless given. */
  colour?: string;
  isDashed?: boolean;
};

type ChartProps = {
  title: string;
  /** Ascending; epoch milliseconds where `isTime`. */
  x: readonly number[];
  isTime: boolean;
  xLabel: string;
  series: readonly Series[];
  height: number;
  /** From this place on not all is there yet: it is drawn pale. */
  unfinishedFrom?: number | undefined;
  /** Called with the range that the reader draws across; unless given, the chart zooms into it. */
  brush?: ((from: number, to: number) => void) | undefined;
  /** What should be known of the data, such as that they are cut. */
  note?: string | undefined;
};

/** The CSS variable of the colour that a series has by its place. */
const colourAt = (at: number) => `--series-${(at % 9) + 1}`;

/**
 * Colours come from the style sheet, times are in the chosen zone.
 * @param props what is drawn now. @param moved gets the place under the pointer.
 */
function optionsOf(
  UPlot: typeof uPlot,
  props: () => ChartProps,
  zone: Zone,
  width: number,
  moved: (at: number | null) => void,
): uPlot.Options {
  const { isTime, series, height, brush } = props();
  const aside = isTime ? 12 * 3_600 : 1;
  return {
    width,
    height,
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: brush === undefined },
      points: { size: 7 },
    },
    tzDate: (seconds) =>
      zone === 'utc' ? UPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC') : new Date(seconds * 1_000),
    scales: {
      x: {
        time: isTime,
        range: (_, min, max) => {
          const { x } = props();
          const unit = isTime ? 1_000 : 1;
          const [only] = x;
          // uPlot would draw years around a single moment.
          if (x.length === 1 && only !== undefined) return [only / unit - aside, only / unit + aside];
          const [first = 0, last = 0] = [x[0], x.at(-1)];
          // What was drawn across to look at is no more than that.
          if (min * unit > first || max * unit < last) return [min, max];
          const margin = first === last ? 1 : barMargin(props()) / unit;
          return [first / unit - margin, last / unit + margin];
        },
      },
      y: {
        range: (_, min, max) => {
          const top = max ?? 1;
          return UPlot.rangeNum(Math.min(0, min ?? 0), top <= 0 ? (min === max ? 1 : 0) : top, 0.08, true);
        },
      },
    },
    axes: [
      { ...ink(), space: 60, ...(isTime && { values: timeFormats }) },
      { ...ink(), size: 56, space: 36, values: (_, ticks) => ticks.map(axisNumber) },
    ],
    series: [{}, ...series.map((each, at) => seriesOf(UPlot, each, at))],
    hooks: {
      setCursor: [(self) => moved(self.cursor.idx ?? null)],
      draw: [(self) => paleUnfinished(self, props())],
      setSelect: [
        (self) => {
          const { left, width } = self.select;
          const { brush } = props();
          if (!brush || width < 4) return;
          const scale = isTime ? 1_000 : 1;
          brush(self.posToVal(left, 'x') * scale, self.posToVal(left + width, 'x') * scale);
          self.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        },
      ],
    },
  };
}

/** Half of what lies between two bars, so that the first and the last are drawn whole. */
function barMargin({ series, x }: ChartProps): number {
  if (x.length < 2 || !series.some(({ kind }) => kind === 'bars')) return 0;
  const steps = x.slice(1).map((place, at) => place - (x[at] ?? place));
  return Math.min(...steps) / 2;
}

function seriesOf(UPlot: typeof uPlot, { label, kind, colour, isDashed }: Series, at: number) {
  const name = colour ?? colourAt(at);
  const { bars } = UPlot.paths;
  const shapes = {
    line: {},
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

function axisNumber(value: number): string {
  const [size, unit] =
    Math.abs(value) >= 1e9
      ? [1e9, 'G']
      : Math.abs(value) >= 1e6
        ? [1e6, 'M']
        : Math.abs(value) >= 1e4
          ? [1e3, 'k']
          : [1, ''];
  return `${shownNumber(value / size)}${unit}`;
}

/** An unfinished bucket would look like a fall. */
function paleUnfinished(self: uPlot, { unfinishedFrom, isTime, series, x }: ChartProps): void {
  if (unfinishedFrom === undefined) return;
  const { ctx, bbox } = self;
  const isBars = series.some(({ kind }) => kind === 'bars');
  const before = x.at(-2) ?? unfinishedFrom;
  const from = isBars ? (before + unfinishedFrom) / 2 : before;
  const left = Math.max(bbox.left, self.valToPos(isTime ? from / 1_000 : from, 'x', true));
  ctx.save();
  ctx.globalAlpha = 0.62;
  ctx.fillStyle = cssColour('--card');
  ctx.fillRect(left, bbox.top, bbox.left + bbox.width - left, bbox.height);
  ctx.restore();
}
