/** The datasets as they stood at a moment of the past. */

import type {
  DatasetDay,
  DatasetStatus,
  PageCell,
  PageQuestion,
  WalkMark,
} from '../../../src/serve/page/wire.ts';
import { type Query, useAnswer } from '../../ask.ts';
import { DAY_MS, duration, HOUR_MS } from '../../formats.ts';
import { Fact } from '../../parts/heading.tsx';
import { Failed } from '../../parts/states.tsx';
import { Time } from '../../parts/time.tsx';
import { askOf, condition } from '../../question.ts';
import type { Answer } from '../../service.ts';
import { DatasetLine, DatasetTable } from './list.tsx';

export function PastDatasets({ at, datasets }: { at: string; datasets: readonly DatasetStatus[] }) {
  const walks = useAnswer(walksBefore(at));
  return (
    <>
      {walks.problem && <Failed problem={walks.problem} again={walks.again} />}
      <DatasetTable>
        {datasets.map(({ job, table }) => (
          <PastDataset key={job} job={job} table={table} at={at} day={dayOf(walks, job, at)} />
        ))}
      </DatasetTable>
    </>
  );
}

type Day = Pick<DatasetDay, 'walks' | 'changes'>;

type PastProps = { job: string; table: string; at: string; day: Day | null };

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

const counts = ['inserted', 'updated', 'deleted'];
const columns = [
  ...['job', 'kind', 'last_seq', ...counts],
  ...['id', 'status', 'verdict', 'started_at', 'finished_at', 'rows', 'api_calls', 'error'],
];
const MOST_WALKS = 20_000;

/** Every read of the 24 hours before a moment, the latest first. */
function walksBefore(at: string): PageQuestion {
  const from = firstHour(at);
  const ask = askOf({
    ...{ table: 'walks', select: columns, limit: MOST_WALKS },
    where: [
      condition('started_at', 'lte', at),
      ['or', `(started_at.gte.${new Date(from).toISOString()},last_seq.gte.${from})`],
    ],
    order: [{ column: 'id', descending: true }],
  });
  return { ask, limit: MOST_WALKS };
}

/** The beginning of the first of 24 hours, of which the last is that of the moment. */
function firstHour(at: string): number {
  const end = Date.parse(at);
  return end - (end % HOUR_MS) - DAY_MS + HOUR_MS;
}

const SHOWN_WALKS = 24;

function dayOf({ value }: Query<Answer>, job: string, at: string): Day | null {
  if (!value) return null;
  const own = value.rows.filter(([of]) => of === job);
  const walks = own.filter(([, kind]) => kind === 'walk').slice(0, SHOWN_WALKS);
  const first = firstHour(at);
  const changes = Array.from({ length: DAY_MS / HOUR_MS }, (_, place) => {
    const begin = first + place * HOUR_MS;
    const end = Math.min(begin + HOUR_MS, Date.parse(at) + 1);
    const here = own.filter(([, , seq]) => Number(seq) >= begin && Number(seq) < end);
    const sum = (column: number) => here.reduce((all, row) => all + Number(row[column]), 0);
    return { hour: new Date(begin).toISOString(), inserted: sum(3), updated: sum(4), deleted: sum(5) };
  });
  return { walks: walks.reverse().map((row) => markOf(row, at)), changes };
}

/** A walk that ended later was under way then. */
function markOf(row: readonly PageCell[], at: string): WalkMark {
  const [id, status, verdict, startedAt, finishedAt, rows, apiCalls, error] = row.slice(6);
  const hadEnded = finishedAt !== null && String(finishedAt) <= at;
  const isLater = finishedAt !== null && !hadEnded;
  return {
    ...{ id, verdict, startedAt, rows, apiCalls, status: isLater ? 'running' : status },
    ...{ finishedAt: hadEnded ? finishedAt : null, error: isLater ? null : error },
  } as WalkMark;
}
