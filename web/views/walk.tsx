/** One walk: its evidence, every call it made, and every row it changed. */

import type { ComponentChildren } from 'preact';
import type { PageCell } from '../../src/serve/page/wire.ts';
import { useCurrentAnswer } from '../ask.ts';
import { count, number } from '../formats.ts';
import { Cell } from '../parts/cell.tsx';
import { Fact, Heading } from '../parts/heading.tsx';
import { Awaited, Empty } from '../parts/states.tsx';
import { namesOf, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { askOf, condition } from '../question.ts';
import { linkTo } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import {
  anomaliesOf,
  isUnremarkable,
  JobLink,
  meanings,
  OpenAsSql,
  type Read,
  Remarks,
  tookOf,
  WalkOutcome,
} from './browsing.tsx';
import { callColumns } from './calls.tsx';

export const WalkView: ViewOf<'walk'> = ({ id }) => {
  const where = [condition('id', 'eq', String(id))];
  const query = useCurrentAnswer({ ask: askOf({ table: 'walks', where }), limit: 1 });
  const row = query.value?.rows[0];
  const names = query.value?.columns.map(({ name }) => name) ?? [];
  const read = (name: string) => row?.[names.indexOf(name)] ?? null;
  return (
    <>
      <Heading title={row && read('kind') === 'glance' ? `Glance ${id}` : `Walk ${id}`}>
        {row && <WalkOutcome read={read} />}
        <a href={linkTo('/walks', row ? { job: `eq.${read('job')}` } : {})}>All its walks</a>
      </Heading>
      <Awaited query={query} />
      {query.value !== null && !row && (
        <Empty>There is no walk {id}. Walks that changed nothing are forgotten after some time.</Empty>
      )}
      {row && (
        <>
          <Evidence read={read} />
          <Calls walk={id} />
        </>
      )}
    </>
  );
};

/** What a walk found, and what of it makes its verdict: of what can be none, only what there was. */
function Evidence({ read }: { read: Read }) {
  const odd = anomaliesOf(read('anomalies'));
  const of = (name: string) => Number(read(name) ?? 0);
  const changed = of('inserted') + of('updated') + of('deleted');
  const some = (names: readonly string[], name: string, children: ComponentChildren) =>
    names.some((one) => of(one) > 0) && <Fact name={name}>{children}</Fact>;
  return (
    <section class="card stack" aria-label="Evidence">
      {!isUnremarkable(read) && (
        <p>
          <Remarks read={read} />
        </p>
      )}
      <dl class="facts">
        <Fact name="Dataset">
          <JobLink job={read('job')} />
        </Fact>
        <Fact name="Began">
          <Time at={String(read('started_at'))} exactness="millisecond" />
        </Fact>
        <Fact name="Ended">
          {read('finished_at') === null ? (
            <>not yet; it goes on at offset {number(of('next_offset'))}</>
          ) : (
            <>
              <Time at={String(read('finished_at'))} exactness="millisecond" />, after{' '}
              {tookOf(read('started_at'), read('finished_at'))}
            </>
          )}
        </Fact>
        <Fact name="Read">
          {of('pages') === 0
            ? 'no page came'
            : `${count(of('rows'), 'row')} on ${count(of('pages'), 'page')}`}
          {read('distinct_keys') !== read('rows') && `, ${number(of('distinct_keys'))} of them different`}
        </Fact>
        {of('pages') > 0 && (
          <Fact name="The API said there are">
            {totalsOf(read('total_first'), read('total')) ?? <span class="null">it gives no total</span>}
          </Fact>
        )}
        {read('generated_at') !== null && (
          <Fact name="Snapshot generated">
            <Cell value={read('generated_at')} label="generatedAt" />
          </Fact>
        )}
        <Fact name="Changed">
          {changed === 0 ? (
            'nothing'
          ) : (
            <>
              {number(of('inserted'))} new, {number(of('updated'))} changed, {number(of('deleted'))} gone ·{' '}
              <a href={linkTo('/changes', { walk_id: `eq.${read('id')}` })}>field by field</a>
            </>
          )}
        </Fact>
        {some(
          ['held'],
          'Held',
          `${count(of('held'), 'row')} that it did not show: the next full read decides`,
        )}
        {some(
          ['quarantined', 'unkeyed'],
          'Refused',
          `${count(of('quarantined'), 'row')}${of('unkeyed') > 0 ? `, ${number(of('unkeyed'))} of them without a key` : ''}`,
        )}
        {some(['drifted'], 'Differences from what was expected', number(of('drifted')))}
        {some(
          ['new_in_head', 'new_at_tail', 'new_elsewhere', 'glanced'],
          'New rows found on',
          `first pages ${number(of('new_in_head'))}, last ${number(of('new_at_tail'))}, others ${number(of('new_elsewhere'))}${of('glanced') > 0 ? `; quick checks had brought ${number(of('glanced'))} before` : ''}`,
        )}
        {some(
          ['restarts', 'steps_back'],
          'Read again',
          `${count(of('restarts'), 'restart')}, ${count(of('steps_back'), 'page')} re-read`,
        )}
        {odd.length > 0 && (
          <Fact name="Anomalies">
            {odd.map(({ kind, times }) => (
              <div key={kind}>
                <code>{kind}</code> ×{number(times)} <span class="note">{meanings[kind]}</span>
              </div>
            ))}
          </Fact>
        )}
      </dl>
    </section>
  );
}

function totalsOf(first: PageCell, last: PageCell): string | null {
  if (last === null) return null;
  const at = count(Number(last), 'row');
  return first === null || first === last ? at : `${at}; ${number(Number(first))} at its beginning`;
}

/** A walk of more calls is read in the list of all calls, page by page. */
const MOST = 500;
/** Of one walk they are all the same. */
const walkCallColumns = callColumns.filter(({ name }) => name !== 'job' && name !== 'walk_id');

/** Every call of a walk, in the order in which they were sent. */
function Calls({ walk }: { walk: number }) {
  const query = useCurrentAnswer({
    ask: askOf({
      table: 'requests',
      select: namesOf(walkCallColumns),
      where: [condition('walk_id', 'eq', String(walk))],
      order: [{ column: 'id', descending: false }],
      limit: MOST,
    }),
    limit: MOST,
  });
  const { value } = query;
  return (
    <section class="card stack list" aria-labelledby="calls">
      <div class="tools">
        <h2 id="calls">Calls</h2>
        {value && (
          <span class="note">
            {value.rows.length === MOST ? `the first ${MOST}` : count(value.rows.length, 'call')}
          </span>
        )}
        <a href={linkTo('/calls', { walk_id: `eq.${walk}` })}>Among all calls</a>
        <OpenAsSql query={query} />
      </div>
      <Awaited query={query} />
      {value && value.rows.length === 0 && <Empty>Its calls are forgotten: only their number is kept.</Empty>}
      {value && value.rows.length > 0 && (
        <Table
          caption={`Calls of walk ${walk}`}
          columns={walkCallColumns}
          rows={value.rows}
          isFolding
          isLoading={query.isOld}
        />
      )}
    </section>
  );
}
