/** One version of a row: when it held, what it changed, and what brought it. */

import { useState } from 'preact/hooks';
import { count } from '../../formats.ts';
import { Cell } from '../../parts/cell.tsx';
import { Scroll } from '../../parts/scroll.tsx';
import { Time } from '../../parts/time.tsx';
import { linkTo } from '../../router.ts';
import { pathOf } from '../../routes.ts';
import { type Change, type Marked, markDifference } from './changes.ts';
import type { Leaf, Leaves } from './leaves.ts';
import type { Version } from './life.ts';

const came: Readonly<Record<Version['came'], string>> = {
  first: 'First seen',
  oldest: 'Oldest that is kept',
  changed: 'Changed',
  returned: 'Came back',
};

export function VersionCard({ version, isOpen }: { version: Version; isOpen: boolean }) {
  const { number, from, to, endedBy, walkId, requestId, closedBy, changes, leaves } = version;
  const isGone = endedBy === 'delete';
  return (
    <li class={`life card${to === null ? ' standing' : ''}${isGone ? ' gone' : ''}`}>
      <div class="heading">
        <h2>
          Version {number}: {came[version.came].toLowerCase()}
        </h2>
        {to === null && <span class="tag good">stands</span>}
        {isGone && <span class="tag bad">removed</span>}
      </div>
      <dl class="facts">
        <div>
          <dt>Valid from</dt>
          <dd>
            <Time at={from} exactness="millisecond" />
          </dd>
        </div>
        <div>
          <dt>Until</dt>
          <dd>{to === null ? 'it stands' : <Time at={to} exactness="millisecond" />}</dd>
        </div>
        <div>
          <dt>Came with</dt>
          <dd>
            <WalkLink id={walkId} />
          </dd>
        </div>
        <div>
          <dt>X-Request-ID</dt>
          <dd>
            {requestId === null ? (
              <span class="null">not kept</span>
            ) : (
              <a href={linkTo('/calls', { request: requestId })}>
                <code>{requestId}</code>
              </a>
            )}
          </dd>
        </div>
        {isGone && (
          <div>
            <dt>Removed by</dt>
            <dd>
              {closedBy === null ? (
                <span class="null">a walk that is not kept</span>
              ) : (
                <WalkLink id={closedBy} />
              )}
            </dd>
          </div>
        )}
      </dl>
      {version.came !== 'first' && version.came !== 'oldest' && <Changes changes={changes} number={number} />}
      <AllValues leaves={leaves} number={number} isOpen={isOpen} />
    </li>
  );
}

function WalkLink({ id }: { id: number }) {
  return <a href={linkTo(pathOf({ view: 'walk', id }))}>walk {id}</a>;
}

function Changes({ changes, number }: { changes: readonly Change[]; number: number }) {
  if (changes.length === 0)
    return <p class="note">No value differs from the version before: only its text was written otherwise.</p>;
  return (
    <Scroll label={`What version ${number} changed`}>
      <table class="changes">
        <thead>
          <tr>
            <th scope="col">Value</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {changes.map((change) => (
            <ChangeRow key={change.place} change={change} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** Longer texts are shown by their beginning, and opened. */
const MOST_MARKED = 600;

function ChangeRow({ change: { place, before, after } }: { change: Change }) {
  const isMarkable =
    before?.kind === 'text' &&
    after?.kind === 'text' &&
    Math.max(before.text.length, after.text.length) <= MOST_MARKED;
  const marked = isMarkable ? markDifference(before.text, after.text) : null;
  return (
    <tr>
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

const MOST_VALUES = 400;

/** Made when it is opened: versions may be many, and their values, too. */
function AllValues({ leaves, number, isOpen }: { leaves: Leaves; number: number; isOpen: boolean }) {
  const [isShown, setShown] = useState(isOpen);
  const [isWhole, setWhole] = useState(false);
  const values = [...leaves];
  return (
    <details open={isOpen} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>All {count(values.length, 'value')}</summary>
      {isShown && (
        <Scroll label={`Values of version ${number}`}>
          <table class="values">
            <tbody>
              {(isWhole ? values : values.slice(0, MOST_VALUES)).map(([place, leaf]) => (
                <tr key={place}>
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
      {isShown && !isWhole && values.length > MOST_VALUES && (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {values.length}
        </button>
      )}
    </details>
  );
}
