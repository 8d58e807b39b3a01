/** A row and its whole life: each version with what it changed, and the walk and the call that brought it. */

import { useMemo, useState } from 'preact/hooks';
import { useAnswer, useSchema } from '../ask.ts';
import { serviceNow } from '../clock.ts';
import { count, number } from '../formats.ts';
import { useLive } from '../live.ts';
import { Cell, Copy } from '../parts/cell.tsx';
import { Fact, Heading } from '../parts/heading.tsx';
import { whilesAgo } from '../parts/moment-choice.tsx';
import { DatasetProof, Sources } from '../parts/proof.tsx';
import { Empty, Failed, Loading, Running, Scroll } from '../parts/states.tsx';
import { Heads } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { linkHere, linkTo, linkToSql, usePageAddress } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import { pathOf } from '../routes.ts';
import { name } from '../sql.ts';
import { RequestLink, WalkLink } from './browsing.tsx';
import { isBookkeeping } from './dataset/columns.ts';
import {
  type Change,
  type Leaf,
  type Leaves,
  type Life,
  lifeOf,
  lifeSql,
  MAX_VERSIONS,
  type Marked,
  markDifference,
  type Version,
} from './row/life.ts';

export const RowView: ViewOf<'row'> = ({ job, key }) => {
  const { at } = usePageAddress();
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
  const query = useAnswer(question && { ...question, limit: MAX_VERSIONS }, {
    changed: status?.lastChange,
    isLive: at === null,
  });
  const then = useAnswer(
    dataset && at !== null ? { sql: provenSql(dataset.table), asOf: at, limit: 1 } : null,
  );
  const booleans = new Set(declared.filter(({ kind }) => kind === 'boolean').map(({ name }) => name));
  const volatile = new Set(dataset?.volatile);
  const life = useMemo(() => query.value && lifeOf(query.value, at, booleans), [query.value, at]);
  const failed = schema.value ? query.problem : schema.problem;
  // Until it is told, nobody knows whether anything is known of that moment.
  const isUnread = dataset !== undefined && at !== null && then.value === null && then.problem === null;
  return (
    <>
      <p class="note">
        <a href={linkTo(pathOf({ view: 'dataset', job }))}>{job}</a> / row
      </p>
      <Heading title={key}>
        <Copy text={key} what="the key" />
        {status && at === null && <DatasetProof dataset={status} />}
      </Heading>
      {then.value && <Sources sources={then.value.sources} isPast />}
      {then.problem && <Failed problem={then.problem} />}
      <Running query={query} />
      {failed && <Failed problem={failed} again={schema.value ? query.again : schema.again} />}
      {schema.value && !dataset && <Empty>There is no dataset named {job}.</Empty>}
      {(!life || isUnread) && !failed && (query.isLoading || !schema.value || isUnread) && (
        <Loading what="Reading its life" />
      )}
      {life && !isUnread && (
        <>
          <State life={life} at={at} isKnown={at === null || then.value !== null} />
          {query.value?.isCut && life.state !== 'cut' && (
            <p class="note">
              Only the latest {count(MAX_VERSIONS, 'version')} are shown; "Open as SQL" has them all.
            </p>
          )}
          {life.toNow && <ToNow changes={life.toNow} volatile={volatile} />}
          {/* Which versions are open is another question at another moment. */}
          <ol key={at} class="stack" reversed>
            {life.versions.toReversed().map((version, index) => (
              <VersionCard key={version.from} version={version} volatile={volatile} isOpen={index === 0} />
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

type StateProps = {
  life: Life;
  at: string | null;
  /** Whether the mirror knows what was there at that moment. */
  isKnown: boolean;
};

/** In one sentence, what became of it. */
function State({ life: { state, versions, all, later, firstSeenAt }, at, isKnown }: StateProps) {
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
        {isKnown
          ? 'This row was not there at that moment: '
          : 'Whether this row was there at that moment is not known: '}
        {firstSeenAt !== null && (
          <>
            it was first seen at <Time at={firstSeenAt} />.
          </>
        )}
        {toNow}
      </Empty>
    );
  if (state === 'cut')
    return (
      <Empty>
        The latest {number(later)} of its {number(all)} versions all came after that moment: "Open as SQL" has
        those before. <a href={linkHere({ at: null })}>Back to now</a>.
      </Empty>
    );
  if (!last)
    return (
      <Empty>
        No row of this key is there, and none is in the history: it may have been dropped from it.
      </Empty>
    );
  return (
    <p class={state === 'removed' ? 'state' : undefined} role="status">
      {state === 'removed' && last.to !== null && (
        <>
          This row is gone: it was removed at <Time at={last.to} /> after {count(last.number, 'version')}.
        </>
      )}
      {state === 'there' && (
        <>
          {at === null ? 'Current version' : 'Version at this moment'}: {last.number}, since{' '}
          <Time at={last.from} />.
        </>
      )}
      {toNow}
      {at === null && <Before firstSeenAt={firstSeenAt} />}
    </p>
  );
}

/** Links to the row as it was, as far back as it was there. */
function Before({ firstSeenAt }: { firstSeenAt: string | null }) {
  const whiles = whilesAgo
    .map(([label, ms]) => [label, new Date(serviceNow() - ms).toISOString()] as const)
    .filter(([, then]) => firstSeenAt !== null && then >= firstSeenAt);
  if (whiles.length === 0) return null;
  return (
    <>
      {' '}
      As it was:{' '}
      {whiles.map(([label, then], index) => (
        <span key={label}>
          {index > 0 && ', '}
          <a href={linkHere({ at: then })}>{label}</a>
        </span>
      ))}
      .
    </>
  );
}

/** What has become of the row since the moment that is shown. */
function ToNow({ changes, volatile }: { changes: readonly Change[]; volatile: ReadonlySet<string> }) {
  return (
    <section class="card stack" aria-labelledby="to-now">
      <h2 id="to-now">Compared with now</h2>
      {changes.length === 0 ? (
        <p class="note">All values are the same again.</p>
      ) : (
        <ChangeTable
          label="What differs from now"
          heads={['Then', 'Now']}
          changes={changes}
          volatile={volatile}
        />
      )}
    </section>
  );
}

const came: Readonly<Record<Version['came'], string>> = {
  first: 'First seen',
  oldest: 'Oldest that is kept',
  cut: 'Oldest that is shown',
  changed: 'Changed',
  returned: 'Came back',
};

type VersionCardProps = { version: Version; volatile: ReadonlySet<string>; isOpen: boolean };

function VersionCard({ version, volatile, isOpen }: VersionCardProps) {
  const { number, from, to, endedBy, walkId, requestId, closedBy, changes, leaves, json } = version;
  const isGone = endedBy === 'delete';
  return (
    <li class={`life card stack${to === null ? ' good' : ''}${isGone ? ' bad' : ''}`}>
      <div class="heading">
        <h2>
          Version {number}: {came[version.came].toLowerCase()}
        </h2>
        {to === null && <span class="tag good">current</span>}
        {isGone && <span class="tag bad">removed</span>}
        <span class="spread" />
        <Copy text={json} what={`of version ${number}`} label="Copy as JSON" />
      </div>
      <dl class="facts">
        <Fact name="Valid from">
          <Time at={from} exactness="millisecond" />
        </Fact>
        <Fact name="Until">{to === null ? 'now' : <Time at={to} exactness="millisecond" />}</Fact>
        <Fact name="Came with">
          walk <WalkLink id={walkId} />
        </Fact>
        <Fact name="X-Request-ID">
          {requestId === null ? (
            <span class="null">not kept</span>
          ) : (
            <>
              <RequestLink id={requestId} />
              <Copy text={requestId} what="the X-Request-ID" />
            </>
          )}
        </Fact>
        {isGone && (
          <Fact name="Removed by">
            {closedBy === null ? (
              <span class="null">a walk that is not kept</span>
            ) : (
              <>
                walk <WalkLink id={closedBy} />
              </>
            )}
          </Fact>
        )}
      </dl>
      {changes && <Changes changes={changes} number={number} volatile={volatile} />}
      <AllValues leaves={leaves} number={number} volatile={volatile} isOpen={isOpen} />
    </li>
  );
}

type ChangesProps = { changes: readonly Change[]; number: number; volatile: ReadonlySet<string> };

function Changes({ changes, number, volatile }: ChangesProps) {
  if (changes.length === 0)
    return <p class="note">No value differs from the version before: only its text was written otherwise.</p>;
  return (
    <ChangeTable
      label={`What version ${number} changed`}
      heads={['Before', 'After']}
      changes={changes}
      volatile={volatile}
    />
  );
}

type ChangeTableProps = {
  label: string;
  heads: readonly [before: string, after: string];
  changes: readonly Change[];
  /** Values that make no version: they change with every walk, so they come last, and are grey. */
  volatile: ReadonlySet<string>;
};

function ChangeTable({ label, heads, changes, volatile }: ChangeTableProps) {
  const isVolatile = ({ place }: Change) => volatile.has(place);
  const inOrder = changes.toSorted((one, other) => Number(isVolatile(one)) - Number(isVolatile(other)));
  return (
    <Scroll label={label}>
      <table class="changes">
        <Heads names={['Value', ...heads]} />
        <tbody>
          {inOrder.map((change) => (
            <ChangeRow key={change.place} change={change} isVolatile={isVolatile(change)} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** Longer texts are shown by their beginning, and opened. */
const MAX_MARKED_LETTERS = 600;

type ChangeRowProps = { change: Change; isVolatile: boolean };

function ChangeRow({ change: { place, before, after }, isVolatile }: ChangeRowProps) {
  const isMarkable =
    before?.kind === 'text' &&
    after?.kind === 'text' &&
    Math.max(before.text.length, after.text.length) <= MAX_MARKED_LETTERS;
  const marked = isMarkable ? markDifference(before.text, after.text) : null;
  return (
    <tr class={isVolatile ? 'volatile' : undefined}>
      <th scope="row">{place || 'the row'}</th>
      <td class="text before">
        {before === null ? (
          <span class="null">not there</span>
        ) : (
          <del>
            {marked ? <MarkedText parts={marked.before} /> : <LeafText leaf={before} label={place} />}
          </del>
        )}
      </td>
      <td class="text after">
        {after === null ? (
          <span class="null">gone</span>
        ) : (
          <ins>{marked ? <MarkedText parts={marked.after} /> : <LeafText leaf={after} label={place} />}</ins>
        )}
      </td>
    </tr>
  );
}

function MarkedText({ parts: [head, middle, tail] }: { parts: Marked }) {
  return (
    <>
      {head}
      {middle !== '' && <mark>{middle}</mark>}
      {tail}
    </>
  );
}

/** A number is shown as it was received, to the last digit. */
function LeafText({ leaf: { kind, text }, label }: { leaf: Leaf; label: string }) {
  if (kind === 'text') return <Cell value={text} label={label} />;
  return kind === 'literal' ? <span class="null">{text}</span> : <span>{text}</span>;
}

const MAX_VALUES = 400;

/** Made when it is opened: versions may be many, and their values, too. @param isOpen at first: a newer version closes none. */
type AllValuesProps = { leaves: Leaves; number: number; volatile: ReadonlySet<string>; isOpen: boolean };

function AllValues({ leaves, number, volatile, isOpen }: AllValuesProps) {
  const [isShown, setShown] = useState(isOpen);
  const [isWhole, setWhole] = useState(false);
  const values = [...leaves];
  return (
    <details open={isShown} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>All {count(values.length, 'value')}</summary>
      {isShown && (
        <Scroll label={`Values of version ${number}`}>
          <table class="values">
            <tbody>
              {(isWhole ? values : values.slice(0, MAX_VALUES)).map(([place, leaf]) => (
                <tr key={place} class={volatile.has(place) ? 'volatile' : undefined}>
                  <th scope="row">{place || 'the row'}</th>
                  <td class="text">
                    <LeafText leaf={leaf} label={place} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {isShown && !isWhole && values.length > MAX_VALUES && (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {values.length}
        </button>
      )}
    </details>
  );
}
