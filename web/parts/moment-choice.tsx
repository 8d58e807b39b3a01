/** Choosing a moment: a while ago, a time by the clock, or a day on which something changed and one of its changes. */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { PageCell } from '../../src/serve/page/wire.ts';
import { useAnswer, useSchema } from '../ask.ts';
import { serviceNow } from '../clock.ts';
import { clockTime, count, DAY_MS, fromClock, HOUR_MS, number, type Zone, zoneName } from '../formats.ts';
import { useLive } from '../live.ts';
import { usePreferences } from '../preferences.ts';
import { go, linkHere, linkTo } from '../router.ts';
import {
  changesByDay,
  changesOfDay,
  changesOfMonth,
  type Day,
  dayOf,
  dayOfChanges,
  endOf,
  type Month,
  monthAfter,
  monthOf,
  weeksOf,
} from './calendar.ts';
import { Failed, Loading } from './states.tsx';
import { Heads } from './table.tsx';
import { Time } from './time.tsx';

export const whilesAgo = [
  ['an hour ago', HOUR_MS],
  ['a day ago', DAY_MS],
  ['a week ago', 7 * DAY_MS],
] as const;

export function MomentChoice({ at, close }: { at: string | null; close(): void }) {
  const { zone } = usePreferences();
  const panel = useRef<HTMLDivElement>(null);
  const shown = at === null ? serviceNow() : Date.parse(at);
  const [day, setDay] = useState(() => dayOf(shown, zone));
  const first = useAnswer({ sql: FIRST_WALK, limit: 1 }).value?.rows[0]?.[0];
  const earliest = typeof first === 'string' ? Date.parse(first) : null;
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
        {whilesAgo
          .filter(([, ms]) => earliest !== null && serviceNow() - ms >= earliest)
          .map(([label, ms]) => (
            <button key={label} type="button" onClick={() => show(serviceNow() - ms)}>
              {label}
            </button>
          ))}
      </div>
      <Typed shown={shown} zone={zone} show={show} />
      <Calendar chosen={day} zone={zone} earliest={earliest} choose={setDay} />
      <DayChanges day={day} zone={zone} at={at} show={show} />
      {first !== undefined && <Reach first={first} />}
    </div>
  );
}

function Typed({ shown, zone, show }: { shown: number; zone: Zone; show(ms: number): void }) {
  const [complaint, setComplaint] = useState('');
  const field = useRef<HTMLInputElement>(null);
  const take = (event: Event) => {
    event.preventDefault();
    const ms = fromClock(field.current?.value ?? '', zone);
    if (ms === null) return setComplaint('This is no time.');
    if (ms > serviceNow()) return setComplaint('This is yet to come.');
    show(ms);
  };
  return (
    <form class="tools" onSubmit={take}>
      <label>
        As of ({zoneName(shown, zone)}){' '}
        <input
          ref={field}
          type="datetime-local"
          step={1}
          defaultValue={clockTime(shown, zone).replace(' ', 'T')}
          aria-describedby="moment-complaint"
        />
      </label>
      <button type="submit">Show</button>
      <span id="moment-complaint" role="alert" class="toned bad">
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

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** A month. Days on which something changed are marked: the more changes, the longer the mark. */
type CalendarProps = {
  chosen: Day;
  zone: Zone;
  /** When the past begins; null while that is not known. */
  earliest: number | null;
  choose(day: Day): void;
};

function Calendar({ chosen, zone, earliest, choose }: CalendarProps) {
  const [month, setMonth] = useState<Month>(() => monthOf(chosen));
  const { overview } = useLive();
  const lastChange = overview?.status.datasets.map((dataset) => dataset.lastChange).join();
  const { value } = useAnswer(changesOfMonth(month, zone), { changed: lastChange });
  const table = useRef<HTMLTableElement>(null);
  const today = dayOf(serviceNow(), zone);
  const firstDay = earliest === null ? today : dayOf(earliest, zone);
  const days = value ? changesByDay(value, zone) : new Map<Day, number>();
  const most = Math.max(1, ...days.values());
  /** One of them is reached by Tab; arrows lead to the others. */
  const reached = monthOf(chosen) === month ? chosen : `${month}-01`;
  return (
    <section class="calendar" aria-label="Days on which something changed">
      <div class="tools between">
        <button type="button" aria-label="month before" onClick={() => setMonth(monthAfter(month, -1))}>
          ‹
        </button>
        <b aria-live="polite">{month}</b>
        <button
          type="button"
          aria-label="next month"
          disabled={month >= monthOf(today)}
          onClick={() => setMonth(monthAfter(month, 1))}
        >
          ›
        </button>
      </div>
      <table ref={table} onKeyDown={(event) => moveFocus(event, table.current)}>
        <Heads names={weekdays} />
        <tbody>
          {weeksOf(month).map((week) => (
            <tr key={week.join()}>
              {week.map((day, weekday) => (
                <td key={weekdays[weekday]}>
                  {day !== null && (
                    <button
                      type="button"
                      class="day quiet"
                      data-day={day}
                      disabled={day > today || day < firstDay}
                      tabIndex={day === reached ? 0 : -1}
                      aria-pressed={day === chosen}
                      aria-label={`${Number(day.slice(8))}: ${day}, ${count(days.get(day) ?? 0, 'change')}`}
                      onClick={() => choose(day)}
                    >
                      {Number(day.slice(8))}
                      <Mark part={(days.get(day) ?? 0) / most} />
                    </button>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const LEAST_MARK = 15;

function Mark({ part }: { part: number }) {
  const width = part === 0 ? 0 : LEAST_MARK + (100 - LEAST_MARK) * Math.sqrt(part);
  return (
    <svg class="mark" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect width={width} height="10" />
    </svg>
  );
}

const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 };

function moveFocus(event: KeyboardEvent, table: HTMLTableElement | null): void {
  const step = steps[event.key];
  if (step === undefined || !table) return;
  const days = [...table.querySelectorAll<HTMLButtonElement>('button.day:not(:disabled)')];
  const next = days[days.indexOf(event.target as HTMLButtonElement) + step];
  event.preventDefault();
  next?.focus();
}

type DayChangesProps = { day: Day; zone: Zone; at: string | null; show(ms: number): void };

const MOST = 200;

/** The changes of a day, each with the moment that shows it. */
function DayChanges({ day, zone, at, show }: DayChangesProps) {
  const { value, problem, again } = useAnswer(changesOfDay(day, zone, MOST));
  const end = endOf(day, zone) - 1;
  return (
    <section class="day-changes" aria-label={`Changes of ${day}`}>
      <div class="tools">
        <b>{day}</b>
        <span class="zone">{zoneName(end, zone)}</span>
        <a href={linkTo('/changes', { at: null, ...dayOfChanges(day, zone) })}>Changes</a>
        {end < serviceNow() && (
          <button type="button" onClick={() => show(end)}>
            End of this day
          </button>
        )}
      </div>
      {problem && <Failed problem={problem} again={again} />}
      {!value && !problem && <Loading what="Looking for changes" />}
      {value?.rows.length === 0 && <p class="note">Nothing changed on this day.</p>}
      <ul>
        {value?.rows.map(([seq, job, inserted, updated, deleted]) => {
          const ms = Number(seq);
          return (
            <li key={ms}>
              <button
                type="button"
                class="quiet tools"
                aria-pressed={at !== null && Date.parse(at) === ms}
                onClick={() => show(ms)}
              >
                <span>{clockTime(ms, zone).slice(11)}</span> <span>{job as string}</span>
                <span class="note">
                  {number(Number(inserted))} new, {number(Number(updated))} changed, {number(Number(deleted))}{' '}
                  gone
                </span>
              </button>
            </li>
          );
        })}
      </ul>
      {value?.isCut && <p class="note">The latest {MOST} are shown.</p>}
    </section>
  );
}

const FIRST_WALK = 'SELECT min(started_at) FROM walks';

/** How far back each dataset can be shown. */
function Reach({ first }: { first: PageCell }) {
  const { value: schema } = useSchema();
  const dropped = Object.entries(schema?.historyFrom ?? {}).filter(([, from]) => from !== null);
  return (
    <div class="note reach">
      {first === null ? (
        <p>Nothing was mirrored yet: there is no past.</p>
      ) : (
        <p>
          The past reaches back to the first walk that is known of,{' '}
          <Time at={String(first)} exactness="minute" />
          {dropped.length > 0 && '; but older versions of rows were dropped:'}
        </p>
      )}
      <ul>
        {dropped.map(([job, from]) => (
          <li key={job}>
            {job} can be shown from <Time at={from ?? ''} exactness="minute" /> on
          </li>
        ))}
      </ul>
    </div>
  );
}
