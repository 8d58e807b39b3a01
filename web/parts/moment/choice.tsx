/** Choosing a moment: a while ago, a time by the clock, or a day on which something changed and one of its changes. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { serviceNow } from '../../clock.ts';
import { clockTime, fromClock, type Zone, zoneName } from '../../formats.ts';
import { usePreferences } from '../../preferences.ts';
import { go, linkHere } from '../../router.ts';
import { Calendar } from './calendar.tsx';
import { DayChanges } from './day-changes.tsx';
import { dayOf } from './questions.ts';
import { Reach } from './reach.tsx';

type Props = { at: string | null; close(): void };

const HOUR_MS = 3_600_000;
const whiles = [
  ['an hour ago', HOUR_MS],
  ['a day ago', 24 * HOUR_MS],
  ['a week ago', 7 * 24 * HOUR_MS],
] as const;

export function MomentChoice({ at, close }: Props) {
  const { zone } = usePreferences();
  const panel = useRef<HTMLDivElement>(null);
  const shown = at === null ? serviceNow() : Date.parse(at);
  const [day, setDay] = useState(() => dayOf(shown, zone));
  useCloseFromOutside(panel, close);
  useEffect(() => panel.current?.querySelector<HTMLElement>('button, input')?.focus(), []);
  const show = (ms: number | null) => {
    go(linkHere({ at: ms === null ? null : new Date(ms).toISOString() }));
    close();
  };
  return (
    <div class="moment-box" ref={panel} role="dialog" aria-label="Choose a moment">
      <div class="tools">
        <button type="button" onClick={() => show(null)} aria-pressed={at === null}>
          Now
        </button>
        {whiles.map(([label, ms]) => (
          <button key={label} type="button" onClick={() => show(serviceNow() - ms)}>
            {label}
          </button>
        ))}
      </div>
      <Typed shown={shown} zone={zone} show={show} />
      <Calendar chosen={day} zone={zone} choose={setDay} />
      <DayChanges day={day} zone={zone} at={at} show={show} />
      <Reach />
    </div>
  );
}

function Typed({ shown, zone, show }: { shown: number; zone: Zone; show(ms: number): void }) {
  const [complaint, setComplaint] = useState('');
  const field = useRef<HTMLInputElement>(null);
  const take = (event: Event) => {
    event.preventDefault();
    const ms = fromClock(field.current?.value ?? '', zone);
    if (ms === null) return setComplaint('Give a time such as 2026-03-01 12:00.');
    if (ms > serviceNow()) return setComplaint('This is yet to come.');
    show(ms);
  };
  return (
    <form class="tools" onSubmit={take}>
      <label>
        As of ({zoneName(shown, zone)}){' '}
        <input
          ref={field}
          type="text"
          size={19}
          autocomplete="off"
          spellcheck={false}
          defaultValue={clockTime(shown, zone)}
          aria-describedby="moment-complaint"
        />
      </label>
      <button type="submit">Show</button>
      <span id="moment-complaint" role="alert" class="complaint">
        {complaint}
      </span>
    </form>
  );
}

function useCloseFromOutside(panel: { current: HTMLElement | null }, close: () => void): void {
  const latest = useRef(close);
  latest.current = close;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => event.key === 'Escape' && latest.current();
    const onPointer = (event: PointerEvent) => {
      // Its button opens and closes it by itself.
      const within = panel.current?.parentElement;
      if (within && !within.contains(event.target as Node)) latest.current();
    };
    document.addEventListener('keydown', onKey);
    document.addEventListener('pointerdown', onPointer);
    return () => {
      document.removeEventListener('keydown', onKey);
      document.removeEventListener('pointerdown', onPointer);
    };
  }, [panel]);
}
