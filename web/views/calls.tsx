/** Every call with its response, newest first. */

import type { PageCell } from '../../src/serve/page/wire.ts';
import { bytes as sizeOf } from '../formats.ts';
import { Heading } from '../parts/heading.tsx';
import { namesOf, type TableColumn } from '../parts/table.tsx';
import { go, usePageAddress } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import type { Condition } from '../sql.ts';
import {
  Choice,
  Code,
  codeColumn,
  DatasetChoice,
  equal,
  Filters,
  filteredBy,
  jobColumn,
  List,
  numberIn,
  Past,
  reading,
  TextFilter,
  TimeFilters,
  useNewestFirst,
  walkColumn,
  within,
} from './browsing.tsx';

const statuses = {
  Answers: { good: 'all went well', bad: 'something was wrong', none: 'no answer came' },
  Status: Object.fromEntries(
    [200, 304, 400, 401, 403, 404, 408, 429, 500, 502, 503, 504].map((status) => [status, String(status)]),
  ),
};

export const CallsView: ViewOf<'calls'> = () => {
  const { search, at } = usePageAddress();
  const walk = numberIn(search, 'walk');
  const requestId = search.get('request');
  const listed = useNewestFirst({
    from: 'requests',
    columns: callColumns,
    where: [
      ...equal('job', search.get('job')),
      ...equal('walk_id', walk),
      ...answeredBy(search.get('status')),
      ...(requestId === null ? [] : [{ column: 'request_id', is: 'contains', value: requestId } as const]),
      ...within('at', search, at),
    ],
  });
  return (
    <>
      <Heading title="Calls">
        <span class="note">each call to the API; its support finds one by its X-Request-ID</span>
      </Heading>
      <Past what="Calls that were made by then." />
      <Filters names={['job', 'status', 'request', 'walk', 'from', 'to']}>
        <DatasetChoice />
        <Choice name="status" label="Answer" groups={statuses} />
        <TextFilter name="request" label="X-Request-ID" />
        <TimeFilters />
        {walk !== null && (
          <button
            type="button"
            onClick={() => go(filteredBy({ walk: null }))}
            aria-label={`of walk ${walk}: show those of all walks`}
          >
            of walk {walk} ×
          </button>
        )}
      </Filters>
      <List
        caption="Calls"
        unit="call"
        listed={listed}
        empty="No call fits these filters. Old calls are forgotten after some time."
      />
    </>
  );
};

/** Wherever calls are shown. */
export const callColumns: readonly TableColumn[] = [
  { name: 'id', isHidden: true },
  { name: 'at', label: 'Sent' },
  {
    name: 'status',
    label: 'Status',
    kind: 'text',
    show: (status, row) => <CallStatus status={status} error={value(row, 'error_code')} />,
  },
  { name: 'error_code', isHidden: true },
  jobColumn,
  walkColumn('Walk'),
  { name: 'ms', label: 'Took, ms', kind: 'number' },
  { name: 'bytes', label: 'Size', kind: 'number', show: (bytes) => sizeOf(Number(bytes)) },
  {
    name: 'rate_remaining',
    label: 'Quota left',
    kind: 'number',
    show: (left) => (left === null ? '–' : undefined),
  },
  {
    name: 'request_id',
    label: 'X-Request-ID',
    kind: 'text',
    show: (id) => (id === null ? '–' : <Code text={String(id)} />),
  },
  codeColumn('url', 'Address'),
];
const value = reading(namesOf(callColumns));

function answeredBy(answer: string | null): Condition[] {
  if (answer === 'good') return [{ column: 'error_code', is: 'null' }];
  if (answer === 'bad') return [{ column: 'error_code', is: 'not null' }];
  if (answer === 'none') return [{ column: 'status', is: 'null' }];
  return equal('status', answer !== null && /^\d{3}$/.test(answer) ? Number(answer) : null);
}

/** The status of a response, and below it what was wrong. */
function CallStatus({ status, error }: { status: PageCell; error: PageCell }) {
  return (
    <>
      <span class={`tag ${tagOf(status)}`}>{status === null ? 'no answer' : String(status)}</span>
      {error !== null && (
        <div>
          <Code text={String(error)} />
        </div>
      )}
    </>
  );
}

function tagOf(status: PageCell): string {
  if (status === null) return 'bad';
  const number = Number(status);
  return number === 429 ? 'warn' : number >= 400 ? 'bad' : 'good';
}
