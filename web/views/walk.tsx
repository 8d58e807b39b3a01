/** One walk: its evidence, every call it made, and every row it changed. */

import { Awaited } from '../parts/awaited.tsx';
import { Heading } from '../parts/heading.tsx';
import { Empty } from '../parts/states.tsx';
import { linkTo, linkToSql } from '../router.ts';
import { select } from '../sql.ts';
import { reading, useCurrentAnswer } from './browsing.ts';
import type { ViewOf } from './view.ts';
import { Calls } from './walks/calls.tsx';
import { Changes } from './walks/changes.tsx';
import { Evidence } from './walks/evidence.tsx';
import { WalkOutcome } from './walks/parts.tsx';

const columns = [
  ...[
    'id',
    'job',
    'kind',
    'status',
    'verdict',
    'started_at',
    'finished_at',
    'pages',
    'rows',
    'distinct_keys',
  ],
  ...[
    'total_first',
    'total',
    'generated_at',
    'inserted',
    'updated',
    'deleted',
    'held',
    'quarantined',
    'unkeyed',
  ],
  ...['drifted', 'api_calls', 'calls_saved', 'renewal_of', 'restarts', 'steps_back', 'anomalies', 'error'],
  ...['next_offset', 'waits_until', 'waits_for', 'new_in_head', 'new_at_tail', 'new_elsewhere', 'glanced'],
  ...['first_seq', 'last_seq'],
];
const value = reading(columns);

export const WalkView: ViewOf<'walk'> = ({ id }) => {
  const sql = select({ columns, from: 'walks', where: [{ column: 'id', is: '=', value: id }] });
  const asked = useCurrentAnswer({ ...sql, limit: 1 });
  const row = asked.value?.rows[0];
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
      <Awaited asked={asked} />
      {asked.value !== null && !row && (
        <Empty>There is no walk {id}. Walks that changed nothing are forgotten after some time.</Empty>
      )}
      {row && (
        <>
          <Evidence read={read} />
          <Changes
            walk={id}
            job={String(read('job'))}
            counted={Number(read('inserted')) + Number(read('updated')) + Number(read('deleted'))}
            first={read('first_seq')}
            last={read('last_seq')}
          />
          <Calls walk={id} />
        </>
      )}
    </>
  );
};
