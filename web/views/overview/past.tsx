/** The datasets as they stood at a moment of the past. */

import { SHOWN_WALKS } from '../../../src/base/shown-walks.ts';
import type { DatasetDay, DatasetStatus, PageQuestion, WalkMark } from '../../../src/serve/page/wire.ts';
import { useAnswer } from '../../ask.ts';
import { duration, HOUR_MS } from '../../formats.ts';
import { Fact } from '../../parts/heading.tsx';
import { Failed } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { askOf } from '../../question.ts';
import type { Answer } from '../../service.ts';
import { DatasetLine, DatasetTable } from './list.tsx';

export function PastDatasets({ at, datasets }: { at: string; datasets: readonly DatasetStatus[] }) {
  const walks = useAnswer({ sql: WALKS, params: { at }, limit: datasets.length * SHOWN_WALKS });
  const changes = useAnswer(changesBefore(at));
  const failed = walks.problem ? walks : changes;
  return (
    <>
      {failed.problem && <Failed problem={failed.problem} again={failed.again} />}
      <DatasetTable>
        {datasets.map(({ job, table }) => (
          <PastDataset
            key={job}
            job={job}
            table={table}
            at={at}
            day={
              walks.value && changes.value
                ? { walks: walksFrom(walks.value, job), changes: changesFrom(changes.value, job, at) }
                : null
            }
          />
        ))}
      </DatasetTable>
    </>
  );
}

type PastProps = {
  job: string;
  table: string;
  at: string;
  day: Pick<DatasetDay, 'walks' | 'changes'> | null;
};

/** Each asks for itself: the past of one may be dropped while that of another is there. */
function PastDataset({ job, table, at, day }: PastProps) {
  const ask = askOf({ table });
  const { value, problem, isLoading } = useAnswer({ ask, facets: ['_held_reason'], asOf: at, limit: 100 });
  const rows = value?.rows[0]?.[2];
  const held = value?.rows
    .slice(1)
    .reduce((sum, [, reason, some]) => sum + (reason === null ? 0 : Number(some)), 0);
  const source = value?.sources.find((one) => one.job === job);
  const completeAsOf = source?.completeAsOf ?? null;
  return (
    <DatasetLine
      job={job}
      verdict={source?.proof?.verdict ?? null}
      rows={typeof rows === 'number' ? rows : null}
      held={held ?? 0}
      day={day}
      at={at}
      state={
        <span class="note" role={problem ? 'alert' : undefined} aria-busy={isLoading}>
          {problem?.message ??
            (value && (completeAsOf === null ? 'never complete by then' : 'complete by then'))}
        </span>
      }
      age={completeAsOf === null ? '–' : duration((Date.parse(at) - Date.parse(completeAsOf)) / 1_000)}
    >
      <Fact name="Complete as of">
        {completeAsOf === null ? 'no walk had proven it complete by then' : <Time at={completeAsOf} />}
      </Fact>
    </DatasetLine>
  );
}

const HOURS = 24;

/** A walk that ended later was under way then. */
const WALKS = `SELECT job, id, CASE WHEN finished_at > :at THEN 'running' ELSE status END AS status, verdict, started_at,
  CASE WHEN finished_at <= :at THEN finished_at END AS finished_at, "rows", api_calls,
  CASE WHEN finished_at <= :at THEN error END AS error
FROM (SELECT *, row_number() OVER (PARTITION BY job ORDER BY id DESC) AS place
  FROM walks WHERE kind = 'walk' AND started_at <= :at)
WHERE place <= ${SHOWN_WALKS} ORDER BY id`;

function walksFrom({ rows }: Answer, job: string): WalkMark[] {
  return rows
    .filter(([of]) => of === job)
    .map(
      ([, id, status, verdict, startedAt, finishedAt, count, apiCalls, error]) =>
        ({ id, status, verdict, startedAt, finishedAt, rows: count, apiCalls, error }) as WalkMark,
    );
}

/** In the 24 hours that ended with the hour of that moment. */
function changesBefore(at: string): PageQuestion {
  const end = Date.parse(at);
  return {
    sql: `SELECT job, strftime('%Y-%m-%dT%H:00:00.000Z', last_seq / 1000, 'unixepoch') AS hour,
  sum(inserted), sum(updated), sum(deleted)
FROM walks WHERE last_seq >= :from AND last_seq <= :until GROUP BY 1, 2`,
    params: { from: Date.parse(firstHour(end)), until: end },
    limit: 10_000,
  };
}

function changesFrom({ rows }: Answer, job: string, at: string): DatasetDay['changes'] {
  const first = Date.parse(firstHour(Date.parse(at)));
  const found = new Map(rows.filter(([of]) => of === job).map((row) => [row[1], row]));
  return Array.from({ length: HOURS }, (_, place) => {
    const hour = new Date(first + place * HOUR_MS).toISOString();
    const [, , inserted, updated, deleted] = found.get(hour) ?? [];
    return {
      hour,
      inserted: Number(inserted ?? 0),
      updated: Number(updated ?? 0),
      deleted: Number(deleted ?? 0),
    };
  });
}

function firstHour(end: number): string {
  return new Date(end - (end % HOUR_MS) - (HOURS - 1) * HOUR_MS).toISOString();
}
