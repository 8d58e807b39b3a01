/** What a walk found, and what of it makes its verdict. */

import type { ComponentChildren } from 'preact';
import type { PageCell } from '../../../src/serve/ui/wire.ts';
import { count, number } from '../../formats.ts';
import { Cell } from '../../parts/cell.tsx';
import { Time } from '../../parts/time.tsx';
import { anomaliesOf, meanings } from './anomalies.ts';
import { JobLink, Remarks, tookOf } from './parts.tsx';

type Read = (column: string) => PageCell;

export function Evidence({ read }: { read: Read }) {
  const odd = anomaliesOf(read('anomalies'));
  const remarks = ['error', 'renewal_of', 'waits_until'].some((name) => read(name) !== null);
  return (
    <section class="card stack" aria-label="Evidence">
      {remarks && <Remarks read={read} />}
      <dl class="evidence">
        <Fact name="Dataset">
          <JobLink job={read('job')} />
        </Fact>
        <Fact name="Began">
          <Time at={String(read('started_at'))} exactness="millisecond" />
        </Fact>
        <Fact name="Ended">
          {read('finished_at') === null ? (
            <>not yet; it goes on at offset {number(Number(read('next_offset')))}</>
          ) : (
            <>
              <Time at={String(read('finished_at'))} exactness="millisecond" />, after{' '}
              {tookOf(read('started_at'), read('finished_at'))}
            </>
          )}
        </Fact>
        <Fact name="Read">
          {count(Number(read('rows')), 'row')} on {count(Number(read('pages')), 'page')}
        </Fact>
        <Fact name="Different rows">{number(Number(read('distinct_keys')))}</Fact>
        <Fact name="The API said there are">
          {totalsOf(read('total_first'), read('total')) ?? (
            <span class="null">{Number(read('pages')) > 0 ? 'it gives no total' : 'not known yet'}</span>
          )}
        </Fact>
        <Fact name="Snapshot generated">
          <Cell value={read('generated_at')} label="generatedAt" />
        </Fact>
        <Fact name="Changed">
          {number(Number(read('inserted')))} new, {number(Number(read('updated')))} changed,{' '}
          {number(Number(read('deleted')))} gone
        </Fact>
        <Fact name="Held">
          {count(Number(read('held')), 'row')}
          {Number(read('held')) > 0 && ' that it did not show: the next proof decides'}
        </Fact>
        <Fact name="Refused">
          {count(Number(read('quarantined')), 'row')}
          {Number(read('unkeyed')) > 0 && `, ${number(Number(read('unkeyed')))} of them without a key`}
        </Fact>
        <Fact name="Differences from what was expected">{number(Number(read('drifted')))}</Fact>
        <Fact name="Calls that brought a page">
          {number(Number(read('api_calls')))}
          {Number(read('calls_saved')) > 0 && `; ${count(Number(read('calls_saved')), 'call')} saved`}
        </Fact>
        <Fact name="New rows stood">
          {number(Number(read('new_in_head')))} in the head, {number(Number(read('new_at_tail')))} at the
          tail, {number(Number(read('new_elsewhere')))} elsewhere
          {Number(read('glanced')) > 0 && `; glances had brought ${number(Number(read('glanced')))} before`}
        </Fact>
        <Fact name="Read again">
          {count(Number(read('restarts')), 'new beginning')}, {count(Number(read('steps_back')), 'step')} back
        </Fact>
        <Fact name="Anomalies">
          {odd.length === 0
            ? 'none'
            : odd.map(({ kind, times }) => (
                <div key={kind}>
                  <code>{kind}</code> ×{number(times)} <span class="note">{meanings[kind]}</span>
                </div>
              ))}
        </Fact>
      </dl>
    </section>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function totalsOf(first: PageCell, last: PageCell): string | null {
  if (last === null) return null;
  const at = count(Number(last), 'row');
  return first === null || first === last ? at : `${at}; ${number(Number(first))} at its beginning`;
}
