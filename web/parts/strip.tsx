/** A strip of walks, oldest first: one bar each, told apart by height and letter as well as by colour. */

import { useState } from 'preact/hooks';
import type { WalkMark } from '../../src/serve/page/wire.ts';
import { clockTime, count, duration, zoneName } from '../formats.ts';
import { usePreferences } from '../preferences.ts';
import { linkTo } from '../router.ts';
import { outcomeOf, outcomes } from './proof.tsx';

/** The line below describes the walk under the pointer or with the focus, else the latest. */
export function Strip({ walks, label }: { walks: readonly WalkMark[]; label: string }) {
  const { zone } = usePreferences();
  const [chosen, setChosen] = useState<number | null>(null);
  const shown = walks.find(({ id }) => id === chosen) ?? walks.at(-1);
  if (!shown) return <p class="readout">No walk yet.</p>;
  const describe = (walk: WalkMark) => {
    const at = Date.parse(walk.startedAt);
    return `${clockTime(at, zone)} ${zoneName(at, zone)} · ${sentenceOf(walk)}`;
  };
  return (
    <div class="strip">
      <ol aria-label={label} onMouseLeave={() => setChosen(null)}>
        {walks.map((walk) => {
          const outcome = outcomeOf(walk);
          return (
            <li key={walk.id}>
              <a
                href={linkTo(`/walks/${walk.id}`)}
                class={`bar ${outcome}`}
                aria-label={describe(walk)}
                onMouseEnter={() => setChosen(walk.id)}
                onFocus={() => setChosen(walk.id)}
                onBlur={() => setChosen(null)}
              >
                {outcomes[outcome].letter}
              </a>
            </li>
          );
        })}
      </ol>
      {/* Longer words of an error are on the walk's own page, where its bar leads. */}
      <p class="readout" aria-hidden="true" title={describe(shown)}>
        {describe(shown)}
      </p>
    </div>
  );
}

export function sentenceOf(walk: WalkMark): string {
  const { startedAt, finishedAt, rows, apiCalls, error } = walk;
  // Until when it waits is said beside the strip.
  const isTold = error === null || walk.status === 'waiting';
  const took =
    finishedAt === null ? '' : ` in ${duration((Date.parse(finishedAt) - Date.parse(startedAt)) / 1_000)}`;
  const what = `${outcomes[outcomeOf(walk)].label}, ${count(rows, 'row')}, ${count(apiCalls, 'call')}${took}`;
  return isTold ? what : `${what}: ${error}`;
}

const WIDTH = 100;
const HEIGHT = 24;
/** What is there must be seen, however little it is. */
const LEAST = 2;

/** A small drawing of a few numbers, one bar each. Words beside it say the same. */
export function Sparkline({ values }: { values: readonly number[] }) {
  const most = Math.max(1, ...values);
  const step = WIDTH / Math.max(1, values.length);
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {values.map((value, at) => {
        const height = value === 0 ? 0 : Math.max(LEAST, (value / most) * (HEIGHT - 1));
        return (
          <rect
            key={at}
            x={at * step + step * 0.1}
            width={step * 0.8}
            y={HEIGHT - 1 - height}
            height={height}
          />
        );
      })}
    </svg>
  );
}
