/** The datasets as they stood at a moment of the past: all of it asked for in SQL. */

import type { DatasetDay, DatasetStatus, PageQuestion, WalkMark } from '../../../src/serve/ui/wire.ts';
import { useAnswer } from '../../ask.ts';
import { HOUR_MS, number, plural } from '../../formats.ts';
import { Proof } from '../../parts/proof.tsx';
import { Failed, Loading } from '../../parts/states.tsx';
import { Strip } from '../../parts/strip.tsx';
import { linkTo } from '../../router.ts';
import { pathOf } from '../../routes.ts';
import type { Answer } from '../../service.ts';
import { name } from '../../sql.ts';
import { Changes } from './card.tsx';

type Props = { at: string; datasets: readonly DatasetStatus[] };

export function PastDatasets({ at, datasets }: Props) {
  const jobs = datasets.map(({ job }) => job);
  const walks = useAnswer(walksBefore(jobs, at));
  const changes = useAnswer(changesBefore(at));
  return (
    <div class="cards">
      {datasets.map(({ job, table }) => (
        <PastCard
          key={job}
          job={job}
          table={table}
          at={at}
          walks={walks.value && walksFrom(walks.value, job)}
          changes={changes.value && changesFrom(changes.value, job, at)}
        />
      ))}
    </div>
  );
}

type CardProps = {
  job: string;
  table: string;
  at: string;
  walks: WalkMark[] | null;
  changes: DatasetDay['changes'] | null;
};

/** Each asks for itself: the past of one may be dropped while that of another is there. */
function PastCard({ job, table, at, walks, changes }: CardProps) {
  const sql = `SELECT count(*) AS "rows" FROM ${name(table)}`;
  const { value, problem, isLoading, again } = useAnswer({ sql, asOf: at, limit: 1 });
  const rows = value?.rows[0]?.[0];
  const source = value?.sources.find((one) => one.job === job);
  return (
    <article class="card dataset" aria-label={`${job}, then`} aria-busy={isLoading}>
      <header>
        <h3>
          <a href={linkTo(pathOf({ view: 'dataset', job }))}>{job}</a>
        </h3>
        <span class="tag then">then</span>
      </header>
      {problem && <Failed problem={problem} again={problem.kind === 'usage' ? undefined : again} />}
      {!value && !problem && <Loading what="Looking back" />}
      {typeof rows === 'number' && (
        <p class="figure">
          <b>{number(rows)}</b> {plural(rows, 'row')}
        </p>
      )}
      {source && (
        <p class="proven">
          <Proof verdict={source.proof?.verdict ?? null} completeAsOf={source.completeAsOf} isPast />
        </p>
      )}
      {value?.notes.map((note) => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
      {changes && <Changes changes={changes} />}
      {walks && <Strip walks={walks} label={`The last walks of ${job} by then`} />}
    </article>
  );
}

/** What the overview asks of a moment of the past, beside the rows: walks and changes up to then. */

/** As many as a strip shows. */
const WALKS = 24;
const HOURS = 24;

/** A walk that ended later was under way then. */
function walksBefore(jobs: readonly string[], at: string): PageQuestion {
  const ofJob = jobs.map(
    (_, place) => `SELECT * FROM (
  SELECT job, id, CASE WHEN finished_at > :at THEN 'running' ELSE status END AS status, verdict, started_at,
    CASE WHEN finished_at <= :at THEN finished_at END AS finished_at, "rows", api_calls,
    CASE WHEN finished_at <= :at THEN error END AS error
  FROM walks WHERE job = :job${place} AND kind = 'walk' AND started_at <= :at ORDER BY id DESC LIMIT ${WALKS})`,
  );
  const names = Object.fromEntries(jobs.map((job, place) => [`job${place}`, job]));
  return {
    sql: `${ofJob.join('\nUNION ALL\n')}\nORDER BY id`,
    params: { at, ...names },
    limit: jobs.length * WALKS,
  };
}

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
