/** A row and its whole life: each version with what it changed, and the walk and the call that brought it. */

import { useMemo } from 'preact/hooks';
import { useAnswer, useSchema } from '../asking.ts';
import { count } from '../formats.ts';
import { useLive } from '../live.ts';
import { useLiveAnswer } from '../live-answer.ts';
import { Heading } from '../parts/heading.tsx';
import { Proof, Sources } from '../parts/proof.tsx';
import { Running } from '../parts/running.tsx';
import { Empty, Failed, Loading } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { linkHere, linkTo, linkToSql, usePlace } from '../router.ts';
import { pathOf } from '../routes.ts';
import { name } from '../sql.ts';
import { isBookkeeping } from './dataset/columns.ts';
import { type Life, lifeOf, lifeSql, MOST_VERSIONS } from './row/life.ts';
import { VersionCard } from './row/version.tsx';
import type { ViewOf } from './view.ts';

export const RowView: ViewOf<'row'> = ({ job, key }) => {
  const { at } = usePlace();
  const { overview } = useLive();
  const schema = useSchema();
  const dataset = schema.value?.jobs.find(({ name }) => name === job);
  const status = overview?.status.datasets.find((each) => each.job === job);
  const declared = schema.value?.tables.find(({ name }) => name === dataset?.table)?.columns ?? [];
  const own = dataset?.isSpecified
    ? declared.map(({ name }) => name).filter((name) => !isBookkeeping(name))
    : ['_body'];
  const question = dataset && status ? lifeSql(dataset.table, dataset.history, own, key) : null;
  // Always of the present, which holds every version: what was at a moment is found among them.
  const asked = useLiveAnswer(
    question && { ...question, limit: MOST_VERSIONS },
    status?.lastChange,
    at === null,
  );
  const then = useAnswer(
    dataset && at !== null ? { sql: provenSql(dataset.table), asOf: at, limit: 1 } : null,
  );
  const life = useMemo(() => asked.value && lifeOf(asked.value, at), [asked.value, at]);
  const failed = schema.value ? asked.trouble : schema.trouble;
  return (
    <>
      <p class="way">
        <a href={linkTo(pathOf({ view: 'dataset', job }))}>{job}</a> / row
      </p>
      <Heading title={key}>{status && at === null && <Proof {...proofOf(status)} />}</Heading>
      {then.value && <Sources sources={then.value.sources} isPast />}
      {then.trouble && <Failed trouble={then.trouble} />}
      <Running asked={asked} />
      {failed && <Failed trouble={failed} again={schema.value ? asked.again : schema.again} />}
      {schema.value && !dataset && <Empty>There is no dataset named {job}.</Empty>}
      {!life && !failed && (asked.isLoading || !schema.value) && <Loading what="Reading its life" />}
      {life && (
        <>
          <State life={life} at={at} />
          {asked.value?.isCut && (
            <p class="note">
              Only the latest {count(MOST_VERSIONS, 'version')} are shown; "Open as SQL" has them all.
            </p>
          )}
          <ol class="lives">
            {life.versions.map((version, index) => (
              <VersionCard key={version.from} version={version} isOpen={index === life.versions.length - 1} />
            ))}
          </ol>
          {question && (
            <p class="tools">
              <a href={linkToSql(question)}>Open as SQL</a>
            </p>
          )}
        </>
      )}
    </>
  );
};

/** Every answer tells what was proven of its dataset then; the rows are not wanted. */
const provenSql = (table: string) => `SELECT 1 FROM ${name(table)} LIMIT 1`;

type Standing = { verdict: 'snapshot' | 'verified' | null; completeAsOf: string | null; fresh: boolean };

const proofOf = ({ verdict, completeAsOf, fresh }: Standing) => ({
  verdict,
  completeAsOf,
  isStale: completeAsOf === null ? undefined : !fresh,
});

/** In one sentence, what became of it. */
function State({ life: { state, versions, later, firstSeenAt }, at }: { life: Life; at: string | null }) {
  const last = versions.at(-1);
  const toNow = later > 0 && (
    <>
      {' '}
      {count(later, 'version')} came later: <a href={linkHere({ at: null })}>back to now</a>.
    </>
  );
  if (state === 'not yet')
    return (
      <Empty>
        This row was not there at that moment:{' '}
        {firstSeenAt !== null && (
          <>
            it was first seen at <Time at={firstSeenAt} />.
          </>
        )}
        {toNow}
      </Empty>
    );
  if (!last)
    return (
      <Empty>
        No row of this key is there, and none is in the history: it may have been dropped from it.
      </Empty>
    );
  return (
    <p class={`state${state === 'removed' ? ' removed' : ''}`} role="status">
      {state === 'removed' && last.to !== null && (
        <>
          This row is gone: it was removed at <Time at={last.to} /> after {count(versions.length, 'version')}.
        </>
      )}
      {state === 'there' && (
        <>
          This row is there{at !== null && ' at this moment'}, in its {ordinal(last.number)} version since{' '}
          <Time at={last.from} />.
        </>
      )}
      {toNow}
    </p>
  );
}

function ordinal(number: number): string {
  const [one, ten] = [number % 10, number % 100];
  const end = ten > 10 && ten < 14 ? 'th' : (['th', 'st', 'nd', 'rd'][one] ?? 'th');
  return `${number}${end}`;
}
