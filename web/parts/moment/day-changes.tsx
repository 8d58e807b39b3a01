/** What changed on a day, each with the moment at which it was there. */

import { useAnswer } from '../../asking.ts';
import { serviceNow } from '../../clock.ts';
import { clockTime, number, type Zone, zoneName } from '../../formats.ts';
import { Failed, Loading } from '../states.tsx';
import { changesOfDay, type Day, endOf } from './questions.ts';

type Props = { day: Day; zone: Zone; at: string | null; show(ms: number): void };

const MOST = 200;

export function DayChanges({ day, zone, at, show }: Props) {
  const { value, trouble, again } = useAnswer(changesOfDay(day, zone, MOST));
  const end = endOf(day, zone) - 1;
  return (
    <section class="day-changes" aria-label={`Changes of ${day}`}>
      <div class="tools">
        <b>{day}</b>
        <span class="zone">{zoneName(end, zone)}</span>
        {end < serviceNow() && (
          <button type="button" onClick={() => show(end)}>
            End of this day
          </button>
        )}
      </div>
      {trouble && <Failed trouble={trouble} again={again} />}
      {!value && !trouble && <Loading what="Looking for changes" />}
      {value?.rows.length === 0 && <p class="note">Nothing changed on this day.</p>}
      <ul>
        {value?.rows.map(([seq, job, inserted, updated, deleted]) => {
          const ms = Number(seq);
          return (
            <li key={ms}>
              <button
                type="button"
                aria-pressed={at !== null && Date.parse(at) === ms}
                onClick={() => show(ms)}
              >
                <span class="number">{clockTime(ms, zone).slice(11)}</span> <span>{job as string}</span>
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
