/** The datasets as a list: one line each, which opens to its details. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { DatasetDay, DatasetStatus, WalkMark } from '../../../src/serve/page/wire.ts';
import { useNow } from '../../clock.ts';
import { count, duration, number, plural } from '../../formats.ts';
import { Fact } from '../../parts/heading.tsx';
import { NamedSign, outcomeOf, outcomes, StateBadge, Verdict, waitReasons } from '../../parts/proof.tsx';
import { Sparkline, Strip, sentenceOf } from '../../parts/strip.tsx';
import { Ago, Time } from '../../parts/time.tsx';
import { linkTo } from '../../router.ts';
import { pathOf } from '../../routes.ts';

type LineProps = {
  job: string;
  verdict: DatasetStatus['verdict'];
  /** Null while it is not known. */
  rows: number | null;
  /** Those of them that the last proof did not show. */
  held: number;
  day: Pick<DatasetDay, 'walks' | 'changes'> | null;
  /** The time at which the day ends; null for now. */
  at: string | null;
  state: ComponentChildren;
  age: ComponentChildren;
  /** What its details begin with. */
  children: ComponentChildren;
};

export function DatasetTable({ children }: { children: ComponentChildren }) {
  return (
    <table class="datasets card">
      <caption class="unseen">Datasets</caption>
      <thead>
        <tr>
          <th scope="col">Dataset</th>
          <th scope="col">State</th>
          <th scope="col">Age</th>
          <th scope="col" class="number">
            Rows
          </th>
          <th scope="col" class="wide-only">
            Changes in 24 hours
          </th>
          <th scope="col" class="wide-only">
            Last reads
          </th>
        </tr>
      </thead>
      {children}
    </table>
  );
}

export function DatasetLine({ job, verdict, rows, held, day, at, state, age, children }: LineProps) {
  const [isOpen, setOpen] = useState(false);
  const added = day ? sumOf(day, 'inserted') - sumOf(day, 'deleted') : 0;
  return (
    <tbody aria-label={job} class={isOpen ? 'open' : ''}>
      <tr class="line">
        <th scope="row">
          <button
            type="button"
            class="chevron quiet"
            aria-expanded={isOpen}
            aria-label={`Details of ${job}`}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? '▾' : '▸'}
          </button>
          <NamedSign outcome={verdict ?? 'none'} />
          <a href={linkTo(pathOf({ view: 'dataset', job }))}>{job}</a>
        </th>
        <td class="how">{state}</td>
        <td class="age">{age}</td>
        <td class="number rows">
          <span>
            {rows === null ? '–' : number(rows)}
            {held > 0 && (
              <span
                class="note"
                title="Missing from the last full read; removed if the next one confirms it."
              >
                {' '}
                ({number(held)} held)
              </span>
            )}
          </span>
          <span class="note" title="more or fewer rows than 24 hours before">
            {' '}
            {day && (added === 0 ? '±0' : `${added > 0 ? '+' : '−'}${number(Math.abs(added))}`)}
          </span>
        </td>
        <td class="wide-only">{day && <DayChanges job={job} day={day} at={at} />}</td>
        <td class="wide-only">{day && <Ticks job={job} walks={day.walks} />}</td>
      </tr>
      {isOpen && (
        <tr class="details">
          <td colSpan={6}>
            <dl class="facts">
              {children}
              {day && (
                <Fact name="Changes in 24 hours">
                  {number(sumOf(day, 'inserted'))} new, {number(sumOf(day, 'updated'))} changed,{' '}
                  {number(sumOf(day, 'deleted'))} gone · <a href={changesLink(job)}>see them</a>
                </Fact>
              )}
            </dl>
            {day && <Strip walks={day.walks} label={`The last walks of ${job}`} />}
          </td>
        </tr>
      )}
    </tbody>
  );
}

const sumOf = ({ changes }: Pick<DatasetDay, 'changes'>, of: 'inserted' | 'updated' | 'deleted') =>
  changes.reduce((sum, hour) => sum + hour[of], 0);

const changesLink = (job: string) => linkTo('/changes', { job: `eq.${job}`, since: '24h' });

/** The changes of a day, hour by hour: they lead to what changed. */
function DayChanges({ job, day, at }: { job: string; day: Pick<DatasetDay, 'changes'>; at: string | null }) {
  const totals = day.changes.map(({ inserted, updated, deleted }) => inserted + updated + deleted);
  const all = totals.reduce((sum, value) => sum + value, 0);
  const label = `${job}: ${all === 0 ? 'no changes' : count(all, 'change')} in ${at === null ? '' : 'the '}24 hours${at === null ? '' : ' before'}`;
  return (
    <a class="day-changes-link" href={changesLink(job)} aria-label={label} title={label}>
      <Sparkline values={totals} />
      <span>{all === 0 ? '–' : number(all)}</span>
    </a>
  );
}

/** As many as find room in a line; the details have more, with their words. */
const TICKS = 14;

function Ticks({ job, walks }: { job: string; walks: readonly WalkMark[] }) {
  const shown = walks.slice(-TICKS);
  const good = shown.filter(({ status }) => status === 'complete').length;
  return (
    <span
      class="ticks"
      role="img"
      aria-label={`${job}: ${good} of the last ${count(shown.length, 'read')} went well`}
    >
      {shown.map((walk) => (
        <span key={walk.id} class={`tick ${outcomeOf(walk)}`} title={sentenceOf(walk)} />
      ))}
    </span>
  );
}

type Props = { dataset: DatasetStatus; day: DatasetDay | undefined; hasDaemon: boolean };

export function PresentDataset({ dataset, day, hasDaemon }: Props) {
  const { job, rows, held, verdict, completeAsOf, seenAsOf, lastChange, doing } = dataset;
  const isSeenLater = seenAsOf !== null && (completeAsOf === null || seenAsOf > completeAsOf);
  return (
    <DatasetLine
      job={job}
      verdict={verdict}
      rows={rows}
      held={held}
      day={day ?? null}
      at={null}
      state={
        <>
          <StateBadge dataset={dataset} /> <Doing dataset={dataset} hasDaemon={hasDaemon} />
        </>
      }
      age={<AgeBar dataset={dataset} />}
    >
      <Fact name="Complete as of">
        {completeAsOf === null ? 'no walk has proven it complete yet' : <Time at={completeAsOf} />}
      </Fact>
      <Fact name="How that is known">
        <Verdict outcome={verdict ?? 'none'} />: {outcomes[verdict ?? 'none'].meaning}
      </Fact>
      {isSeenLater && (
        <Fact name="Checked for new rows">
          <Ago at={seenAsOf} />
        </Fact>
      )}
      {lastChange !== null && (
        <Fact name="Last change">
          <Ago at={lastChange} />
        </Fact>
      )}
      {doing.state === 'failed' && doing.message !== null && <Fact name="Last failure">{doing.message}</Fact>}
      <Counts dataset={dataset} />
    </DatasetLine>
  );
}

/** The age against the one at which the dataset counts as stale. */
function AgeBar({ dataset }: { dataset: DatasetStatus }) {
  const now = useNow();
  const { completeAsOf, ageSeconds, staleAfterSeconds, fresh } = dataset;
  // A time ahead of the clock has no age.
  if (completeAsOf === null || ageSeconds === null) return <>–</>;
  const age = Math.max(0, (now - Date.parse(completeAsOf)) / 1_000);
  if (staleAfterSeconds === null) return <>{duration(age)}</>;
  return (
    <span
      class={`age-bar${fresh ? '' : ' bad'}`}
      title={`${duration(age)} old; stale after ${duration(staleAfterSeconds)}`}
    >
      <span>
        {duration(age)} <span class="note">of {duration(staleAfterSeconds)}</span>
      </span>
      <svg viewBox="0 0 100 4" height="4" preserveAspectRatio="none" aria-hidden="true">
        <rect style={{ fill: 'var(--line)' }} width="100" height="4" />
        <rect class="part" width={Math.min(1, age / staleAfterSeconds) * 100} height="4" />
      </svg>
    </span>
  );
}

/** What happens to it now, or next. */
function Doing({ dataset: { doing, nextRun, job }, hasDaemon }: Pick<Props, 'dataset' | 'hasDaemon'>) {
  const { state, kind, pages, rows, total, until, reason } = doing;
  const read = kind === 'glance' ? 'glance' : 'walk';
  if (state === 'running')
    return (
      <span class="note">
        {read} running, page {number(pages + 1)}
        {read === 'walk' && (
          <progress
            aria-label={`${job}: rows of this walk`}
            max={total ?? 1}
            value={total === null ? undefined : rows}
            title={`${number(rows)}${total === null ? '' : ` of ${number(total)}`} ${plural(rows, 'row')}`}
          />
        )}
      </span>
    );
  if (state === 'waiting')
    return (
      <span class="note">
        {read} waits {waitReasons[reason ?? ''] ?? reason}
        {until !== null && (
          <>
            , goes on <Ago at={until} />
          </>
        )}
      </span>
    );
  return (
    <span class="note">
      {state === 'failed' && `last ${read} failed; `}
      {state === 'stopped' && `${read} stopped; `}
      {state === 'never' && 'not read yet; '}
      <NextRun at={nextRun} hasDaemon={hasDaemon} />
    </span>
  );
}

function NextRun({ at, hasDaemon }: { at: string | null; hasDaemon: boolean }) {
  const now = useNow();
  if (!hasDaemon) return <>no daemon runs it</>;
  if (at === null) return <>no next run</>;
  if (Date.parse(at) <= now) return <>next run is due</>;
  return (
    <>
      next run <Ago at={at} />
    </>
  );
}

/** What waits for someone; nothing where there is nothing. */
function Counts({ dataset: { job, quarantined, drifts, held, goneUpstream } }: { dataset: DatasetStatus }) {
  const gone = goneUpstream ?? 0;
  if (quarantined + drifts + held + gone === 0) return null;
  return (
    <Fact name="Worth a look">
      <span class="tools">
        {quarantined > 0 && (
          <a href={linkTo('/problems', { job: `eq.${job}` })}>{count(quarantined, 'row')} in quarantine</a>
        )}
        {drifts > 0 && (
          <a href={linkTo('/problems', { job: `eq.${job}` })}>{count(drifts, 'difference')} of fields</a>
        )}
        {held > 0 && (
          <a
            href={linkTo(pathOf({ view: 'dataset', job }), {
              _held_since: 'not.is.null',
            })}
            title="Missing from the last full read; removed if the next one confirms it."
          >
            {count(held, 'row')} held
          </a>
        )}
        {gone > 0 && <span>at least {number(gone)} gone upstream</span>}
      </span>
    </Fact>
  );
}
