/** One dataset: how much there is, what is proven of it, how old that is, and what happens to it. */

import { useState } from 'preact/hooks';
import type { DatasetDay, DatasetStatus } from '../../../src/serve/ui/wire.ts';
import { useNow } from '../../clock.ts';
import { clockTime, duration, number, plural, zoneName } from '../../formats.ts';
import { StateBadge, Verdict } from '../../parts/proof.tsx';
import { Scroll } from '../../parts/states.tsx';
import { Sparkline, Strip } from '../../parts/strip.tsx';
import { Ago, Time } from '../../parts/time.tsx';
import { usePreferences } from '../../preferences.ts';
import { linkTo } from '../../router.ts';
import { pathOf } from '../../routes.ts';

type Props = { dataset: DatasetStatus; day: DatasetDay | undefined; hasDaemon: boolean };

export function DatasetCard({ dataset, day, hasDaemon }: Props) {
  const { job, rows, fresh, verdict, completeAsOf } = dataset;
  return (
    <article class={`card dataset${fresh ? '' : ' is-stale'}`} aria-label={job}>
      <header>
        <h3>
          <a href={linkTo(pathOf({ view: 'dataset', job }))}>{job}</a>
        </h3>
        <StateBadge dataset={dataset} />
      </header>
      <p class="figure">
        <b>{number(rows)}</b> {plural(rows, 'row')}
      </p>
      <p class="proven">
        <Verdict outcome={verdict ?? 'none'} />
        {completeAsOf !== null && (
          <span class="note">
            as of <Time at={completeAsOf} />
          </span>
        )}
      </p>
      <AgeBar dataset={dataset} />
      <Doing dataset={dataset} hasDaemon={hasDaemon} />
      {day && <Changes changes={day.changes} />}
      {day && <Strip walks={day.walks} label={`The last walks of ${job}`} />}
      <Counts dataset={dataset} />
    </article>
  );
}

/** The age against the one at which the dataset counts as stale. */
function AgeBar({ dataset }: { dataset: DatasetStatus }) {
  const now = useNow();
  const { completeAsOf, ageSeconds, staleAfterSeconds, fresh, seenAsOf } = dataset;
  // A time ahead of the clock has no age.
  if (completeAsOf === null || ageSeconds === null) return <p class="age-text">No age is known.</p>;
  const age = Math.max(0, (now - Date.parse(completeAsOf)) / 1_000);
  const part = staleAfterSeconds === null ? 0 : Math.min(1, age / staleAfterSeconds);
  const isSeenLater = seenAsOf !== null && seenAsOf > completeAsOf;
  return (
    <div class={`age-bar${fresh ? '' : ' late'}`}>
      {staleAfterSeconds !== null && (
        <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
          <rect class="all" width="100" height="4" />
          <rect class="part" width={part * 100} height="4" />
        </svg>
      )}
      <p class="age-text">
        <span>
          {duration(age)} old{staleAfterSeconds !== null && `, stale after ${duration(staleAfterSeconds)}`}
        </span>
        {isSeenLater && (
          <span>
            looked at <Ago at={seenAsOf} />
          </span>
        )}
      </p>
    </div>
  );
}

function Doing({ dataset: { doing, nextRun, job }, hasDaemon }: Pick<Props, 'dataset' | 'hasDaemon'>) {
  const { state, kind, pages, rows, total, until, reason } = doing;
  const isGlance = kind === 'glance';
  const ofAll = total === null ? '' : ` of ${number(total)}`;
  const place =
    pages === 0
      ? 'before its first page'
      : `after page ${number(pages)}${isGlance ? '' : `, ${number(rows)}${ofAll} ${plural(rows, 'row')}`}`;
  const isUnderWay = state === 'running' || state === 'waiting' || state === 'stopped';
  return (
    <div class="doing">
      <p>
        <span>
          {state === 'running' && `${isGlance ? 'glance' : 'walk'} under way, ${place}`}
          {state === 'waiting' && (
            <>
              {kind} waits, goes on {until === null ? 'later' : <Ago at={until} />} ({reason}), {place}
            </>
          )}
          {state === 'stopped' && `${kind} stopped ${place}`}
          {state === 'failed' && (
            <span class="tag bad">
              last {kind} failed {place}
            </span>
          )}
          {state === 'idle' && 'idle'}
          {state === 'never' && 'not walked yet'}
        </span>
        {state !== 'waiting' && (
          <span class="next">{state !== 'running' && <NextRun at={nextRun} hasDaemon={hasDaemon} />}</span>
        )}
      </p>
      {isUnderWay && !isGlance && (
        <progress
          aria-label={`${job}: rows of this walk`}
          max={total ?? 1}
          value={total === null ? undefined : rows}
        />
      )}
    </div>
  );
}

function NextRun({ at, hasDaemon }: { at: string | null; hasDaemon: boolean }) {
  const now = useNow();
  if (!hasDaemon) return <>no daemon runs it</>;
  if (at === null) return <>no next run is planned</>;
  if (Date.parse(at) <= now) return <>next run is due</>;
  return (
    <>
      next run <Ago at={at} />
    </>
  );
}

const HELD = 'The last proof did not show them; they stay until another agrees.';

/** What waits for someone; nothing where there is nothing. */
function Counts({ dataset: { job, quarantined, drifts, held, goneUpstream } }: { dataset: DatasetStatus }) {
  const gone = goneUpstream ?? 0;
  if (quarantined + drifts + held + gone === 0) return null;
  return (
    <p class="counts">
      {quarantined > 0 && (
        <a href={linkTo('/problems', { job })}>
          {number(quarantined)} {plural(quarantined, 'row')} in quarantine
        </a>
      )}
      {drifts > 0 && (
        <a href={linkTo('/problems', { job })}>
          {number(drifts)} {plural(drifts, 'difference')} of fields
        </a>
      )}
      {held > 0 && (
        <span title={HELD}>
          {number(held)} {plural(held, 'row')} held
        </span>
      )}
      {gone > 0 && <span>at least {number(gone)} gone upstream</span>}
    </p>
  );
}

/** The changes of a day, hour by hour: drawn, said in words, and as a table. */

type Hours = DatasetDay['changes'];

export function Changes({ changes }: { changes: Hours }) {
  const { zone } = usePreferences();
  const [isOpen, setOpen] = useState(false);
  const totals = changes.map(({ inserted, updated, deleted }) => inserted + updated + deleted);
  const sum = (of: 'inserted' | 'updated' | 'deleted') => changes.reduce((all, hour) => all + hour[of], 0);
  const all = totals.reduce((total, value) => total + value, 0);
  const parts = [
    `${number(sum('inserted'))} new`,
    `${number(sum('updated'))} changed`,
    `${number(sum('deleted'))} gone`,
  ].join(', ');
  const words = all === 0 ? 'no changes in 24 hours' : `${number(all)} ${plural(all, 'change')} in 24 hours`;
  return (
    <details class="changes" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Sparkline values={totals} label={`Changes by the hour: ${words}`} />
        <span class="note">
          {words}
          {all > 0 && `: ${parts}`}
        </span>
      </summary>
      {isOpen && (
        <Scroll label="Changes by the hour">
          <table>
            <thead>
              <tr>
                <th scope="col">hour</th>
                <th scope="col" class="number">
                  new
                </th>
                <th scope="col" class="number">
                  changed
                </th>
                <th scope="col" class="number">
                  gone
                </th>
              </tr>
            </thead>
            <tbody>
              {changes.toReversed().map(({ hour, inserted, updated, deleted }) => (
                <tr key={hour}>
                  <th scope="row" class="time">
                    {clockTime(Date.parse(hour), zone, 'minute')}{' '}
                    <span class="zone">{zoneName(Date.parse(hour), zone)}</span>
                  </th>
                  <td class="number">{number(inserted)}</td>
                  <td class="number">{number(updated)}</td>
                  <td class="number">{number(deleted)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </details>
  );
}
