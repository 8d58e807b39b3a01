/** The datasets as they stood at a moment of the past: all of it asked for in SQL. */

import type { DatasetDay, DatasetStatus, WalkMark } from '../../../src/serve/ui/wire.ts';
import { useAnswer } from '../../asking.ts';
import { number, plural } from '../../formats.ts';
import { Proof } from '../../parts/proof.tsx';
import { Failed, Loading } from '../../parts/states.tsx';
import { Strip } from '../../parts/strip.tsx';
import { linkTo } from '../../router.ts';
import { pathOf } from '../../routes.ts';
import { name } from '../../sql.ts';
import { Changes } from './changes.tsx';
import { changesBefore, changesFrom, walksBefore, walksFrom } from './past/questions.ts';

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
  const { value, trouble, isLoading, again } = useAnswer({ sql, asOf: at, limit: 1 });
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
      {trouble && <Failed trouble={trouble} again={trouble.kind === 'usage' ? undefined : again} />}
      {!value && !trouble && <Loading what="Looking back" />}
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
