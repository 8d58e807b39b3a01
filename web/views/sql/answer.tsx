/** The answer to a query: as of when and how far proven, its rows, its chart, and ways to take it along. */

import { useMemo } from 'preact/hooks';
import type { OpenedQuery, Source } from '../../../src/serve/page/wire.ts';
import { count, number } from '../../formats.ts';
import { isIdentity } from '../../kinds.ts';
import { useLive } from '../../live.ts';
import { DownloadMenu } from '../../parts/download.tsx';
import { Sources } from '../../parts/proof.tsx';
import { Empty } from '../../parts/states.tsx';
import { Table, usePages } from '../../parts/table.tsx';
import { Age, Time } from '../../parts/time.tsx';
import { linkToJson, linkToSql } from '../../router.ts';
import { AnswerChart } from './chart.tsx';
import { kindsOf } from './chart-data.ts';
import type { Run } from './run.ts';

const PAGE = 100;
/** So many rows decide what a column holds. */
const SAMPLED_ROWS = 1_000;

type Props = {
  run: Run;
  /** Another query is under way. */
  isOld: boolean;
  isChart: boolean;
  choose(isChart: boolean): void;
  /** Called with the range that one draws across, in epoch milliseconds; unless given, the chart zooms into it. */
  brush: ((from: number, until: number) => void) | undefined;
};

export function AnswerOf({ run, isOld, ...rest }: Props) {
  const { end, opened } = run;
  if (!end) return null;
  const isStopped = end.problem?.kind === 'stopped';
  return (
    <section class={`card stack answer${isOld ? ' old' : ''}`} aria-label="Answer" aria-busy={isOld}>
      {end.problem && !isStopped && <Mistake message={end.problem.message} />}
      {isStopped && (
        <p class="state">
          Stopped {run.count === 0 ? 'before the first row' : `after ${count(run.count, 'row')}`}. The query
          is kept as it was.
        </p>
      )}
      {opened && (!end.problem || (isStopped && run.count > 0)) && (
        <Rows run={run} opened={opened} {...rest} />
      )}
    </section>
  );
}

/** A mark stands below the place in the SQL, so all letters have one width. */
function Mistake({ message }: { message: string }) {
  return (
    <div class="state failed mistake" role="alert">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      <pre tabIndex={0}>{message}</pre>
    </div>
  );
}

type RowsProps = Omit<Props, 'isOld'> & { opened: OpenedQuery };

function Rows({ run, opened, isChart, choose, brush }: RowsProps) {
  const { rows, at, end } = run;
  const { columns, sources } = opened;
  const notes = [...opened.notes, ...(end?.notes ?? [])];
  const kinds = useMemo(() => kindsOf(columns, rows.slice(0, SAMPLED_ROWS)), [rows, columns]);
  const cut = end?.isCut ? `Cut: the first ${count(rows.length, 'row')} of more are shown.` : undefined;
  return (
    <>
      <header class="tools">
        <b>{end?.isCut ? `first ${count(rows.length, 'row')}` : count(rows.length, 'row')}</b>
        <span class="note">{number((end?.ms ?? 0) / 1_000, 2)} s</span>
        <span class="spread" />
        {rows.length > 0 && <View isChart={isChart} choose={choose} />}
        <DownloadMenu question={run.question} asOf={at} />
        <a href={linkToJson(run.question, at)} target="_blank" rel="noopener">
          JSON
        </a>
      </header>
      <Origin run={run} opened={opened} />
      {notes.length > 0 && (
        <ul class="toned warn" aria-label="Notes">
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      {cut !== undefined && <p class="toned warn">{cut} Choose a greater limit, or download all of them.</p>}
      {rows.length === 0 ? (
        <Empty>No row fits this query.</Empty>
      ) : isChart ? (
        <AnswerChart
          key={columns.map(({ name }, at) => `${name} ${kinds[at]}`).join('\n')}
          columns={columns}
          kinds={kinds}
          rows={rows}
          cut={cut}
          brush={brush}
          asOf={at}
        />
      ) : (
        <Paged key={run.begunAt} run={run} opened={opened} kinds={kinds} />
      )}
      {sources.length === 0 && <p class="note">This asks for no dataset, so there is nothing to prove.</p>}
    </>
  );
}

function View({ isChart, choose }: Pick<Props, 'isChart' | 'choose'>) {
  return (
    <fieldset class="switch">
      <legend class="unseen">Shown as</legend>
      {['Table', 'Chart'].map((each) => (
        <button
          key={each}
          type="button"
          aria-pressed={isChart === (each === 'Chart')}
          onClick={() => choose(each === 'Chart')}
        >
          {each}
        </button>
      ))}
    </fieldset>
  );
}

/** In a line what is proven of the rows, opened by dataset; and the moment at which the same comes again. */
function Origin({ run: { question, at }, opened: { sources, seq } }: { run: Run; opened: OpenedQuery }) {
  if (sources.length === 0) return null;
  const moment = seq > 0 ? new Date(seq).toISOString() : null;
  return (
    <div class="tools origin between">
      {sources.length === 1 ? (
        <Sources sources={sources} isPast={at !== null} />
      ) : (
        <details>
          <summary>
            <ProofLine sources={sources} isPast={at !== null} />
          </summary>
          <Sources sources={sources} isPast={at !== null} />
        </details>
      )}
      {moment !== null && (
        <span class="note" title={`As of its latest change: ${moment}`}>
          {/* Another moment is another address, which a link without its `#` would not be. */}
          <a href={linkToSql(question, moment)}>Link to this answer</a>
        </span>
      )}
    </div>
  );
}

/** `5 datasets, complete as of 07:11:30; meme-signals is stale (9h 12m old)`. */
function ProofLine({ sources, isPast }: { sources: readonly Source[]; isPast: boolean }) {
  const datasets = useLive().overview?.status.datasets ?? [];
  const isStale = ({ job }: Source) => !isPast && datasets.some((each) => each.job === job && !each.fresh);
  const unproven = sources.filter(({ completeAsOf }) => completeAsOf === null);
  const stale = sources.filter((source) => source.completeAsOf !== null && isStale(source));
  const [oldest] = sources
    .filter((source) => source.completeAsOf !== null && !isStale(source))
    .map(({ completeAsOf }) => completeAsOf ?? '')
    .sort();
  return (
    <>
      {count(sources.length, 'dataset')}
      {oldest !== undefined && (
        <>
          , complete as of <Time at={oldest} />
        </>
      )}
      {stale.map(({ job, completeAsOf }) => (
        <span key={job} class="toned warn">
          ; {job} is stale (<Age since={completeAsOf ?? ''} /> old)
        </span>
      ))}
      {unproven.length > 0 && (
        <span class="toned warn">; never proven complete: {unproven.map(({ job }) => job).join(', ')}</span>
      )}
    </>
  );
}

function Paged({ run, opened, kinds }: { run: Run; opened: OpenedQuery; kinds: ReturnType<typeof kindsOf> }) {
  const { shown, pager } = usePages(run.rows, PAGE);
  const columns = opened.columns.map((column, at) => ({
    ...column,
    kind: kinds[at] ?? ('text' as const),
    look: { isIdentity: isIdentity(column.name) },
  }));
  return (
    <>
      <Table caption="Rows of the answer" columns={columns} rows={shown} />
      {pager}
    </>
  );
}
