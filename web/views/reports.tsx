/** The reports: when each ran last, what it found, where its file is, and what is wrong with it. */

import type { Overview } from '../../src/serve/page/wire.ts';
import { duration, number } from '../formats.ts';
import { useLive } from '../live.ts';
import { Heading } from '../parts/heading.tsx';
import { Empty, Loading } from '../parts/states.tsx';
import { Table, type TableColumn } from '../parts/table.tsx';
import { Ago } from '../parts/time.tsx';
import { linkTo, usePageAddress } from '../router.ts';
import type { ViewOf } from '../routes.ts';

/** As `status --json` has it. Times are ISO 8601 UTC. */
type Report = {
  report: string;
  title: string;
  lastRun: string | null;
  durationSeconds: number | null;
  rows: number | null;
  newRows: number | null;
  file: string | null;
  /** Why it waits for a proof. */
  waits: string | null;
  error: string | null;
  unsent: { messages: number; since: string; error: string } | null;
};

const reportsOf = ({ status }: Overview): readonly Report[] =>
  (status as { reports?: readonly Report[] }).reports ?? [];

const columns: readonly TableColumn[] = [
  { name: 'report', label: 'Report', kind: 'text', show: (name) => <code>{String(name)}</code> },
  { name: 'title', label: 'Title', kind: 'text' },
  {
    name: 'state',
    label: 'State',
    kind: 'text',
    show: (state, row) => <State text={state} isBad={row[3]} />,
  },
  { name: 'isBad', isHidden: true },
  { name: 'lastRun', label: 'Last run', show: (at) => (at === null ? 'never' : <Ago at={String(at)} />) },
  {
    name: 'durationSeconds',
    label: 'Took',
    kind: 'number',
    show: (seconds) => (seconds === null ? '–' : duration(Number(seconds))),
  },
  { name: 'rows', label: 'Rows', show: (rows) => (rows === null ? '–' : number(Number(rows))) },
  { name: 'newRows', label: 'New' },
  { name: 'file', label: 'File', kind: 'text' },
];

const State = ({ text, isBad }: { text: unknown; isBad: unknown }) => (
  <span class={isBad === 1 ? 'toned bad' : undefined}>{String(text)}</span>
);

const stateOf = ({ error, waits, unsent, lastRun }: Report): string =>
  error ?? waits ?? (unsent ? `not sent: ${unsent.error}` : lastRun === null ? 'has not run yet' : 'ran');

export const ReportsView: ViewOf<'reports'> = () => {
  const { overview } = useLive();
  const { at } = usePageAddress();
  if (!overview) return <Loading />;
  const reports = reportsOf(overview);
  return (
    <>
      <Heading title="Reports">
        <span class="note">
          saved queries that run by schedule or on change
          {at !== null && '; as of now, whatever moment is shown elsewhere'}
        </span>
      </Heading>
      {reports.length === 0 ? (
        <Empty>
          There are none. A report is a <code>.sql</code> file in the folder that <code>MIRROR_REPORTS</code>{' '}
          names: <a href={linkTo('/sql')}>write a query</a>, and take it along by “As a report”.
        </Empty>
      ) : (
        <div class="card list">
          <Table
            caption="Reports"
            columns={columns}
            identity={['report']}
            isFolding
            rows={reports.map((one) => [
              ...[one.report, one.title, stateOf(one), Number(one.error !== null || one.unsent !== null)],
              ...[one.lastRun, one.durationSeconds, one.rows, one.newRows, one.file],
            ])}
          />
        </div>
      )}
    </>
  );
};
