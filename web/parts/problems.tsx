/** What is wrong, the gravest first, each with what to do and one link to more of it: the same wherever problems are shown. */

import { type FoldedProblem, foldProblems } from '../../src/base/folded-problems.ts';
import type { Overview, Problem } from '../../src/serve/page/wire.ts';
import { linkTo } from '../router.ts';
import { pathOf } from '../routes.ts';
import { PhraseText } from './states.tsx';
import { Ago } from './time.tsx';

type ShownProblem = FoldedProblem<Problem['code'] | 'no-daemon'>;

/** Said before anything is stale. */
const noDaemon: ShownProblem = {
  level: 'warning',
  code: 'no-daemon',
  jobs: [],
  effect: null,
  messageParts: ['No daemon is running: nothing new is mirrored, and what is shown grows older.'],
  adviceParts: ['market-mirror start runs it, market-mirror sync mirrors everything once'],
};

/** One for each cause. @param job of this dataset, and those that all have in common. */
export function problemsOf({ status }: Overview, job?: string | null): ShownProblem[] {
  const { problems, datasets, daemon } = status;
  // Reports are of no dataset.
  const found = problems.filter(
    (problem) => !job || problem.job === job || (problem.job === null && !ofReports.includes(problem.code)),
  );
  const folded: ShownProblem[] = foldProblems(found);
  const isSaid = found.some(({ cause }) => cause === 'no-daemon');
  const isSynced = datasets.some(({ doing }) => doing.sync !== null);
  if (daemon !== null || isSaid || isSynced) return folded;
  const errors = folded.filter(({ level }) => level === 'error').length;
  return folded.toSpliced(errors, 0, noDaemon);
}

const ofReports: readonly ShownProblem['code'][] = ['report-failed', 'report-unsent'];

/** Beside other things only the gravest are shown. */
const MOST = 5;

type Props = { problems: readonly ShownProblem[]; overview: Overview; label: string; isWhole?: boolean };

export function ProblemList({ problems, overview, label, isWhole = false }: Props) {
  if (problems.length === 0) return null;
  return (
    <ul class="problems card" aria-label={label}>
      {(isWhole ? problems : problems.slice(0, MOST)).map((problem) => (
        <li key={`${problem.code} ${problem.jobs}`} class={problem.level}>
          <span class="mark" aria-hidden="true">
            {problem.level === 'error' ? '×' : '!'}
          </span>
          <p class="message">
            <span class="unseen">{problem.level}: </span>
            {problem.jobs.map((job, at) => (
              <b key={job}>
                <a href={linkTo(pathOf({ view: 'dataset', job }))}>{job}</a>
                {at < problem.jobs.length - 1 ? ', ' : ' '}
              </b>
            ))}
            <PhraseText phrase={problem.messageParts} />
            {problem.effect !== null && `: ${problem.effect}`}
          </p>
          <p class="note">
            <NextTry problem={problem} overview={overview} /> <Action problem={problem} overview={overview} />
          </p>
        </li>
      ))}
      {!isWhole && problems.length > MOST && (
        <li>
          <a class="message" href={linkTo('/problems')}>
            {problems.length - MOST} more
          </a>
        </li>
      )}
    </ul>
  );
}

const ofReads: readonly ShownProblem['code'][] = ['stale', 'never-complete', 'failed', 'unproven'];

/** When the daemon tries again by itself; else the advice. */
function NextTry({
  problem: { code, jobs, adviceParts },
  overview: { status },
}: {
  problem: ShownProblem;
  overview: Overview;
}) {
  // Of several, the one that comes first.
  const [next = null] = status.datasets
    .flatMap(({ job, nextRun }) => (jobs.includes(job) ? (nextRun ?? []) : []))
    .sort();
  const isBySelf = ofReads.includes(code) && status.daemon !== null;
  if (isBySelf && next !== null)
    return Date.parse(next) <= Date.parse(status.at) ? (
      <>It is tried again now: nothing to do.</>
    ) : (
      <>
        Next try <Ago at={next} />: nothing to do.
      </>
    );
  // A link shows the rows that the advice would ask for in a terminal.
  return code === 'quarantine' || code === 'drift' ? null : <PhraseText phrase={adviceParts} />;
}

/** The one link to where the page shows more. */
function Action({ problem: { code, jobs }, overview }: { problem: ShownProblem; overview: Overview }) {
  const job = jobs.length === 1 ? `eq.${jobs[0]}` : null;
  switch (code) {
    case 'quarantine':
      return <a href={linkTo('/problems', { job })}>See the rows</a>;
    case 'drift':
    case 'new-key':
    case 'doubted-key':
    case 'moved-rows':
    case 'moving-field':
      return <a href={linkTo('/problems', { job })}>See the differences</a>;
    case 'report-failed':
    case 'report-unsent':
      return <a href={linkTo('/reports')}>See the reports</a>;
    case 'key-refused':
    case 'scope-missing':
    case 'unreachable':
      return <a href={linkTo('/calls', { job, error_code: 'not.is.null' })}>See the calls</a>;
    case 'stale':
    case 'never-complete':
    case 'failed':
    case 'unproven':
    case 'removal-held': {
      const walk = overview.datasets.find((day) => day.job === jobs[0])?.walks.at(-1);
      return walk ? <a href={linkTo(pathOf({ view: 'walk', id: walk.id }))}>See the walk</a> : null;
    }
    default:
      return null;
  }
}
