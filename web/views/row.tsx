/** A row and its whole life: each version with what it changed, and the walk and the call that brought it. */

import { useState } from 'preact/hooks';
import type { PageCell } from '../../src/serve/page/wire.ts';
import { useAnswer, useFetched, useSchema } from '../ask.ts';
import { serviceNow } from '../clock.ts';
import { count, number } from '../formats.ts';
import { useLive } from '../live.ts';
import { Cell, Copy } from '../parts/cell.tsx';
import { Fact, Heading } from '../parts/heading.tsx';
import { whilesAgo } from '../parts/moment-choice.tsx';
import { DatasetProof, Sources } from '../parts/proof.tsx';
import { Awaited, Empty, Failed, Scroll } from '../parts/states.tsx';
import { Heads } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { askOf } from '../question.ts';
import { linkHere, linkTo, usePageAddress } from '../router.ts';
import { pathOf, type ViewOf } from '../routes.ts';
import { RequestLink, WalkLink } from './browsing.tsx';
import {
  type Change,
  changesBetween,
  type Life,
  MAX_VERSIONS,
  type Marked,
  markDifference,
  readLife,
  type Version,
} from './row/life.ts';

/** Of the columns of the dataset. */
type Kinds = { booleans: ReadonlySet<string>; volatile: ReadonlySet<string> };

export const RowView: ViewOf<'row'> = ({ job, key }) => {
  const { at } = usePageAddress();
  const { overview } = useLive();
  const schema = useSchema();
  const dataset = schema.value?.jobs.find(({ name }) => name === job);
  const status = overview?.status.datasets.find((each) => each.job === job);
  const declared = schema.value?.tables.find(({ name }) => name === dataset?.table)?.columns ?? [];
  // Always of the present, which holds every version: what was at a moment is found among them.
  const query = useFetched<Life>(
    dataset ? JSON.stringify([dataset.table, key]) : null,
    (signal) => readLife({ ...dataset, declared } as Parameters<typeof readLife>[0], key, signal),
    { changed: status?.lastChange, isLive: at === null },
  );
  // What was proven of the dataset then; nothing is claimed of a time of which nothing is known.
  const then = useAnswer(
    dataset && at !== null
      ? { ask: askOf({ table: dataset.table, select: ['_key'], limit: 1 }), asOf: at, limit: 1 }
      : null,
  );
  const kinds: Kinds = {
    booleans: new Set(declared.flatMap(({ name, kind }) => (kind === 'boolean' ? [name] : []))),
    volatile: new Set(dataset?.volatile),
  };
  const isUnread = at !== null && dataset !== undefined && then.value === null && then.problem === null;
  const isFound = (query.value?.versions.length ?? 0) > 0;
  return (
    <>
      <p class="note">
        <a href={linkTo(pathOf({ view: 'dataset', job }))}>{job}</a> / row
      </p>
      <Heading title={key}>
        <Copy text={key} what="the key" />
        {status && at === null && isFound && <DatasetProof dataset={status} />}
      </Heading>
      {then.value && <Sources sources={then.value.sources} isPast />}
      {schema.problem && <Failed problem={schema.problem} again={schema.again} />}
      {schema.value && !dataset && <Empty>There is no dataset named {job}.</Empty>}
      <Awaited query={query} loading="Reading its life" />
      {then.problem ? (
        <Empty>
          {then.problem.message} <a href={linkHere({ at: null })}>Back to now</a>
        </Empty>
      ) : (
        query.value && !isUnread && <LifeOf key={at} life={query.value} at={at} kinds={kinds} />
      )}
    </>
  );
};

function LifeOf({
  life: { versions, unread, firstSeenAt },
  at,
  kinds,
}: {
  life: Life;
  at: string | null;
  kinds: Kinds;
}) {
  const shown =
    at === null ? versions : versions.filter(({ from }) => from <= at).map((one) => asOf(one, at));
  const later = versions.length - shown.length;
  const last = shown.at(-1);
  const now = versions.at(-1);
  const back = <a href={linkHere({ at: null })}>Back to now</a>;
  if (!last) {
    if (versions.length === 0)
      return (
        <Empty>
          No row of this key is there, and none is in the history: it may have been dropped from it.
        </Empty>
      );
    return unread > 0 ? (
      <Empty>
        The latest {number(later)} of its {number(later + unread)} versions all came after that moment. {back}
      </Empty>
    ) : (
      <Empty>
        This row was not there at that moment:{' '}
        {firstSeenAt !== null && (
          <>
            it was first seen at <Time at={firstSeenAt} />.
          </>
        )}{' '}
        {back}
      </Empty>
    );
  }
  const isGone = last.endedBy === 'delete';
  const toNow =
    later > 0 && now && now.to === null
      ? changesBetween(
          last.values,
          now.values,
          [...last.values.keys()].filter((name) => !kinds.volatile.has(name)),
        )
      : null;
  return (
    <>
      <p class={isGone ? 'state' : undefined} role="status">
        {isGone && last.to !== null ? (
          <>
            This row is gone: it was removed at <Time at={last.to} /> after {count(last.number, 'version')}.
          </>
        ) : (
          <>
            {at === null ? 'Current version' : 'Version at this moment'}: {last.number}, since{' '}
            <Time at={last.from} />.
          </>
        )}{' '}
        {later > 0 && (
          <>
            {count(later, 'version')} came later. {back}
          </>
        )}
        {at === null && <Before firstSeenAt={firstSeenAt} />}
      </p>
      {unread > 0 && <p class="note">Only the latest {count(MAX_VERSIONS + 1, 'version')} are shown.</p>}
      {toNow && (
        <section class="card stack" aria-labelledby="to-now">
          <h2 id="to-now">Compared with now</h2>
          {toNow.length === 0 ? (
            <p class="note">All values are the same again.</p>
          ) : (
            <ChangeTable
              label="What differs from now"
              heads={['Then', 'Now']}
              changes={toNow}
              kinds={kinds}
            />
          )}
        </section>
      )}
      <ol class="stack" reversed>
        {shown.toReversed().map((version, index) => (
          <VersionCard key={version.from} version={version} kinds={kinds} isOpen={index === 0} />
        ))}
      </ol>
    </>
  );
}

/** What ended a version later was not known then. */
const asOf = (version: Version, at: string): Version =>
  version.to === null || version.to <= at ? version : { ...version, to: null, endedBy: null, closedBy: null };

/** Links to the row as it was, as far back as it was there. */
function Before({ firstSeenAt }: { firstSeenAt: string | null }) {
  const whiles = whilesAgo
    .map(([label, ms]) => [label, new Date(serviceNow() - ms).toISOString()] as const)
    .filter(([, then]) => firstSeenAt !== null && then >= firstSeenAt);
  if (whiles.length === 0) return null;
  return (
    <>
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

const came: Readonly<Record<Version['came'], string>> = {
  first: 'first seen',
  oldest: 'oldest that is kept',
  cut: 'oldest that is shown',
  changed: 'changed',
  returned: 'came back',
};

type VersionCardProps = { version: Version; kinds: Kinds; isOpen: boolean };

function VersionCard({ version, kinds, isOpen }: VersionCardProps) {
  const { number, from, to, endedBy, walkId, requestId, closedBy, changes, values } = version;
  const isGone = endedBy === 'delete';
  return (
    <li class={`life card stack${to === null ? ' good' : ''}${isGone ? ' bad' : ''}`}>
      <div class="heading">
        <h2>
          Version {number}: {came[version.came]}
        </h2>
        {to === null && <span class="tag good">current</span>}
        {isGone && <span class="tag bad">removed</span>}
        <span class="spread" />
        <Copy text={jsonOf(values, kinds)} what={`of version ${number}`} label="Copy as JSON" />
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
              <RequestLink id={requestId} most={64} /> <Copy text={requestId} what="the X-Request-ID" />
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
      {changes?.length === 0 && (
        <p class="note">No value differs from the version before: only its text was written otherwise.</p>
      )}
      {changes && changes.length > 0 && (
        <ChangeTable
          label={`What version ${number} changed`}
          heads={['Before', 'After']}
          changes={changes}
          kinds={kinds}
        />
      )}
      <AllValues values={values} number={number} kinds={kinds} isOpen={isOpen} />
    </li>
  );
}

/** An object of its columns, with lists, objects and words as such. */
function jsonOf(values: Version['values'], { booleans }: Kinds): string {
  const members = [...values].map(([column, value]) => {
    const isWord = booleans.has(column) && (value === 0 || value === 1);
    const text = isWord
      ? String(value === 1)
      : typeof value === 'string' && /^[[{]/.test(value)
        ? value
        : typeof value === 'object' && value !== null
          ? 'integer' in value
            ? value.integer
            : 'null'
          : JSON.stringify(value);
    return `${JSON.stringify(column)}: ${text}`;
  });
  return `{\n  ${members.join(',\n  ')}\n}`;
}

type ChangeTableProps = {
  label: string;
  heads: readonly [before: string, after: string];
  changes: readonly Change[];
  kinds: Kinds;
};

function ChangeTable({ label, heads, changes, kinds }: ChangeTableProps) {
  return (
    <Scroll label={label}>
      <table class="changes">
        <Heads names={['Value', ...heads]} />
        <tbody>
          {changes.map((change) => (
            <ChangeRow key={change.column} change={change} kinds={kinds} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** Longer texts are shown by their beginning, and opened. */
const MAX_MARKED_LETTERS = 600;

function ChangeRow({ change: { column, before, after }, kinds }: { change: Change; kinds: Kinds }) {
  const isMarkable =
    typeof before === 'string' &&
    typeof after === 'string' &&
    Math.max(before.length, after.length) <= MAX_MARKED_LETTERS;
  const marked = isMarkable ? markDifference(before, after) : null;
  return (
    <tr>
      <th scope="row">{column}</th>
      <td class="text before">
        <del>
          {marked ? (
            <MarkedText parts={marked.before} />
          ) : (
            <Value value={before} column={column} kinds={kinds} />
          )}
        </del>
      </td>
      <td class="text after">
        <ins>
          {marked ? (
            <MarkedText parts={marked.after} />
          ) : (
            <Value value={after} column={column} kinds={kinds} />
          )}
        </ins>
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

/** A number is shown to the last digit. */
function Value({ value, column, kinds }: { value: PageCell; column: string; kinds: Kinds }) {
  if (typeof value === 'number' && !kinds.booleans.has(column)) return <>{String(value)}</>;
  return <Cell value={value} label={column} look={{ isBoolean: true }} />;
}

type AllValuesProps = { values: Version['values']; number: number; kinds: Kinds; isOpen: boolean };

/** Made when it is opened: versions may be many, and their values, too. */
function AllValues({ values, number, kinds, isOpen }: AllValuesProps) {
  const [isShown, setShown] = useState(isOpen);
  const all = [...values];
  return (
    <details open={isShown} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>All {count(all.length, 'value')}</summary>
      {isShown && (
        <Scroll label={`Values of version ${number}`}>
          <table class="values">
            <tbody>
              {all.map(([column, value]) => (
                <tr key={column} class={kinds.volatile.has(column) ? 'volatile' : undefined}>
                  <th scope="row">{column}</th>
                  <td class="text">
                    <Value value={value} column={column} kinds={kinds} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </details>
  );
}
