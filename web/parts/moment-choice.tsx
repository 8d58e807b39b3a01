/** Choosing a moment: a while ago, a time by the clock, or a day on which something changed and one of its changes. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { useAnswer, useSchema } from '../ask.ts';
import { serviceNow } from '../clock.ts';
import { clockTime, count, DAY_MS, fromClock, HOUR_MS, number, type Zone, zoneName } from '../formats.ts';
import { useLive } from '../live.ts';
import { usePreferences } from '../preferences.ts';
import { askOf } from '../question.ts';
import { go, linkHere, linkTo } from '../router.ts';
import {
  type ChangingWalk,
  type Day,
  dayOf,
  dayOfChanges,
  endOf,
  monthAfter,
  monthOf,
  walksByDay,
  walksOfMonth,
  weeksOf,
} from './calendar.ts';
import { Awaited } from './states.tsx';
import { Heads } from './table.tsx';
import { Time } from './time.tsx';

export const whilesAgo = [
  ['an hour ago', HOUR_MS],
  ['a day ago', DAY_MS],
  ['a week ago', 7 * DAY_MS],
] as const;

const firstWalk = askOf({
  table: 'walks',
  select: ['started_at'],
  order: [{ column: 'started_at', descending: false }],
  limit: 1,
});

export function MomentChoice({ at, close }: { at: string | null; close(): void }) {
  const { zone } = usePreferences();
  const { overview } = useLive();
  const panel = useRef<HTMLDivElement>(null);
  const shown = at === null ? serviceNow() : Date.parse(at);
  const [day, setDay] = useState(() => dayOf(shown, zone));
  const begun = useAnswer({ ask: firstWalk, limit: 1 }).value;
  const first = begun && String(begun.rows[0]?.[0] ?? '');
  const earliest = first ? Date.parse(first) : null;
  const changed = overview?.status.datasets.map(({ lastChange }) => lastChange).join();
  const query = useAnswer(walksOfMonth(monthOf(day), zone), { changed });
  const days = query.value && !query.isOld ? walksByDay(query.value, zone) : new Map<Day, ChangingWalk[]>();
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
      <Calendar chosen={day} zone={zone} earliest={earliest} days={days} choose={setDay} />
      <Awaited query={query} loading="Looking for changes" />
      {query.value && !query.isOld && (
        <DayChanges day={day} zone={zone} at={at} walks={days.get(day) ?? []} show={show} />
      )}
      {first !== null && <Reach first={first} />}
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

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** A month. Days on which something changed are marked: the more changes, the longer the mark. */
type CalendarProps = {
  chosen: Day;
  zone: Zone;
  /** When the past begins; null while that is not known. */
  earliest: number | null;
  days: ReadonlyMap<Day, readonly ChangingWalk[]>;
  choose(day: Day): void;
};

function Calendar({ chosen, zone, earliest, days, choose }: CalendarProps) {
  const table = useRef<HTMLTableElement>(null);
  const month = monthOf(chosen);
  const today = dayOf(serviceNow(), zone);
  const firstDay = earliest === null ? today : dayOf(earliest, zone);
  const changes = new Map([...days].map(([day, walks]) => [day, changesOf(walks)]));
  const changesOn = (day: Day) => changes.get(day) ?? 0;
  const most = Math.max(1, ...changes.values());
  const step = (months: number, name: string, sign: string) => {
    const to = monthAfter(month, months);
    const isThere = to >= monthOf(firstDay) && to <= monthOf(today);
    return (
      <button
        type="button"
        aria-label={name}
        disabled={!isThere}
        onClick={() => choose(to === monthOf(today) ? today : `${to}-01`)}
      >
        {sign}
      </button>
    );
  };
  return (
    <section class="calendar" aria-label="Days on which something changed">
      <div class="tools between">
        {step(-1, 'month before', '‹')}
        <b aria-live="polite">{month}</b>
        {step(1, 'next month', '›')}
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
                      // One of them is reached by Tab; arrows lead to the others.
                      tabIndex={day === chosen ? 0 : -1}
                      aria-pressed={day === chosen}
                      aria-label={`${Number(day.slice(8))}: ${day}, ${count(changesOn(day), 'change')}`}
                      onClick={() => choose(day)}
                    >
                      {Number(day.slice(8))}
                      <Mark part={changesOn(day) / most} />
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

const changesOf = (walks: readonly ChangingWalk[]) =>
  walks.reduce((sum, { inserted, updated, deleted }) => sum + inserted + updated + deleted, 0);

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

type DayChangesProps = {
  day: Day;
  zone: Zone;
  at: string | null;
  walks: readonly ChangingWalk[];
  show(ms: number): void;
};

const MOST = 200;

/** The changes of a day, each with the moment that shows it. */
function DayChanges({ day, zone, at, walks, show }: DayChangesProps) {
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
      {walks.length === 0 && <p class="note">Nothing changed on this day.</p>}
      <ul>
        {walks.slice(0, MOST).map(({ at: ms, job, inserted, updated, deleted }) => (
          <li key={ms}>
            <button
              type="button"
              class="quiet tools"
              aria-pressed={at !== null && Date.parse(at) === ms}
              onClick={() => show(ms)}
            >
              <span>{clockTime(ms, zone).slice(11)}</span> <span>{job}</span>
              <span class="note">
                {number(inserted)} new, {number(updated)} changed, {number(deleted)} gone
              </span>
            </button>
          </li>
        ))}
      </ul>
      {walks.length > MOST && <p class="note">The latest {MOST} are shown.</p>}
    </section>
  );
}

/** How far back each dataset can be shown. @param first empty where there was no walk. */
function Reach({ first }: { first: string }) {
  const { value: schema } = useSchema();
  const dropped = Object.entries(schema?.historyFrom ?? {}).filter(([, from]) => from !== null);
  return (
    <div class="note reach">
      {first === '' ? (
        <p>Nothing was mirrored yet: there is no past.</p>
      ) : (
        <p>
          The past reaches back to the first walk that is known of, <Time at={first} exactness="minute" />
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
