/** A chart with its numbers beside it. The library that draws it is loaded with the first one. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { clockTime, number, zoneName } from '../formats.ts';
import { useMedia } from '../hooks.ts';
import { usePreferences } from '../preferences.ts';
import { type ChartProps, colourAt, optionsOf, type Series } from './chart/options.ts';
import { Scroll } from './scroll.tsx';
import { Failed } from './states.tsx';

export type { ChartProps, Series } from './chart/options.ts';

export function Chart(props: ChartProps) {
  const { title, note, series, height = 220 } = props;
  return (
    <figure class="chart">
      <figcaption>
        <b>{title}</b>
        {note !== undefined && <span class="note">{note}</span>}
        <ul class="legend">
          {series.map(({ label, colour, kind, isDashed }, at) => (
            <li key={label}>
              <Swatch colour={colour ?? colourAt(at)} kind={kind} isDashed={isDashed ?? false} />
              {label}
            </li>
          ))}
        </ul>
      </figcaption>
      <Drawing {...props} height={height} />
      <Numbers {...props} />
    </figure>
  );
}

function Swatch({ colour, kind, isDashed }: { colour: string; kind: Series['kind']; isDashed: boolean }) {
  const stroke = `var(${colour})`;
  return (
    <svg class="swatch" viewBox="0 0 16 10" aria-hidden="true">
      {kind === 'bars' && <rect x="4" y="1" width="8" height="9" style={{ fill: stroke }} />}
      {kind === 'points' && <circle cx="8" cy="5" r="3" style={{ fill: stroke }} />}
      {(kind === 'line' || kind === 'steps') && (
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

function Drawing(props: ChartProps & { height: number }) {
  const { x, isTime, series, height, marks } = props;
  const { zone, theme } = usePreferences();
  const isDark = useMedia('(prefers-color-scheme: dark)');
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [at, setAt] = useState<number | null>(null);
  const [isMissing, setMissing] = useState(false);
  const data = useMemo(() => dataOf(x, isTime, series), [x, isTime, series]);
  const drawn = useRef(data);
  drawn.current = data;
  // Of what is drawn, all but the values: another shape needs another drawing.
  const shape = JSON.stringify([isTime, zone, height, series.map(({ values, ...rest }) => rest)]);

  useEffect(() => {
    let isCurrent = true;
    const here = place.current;
    let resized: ResizeObserver | undefined;
    import('uplot').then(
      ({ default: UPlot }) => {
        if (!isCurrent || !here) return;
        const options = optionsOf(
          UPlot,
          () => latest.current,
          zone,
          { width: here.clientWidth, height },
          setAt,
        );
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
  // Colours come from the style sheet, and marks from the properties, while it is drawn.
  useEffect(() => plot.current?.redraw(false), [theme, isDark, marks]);

  if (isMissing)
    return (
      <Failed trouble={{ kind: 'away', message: 'the chart could not be loaded: its numbers are below' }} />
    );
  return (
    <>
      <div class="plot" ref={place} style={{ height: `${height}px` }} />
      <p class="told" aria-hidden="true">
        {at !== null && readout(props, at, zone)}
      </p>
    </>
  );
}

function dataOf(x: readonly number[], isTime: boolean, series: readonly Series[]): uPlot.AlignedData {
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

const MOST_LINES = 500;

/** The numbers that are drawn, as a table; made when it is opened. */
function Numbers({ title, x, isTime, xLabel, series }: ChartProps) {
  const { zone } = usePreferences();
  const [isOpen, setOpen] = useState(false);
  const from = Math.max(0, x.length - MOST_LINES);
  return (
    <details class="numbers" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Numbers</summary>
      {isOpen && (
        <>
          {from > 0 && (
            <p class="note">
              The last {MOST_LINES} of {number(x.length)}.
            </p>
          )}
          <Scroll label={`${title}: numbers`}>
            <table>
              <thead>
                <tr>
                  <th scope="col" class="time">
                    {xLabel}
                  </th>
                  {series.map(({ label }) => (
                    <th key={label} scope="col" class="number">
                      {label}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {x.slice(from).map((place, line) => (
                  <tr key={from + line}>
                    <th scope="row" class="time">
                      {placeText(place, isTime, zone)}
                    </th>
                    {series.map(({ label, values }) => {
                      const value = values[from + line];
                      return (
                        <td key={label} class="number">
                          {value === null || value === undefined ? '–' : number(value)}
                        </td>
                      );
                    })}
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        </>
      )}
    </details>
  );
}
