/** Every call with its response, newest first. */

import type { PageCell } from '../../src/serve/page/wire.ts';
import { bytes as sizeOf } from '../formats.ts';
import { Heading } from '../parts/heading.tsx';
import { namesOf, type TableColumn } from '../parts/table.tsx';
import { usePageAddress } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import {
  Choice,
  Code,
  DatasetChoice,
  Filters,
  jobColumn,
  List,
  Past,
  reading,
  TextFilter,
  TimeFilters,
  WalkFilter,
  walkColumn,
  within,
} from './browsing.tsx';

const statuses = {
  Answers: {
    'error_code=is.null': 'all went well',
    'error_code=not.is.null': 'something was wrong',
    'status=is.null': 'no answer came',
  },
  Status: Object.fromEntries(
    [200, 304, 400, 401, 403, 404, 408, 429, 500, 502, 503, 504].map((status) => [
      `status=eq.${status}`,
      String(status),
    ]),
  ),
};

export const CallsView: ViewOf<'calls'> = () => {
  const { search, at } = usePageAddress();
  return (
    <>
      <Heading title="Calls">
        <span class="note">each call to the API; its support finds one by its X-Request-ID</span>
      </Heading>
      <Past what="Calls that were made by then." />
      <Filters>
        <DatasetChoice />
        <Choice label="Answer" groups={statuses} />
        <TextFilter column="request_id" label="X-Request-ID" />
        <TimeFilters />
        <WalkFilter />
      </Filters>
      <List
        caption="Calls"
        unit="call"
        table="requests"
        columns={callColumns}
        where={within('at', search, at)}
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
  {
    name: 'request_id',
    label: 'X-Request-ID',
    kind: 'text',
    show: (id) => (id === null ? '–' : <code class="unbroken">{String(id)}</code>),
  },
  { name: 'ms', label: 'Took, ms', kind: 'number' },
  { name: 'bytes', label: 'Size', kind: 'number', show: (bytes) => sizeOf(Number(bytes)) },
  {
    name: 'rate_remaining',
    label: 'Quota left',
    kind: 'number',
    show: (left) => (left === null ? '–' : undefined),
  },
  {
    name: 'url',
    label: 'Address',
    kind: 'text',
    show: (url) => <Code text={String(url).replace(/^https?:\/\/[^/]+/, '')} />,
  },
];
const value = reading(namesOf(callColumns));

/** The status of a response, and what was wrong. */
function CallStatus({ status, error }: { status: PageCell; error: PageCell }) {
  return (
    <>
      <span class={`tag ${tagOf(status)}`}>{status === null ? 'no answer' : String(status)}</span>
      {error !== null && (
        <>
          {' '}
          <Code text={String(error)} />
        </>
      )}
    </>
  );
}

function tagOf(status: PageCell): string {
  if (status === null) return 'bad';
  const number = Number(status);
  return number === 429 ? 'warn' : number >= 400 ? 'bad' : 'good';
}
