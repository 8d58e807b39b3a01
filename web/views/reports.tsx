/** The reports: when each ran and runs next, what it found, its file, and what is wrong with it; and the result of one, as it is now. */

import { useEffect, useState } from 'preact/hooks';
import type { PageReport, ReportStatus } from '../../src/serve/page/wire.ts';
import { useFetched } from '../ask.ts';
import { duration, number } from '../formats.ts';
import { useLive } from '../live.ts';
import { Fact, Heading } from '../parts/heading.tsx';
import { Awaited, Empty, Loading } from '../parts/states.tsx';
import { Table, type TableColumn } from '../parts/table.tsx';
import { Ago } from '../parts/time.tsx';
import { linkHere, linkTo, linkToSql, usePageAddress } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import { fetchReports } from '../service.ts';
import { AnswerOf } from './sql/answer.tsx';
import { useRunner } from './sql/run.ts';

const ROWS = 1_000;

/** In a word or two, and whether that is bad; the whole of it is said with its result. */
function stateOf({ error, waits, unsent, lastRun }: ReportStatus): readonly [word: string, tone: string] {
  if (error !== null) return ['failed', 'bad'];
  if (unsent !== null) return ['not sent', 'bad'];
  if (waits !== null) return ['waits', 'warn'];
  return lastRun === null ? ['has not run yet', ''] : ['ran', 'good'];
}

const State = ({ status }: { status: ReportStatus }) => {
  const [word, tone] = stateOf(status);
  return <span class={`tag ${tone}`}>{word}</span>;
};

const File = ({ report, file }: PageReport) =>
  file === null ? (
    <>–</>
  ) : (
    <a href={`/page/reports/${encodeURIComponent(report)}/file`} download>
      {file}
    </a>
  );

/** @param known by name, what the service says beside the status. */
function columnsOf(
  statuses: readonly ReportStatus[],
  known: ReadonlyMap<string, PageReport>,
  hasDaemon: boolean,
): readonly TableColumn[] {
  const statusOf = (name: unknown) => statuses.find(({ report }) => report === name) as ReportStatus;
  return [
    {
      name: 'report',
      label: 'Report',
      kind: 'text',
      show: (name) => (
        <a class="unbroken" href={linkHere({ report: String(name) })}>
          {statusOf(name).title}
        </a>
      ),
    },
    { name: 'state', label: 'State', kind: 'text', show: (_, [name]) => <State status={statusOf(name)} /> },
    { name: 'lastRun', label: 'Last run', show: (at) => (at === null ? 'never' : <Ago at={String(at)} />) },
    {
      name: 'next',
      label: 'Next run',
      kind: 'text',
      show: (_, [name]) => <Next report={known.get(String(name))} hasDaemon={hasDaemon} />,
    },
    { name: 'rows', label: 'Rows', show: (rows) => (rows === null ? '–' : number(Number(rows))) },
    { name: 'newRows', label: 'New', show: (rows) => (rows === null ? '–' : number(Number(rows))) },
    {
      name: 'file',
      label: 'File',
      kind: 'text',
      isNothing: (_, [name]) => (known.get(String(name))?.file ?? null) === null,
      show: (_, [name]) => {
        const report = known.get(String(name));
        return report ? <File {...report} /> : '–';
      },
    },
  ];
}

function Next({ report, hasDaemon }: { report: PageReport | undefined; hasDaemon: boolean }) {
  if (!report || report.run === null) return <>–</>;
  if (!hasDaemon) return <span class="note">no daemon runs it</span>;
  return <>{report.nextRun === null ? report.run : <Ago at={report.nextRun} />}</>;
}

export const ReportsView: ViewOf<'reports'> = () => {
  const { overview, version } = useLive();
  const { at, search } = usePageAddress();
  const query = useFetched('reports', fetchReports, { changed: version });
  if (!overview) return <Loading />;
  const { reports, daemon } = overview.status;
  const known = new Map(query.value?.map((one) => [one.report, one]));
  const chosen = reports.find(({ report }) => report === search.get('report'));
  return (
    <>
      <Heading title="Reports">
        <span class="note">
          saved queries that run by schedule or on change
          {at !== null && '; runs are those known now, whatever moment is shown'}
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
            columns={columnsOf(reports, known, daemon !== null)}
            identity={['report']}
            isFolding
            rows={reports.map((one) => [one.report, '', one.lastRun, '', one.rows, one.newRows, ''])}
          />
        </div>
      )}
      <Awaited query={query} />
      {chosen && (
        <section class="stack" aria-labelledby="report">
          <div class="heading">
            <h2 id="report">{chosen.title}</h2>
            <State status={chosen} />
            <span class="spread" />
            <a href={linkHere({ report: null })}>Close</a>
          </div>
          <Said status={chosen} report={known.get(chosen.report)} />
          <Result
            key={`${known.get(chosen.report)?.sql} ${at}`}
            sql={known.get(chosen.report)?.sql}
            at={at}
          />
        </section>
      )}
    </>
  );
};

function Said({ status, report }: { status: ReportStatus; report: PageReport | undefined }) {
  const { error, waits, unsent, durationSeconds, givenUp } = status;
  return (
    <dl class="facts card">
      <Fact name="Its file of SQL">
        <code>{status.report}.sql</code>
      </Fact>
      {report && report.run !== null && <Fact name="Runs">{report.run}</Fact>}
      {durationSeconds !== null && <Fact name="Last run took">{duration(durationSeconds)}</Fact>}
      {report && report.file !== null && (
        <Fact name="Last file">
          <File {...report} />
        </Fact>
      )}
      {error !== null && <Fact name="What is wrong">{error}</Fact>}
      {waits !== null && <Fact name="Waits">{waits}</Fact>}
      {unsent !== null && (
        <Fact name="Not sent">
          {number(unsent.messages)}, the first <Ago at={unsent.since} />: {unsent.error}
        </Fact>
      )}
      {givenUp > 0 && <Fact name="Given up">{number(givenUp)}</Fact>}
    </dl>
  );
}

/** Its query, asked now: what it wrote at its last run is in its file. */
function Result({ sql, at }: { sql: string | undefined; at: string | null }) {
  const { run, start } = useRunner();
  const [isChart, setChart] = useState(false);
  useEffect(() => {
    if (sql) void start({ sql, params: {} }, at, ROWS);
  }, []);
  if (!sql) return null;
  return (
    <>
      <div class="tools between">
        <span class="note">What its query finds {at === null ? 'now' : 'as of then'}:</span>
        <a href={linkToSql({ sql, params: {} }, undefined, isChart)}>Open as SQL</a>
      </div>
      {run && !run.end && <Loading what="Asking" />}
      {run && <AnswerOf run={run} isOld={false} isChart={isChart} choose={setChart} brush={undefined} />}
    </>
  );
}
