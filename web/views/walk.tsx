/** One walk: its evidence, every call it made, and every row it changed. */

import type { PageCell } from '../../src/serve/page/wire.ts';
import { useCurrentAnswer } from '../ask.ts';
import { count, number } from '../formats.ts';
import { Cell } from '../parts/cell.tsx';
import { Fact, Heading } from '../parts/heading.tsx';
import { Awaited, Empty } from '../parts/states.tsx';
import { hiding, namesOf, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { linkTo, linkToSql } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import { select } from '../sql.ts';
import {
  anomaliesOf,
  JobLink,
  meanings,
  type Read,
  Remarks,
  reading,
  tookOf,
  WalkOutcome,
} from './browsing.tsx';
import { callColumns } from './calls.tsx';

const columns = `
  id job kind status verdict started_at finished_at pages rows distinct_keys total_first total generated_at
  inserted updated deleted held quarantined unkeyed drifted api_calls renewal_of restarts
  steps_back anomalies error next_offset waits_until waits_for new_in_head new_at_tail new_elsewhere glanced
  first_seq last_seq
`
  .trim()
  .split(/\s+/);
const value = reading(columns);

export const WalkView: ViewOf<'walk'> = ({ id }) => {
  const sql = select({ columns, from: 'walks', where: [{ column: 'id', is: '=', value: id }] });
  const query = useCurrentAnswer({ ...sql, limit: 1 });
  const row = query.value?.rows[0];
  const read = (name: string) => (row ? value(row, name) : null);
  return (
    <>
      <Heading title={row && read('kind') === 'glance' ? `Glance ${id}` : `Walk ${id}`}>
        {row && <WalkOutcome read={read} />}
        <span class="tools">
          <a href={linkTo('/walks', row ? { job: String(read('job')) } : {})}>All its walks</a>
          <a href={linkToSql(sql)}>Open as SQL</a>
        </span>
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

/** What a walk found, and what of it makes its verdict. */
function Evidence({ read }: { read: Read }) {
  const odd = anomaliesOf(read('anomalies'));
  const remarks = ['error', 'renewal_of', 'waits_until'].some((name) => read(name) !== null);
  return (
    <section class="card stack" aria-label="Evidence">
      {remarks && <Remarks read={read} />}
      <dl class="facts">
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
          {read('last_seq') !== null && (
            <>
              {' '}
              · <a href={linkTo('/changes', { walk: Number(read('id')) })}>field by field</a>
            </>
          )}
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
        <Fact name="Calls">{number(Number(read('api_calls')))}</Fact>
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

function totalsOf(first: PageCell, last: PageCell): string | null {
  if (last === null) return null;
  const at = count(Number(last), 'row');
  return first === null || first === last ? at : `${at}; ${number(Number(first))} at its beginning`;
}

/** A walk of more calls is read in the list of all calls, page by page. */
const MOST = 500;
/** Of one walk they are all the same. */
const walkCallColumns = hiding(callColumns, 'job', 'walk_id');

/** Every call of a walk, in the order in which they were sent. */
function Calls({ walk }: { walk: number }) {
  const sql = select({
    columns: namesOf(walkCallColumns),
    from: 'requests',
    where: [{ column: 'walk_id', is: '=', value: walk }],
    order: [{ column: 'id' }],
  });
  const query = useCurrentAnswer({ ...sql, limit: MOST });
  const { value } = query;
  return (
    <section class="card stack list" aria-labelledby="calls">
      <div class="tools">
        <h2 id="calls">Calls</h2>
        {value && (
          <span class="note">{value.isCut ? `the first ${MOST}` : count(value.rows.length, 'call')}</span>
        )}
        <span class="spread" />
        <a href={linkTo('/calls', { walk })}>Among all calls</a>
        <a href={linkToSql(sql)}>Open as SQL</a>
      </div>
      <Awaited query={query} />
      {value && value.rows.length === 0 && <Empty>Its calls are forgotten: only their number is kept.</Empty>}
      {value && value.rows.length > 0 && (
        <Table
          caption={`Calls of walk ${walk}`}
          columns={walkCallColumns}
          rows={value.rows}
          isLoading={query.isOld}
        />
      )}
    </section>
  );
}
