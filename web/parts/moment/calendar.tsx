/** A month, with the days on which something changed marked: the more changes, the longer the mark. */

import { useRef, useState } from 'preact/hooks';
import { useAnswer } from '../../asking.ts';
import { serviceNow } from '../../clock.ts';
import { count, type Zone } from '../../formats.ts';
import { useLive } from '../../live.ts';
import {
  changesByDay,
  changesOfMonth,
  type Day,
  dayOf,
  type Month,
  monthAfter,
  monthOf,
  weeksOf,
} from './questions.ts';

type Props = { chosen: Day; zone: Zone; choose(day: Day): void };

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

export function Calendar({ chosen, zone, choose }: Props) {
  const [month, setMonth] = useState<Month>(() => monthOf(chosen));
  const { overview } = useLive();
  const lastChange = overview?.status.datasets.map((dataset) => dataset.lastChange).join();
  const { value } = useAnswer(changesOfMonth(month, zone), lastChange);
  const table = useRef<HTMLTableElement>(null);
  const today = dayOf(serviceNow(), zone);
  const days = value ? changesByDay(value, zone) : new Map<Day, number>();
  const most = Math.max(1, ...days.values());
  /** One of them is reached by Tab; arrows lead to the others. */
  const reached = monthOf(chosen) === month ? chosen : `${month}-01`;
  return (
    <section class="calendar" aria-label="Days on which something changed">
      <div class="tools">
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
        <thead>
          <tr>
            {weekdays.map((weekday) => (
              <th key={weekday} scope="col">
                {weekday}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeksOf(month).map((week) => (
            <tr key={week.join()}>
              {week.map((day, weekday) => (
                <td key={weekdays[weekday]}>
                  {day !== null && (
                    <button
                      type="button"
                      class="day"
                      data-day={day}
                      disabled={day > today}
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
