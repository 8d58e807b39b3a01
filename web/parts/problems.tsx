/** What is wrong, the gravest first, each with what to do and one link to more of it: the same wherever problems are shown. */

import type { Overview, Problem } from '../../src/serve/ui/wire.ts';
import { linkTo } from '../router.ts';
import { pathOf } from '../routes.ts';
import { PhraseText } from './states.tsx';
import { Ago } from './time.tsx';

type ShownProblem = Omit<Problem, 'code' | 'message' | 'advice' | 'exitCode'> & {
  code: Problem['code'] | 'no-daemon';
};

/** Said before anything is stale. */
const noDaemon: ShownProblem = {
  level: 'warning',
  code: 'no-daemon',
  job: null,
  messageParts: ['No daemon is running: nothing new is mirrored, and what is shown grows older.'],
  adviceParts: ['market-mirror start runs it, market-mirror sync mirrors everything once'],
};

/** @param job of this dataset, and those that all have in common. */
export function problemsOf({ status }: Overview, job?: string | null): ShownProblem[] {
  const ofLevel = (level: Problem['level']) => status.problems.filter((problem) => problem.level === level);
  const all = [...ofLevel('error'), ...(status.daemon === null ? [noDaemon] : []), ...ofLevel('warning')];
  return all.filter((problem) => !job || problem.job === null || problem.job === job);
}

type Props = { problems: readonly ShownProblem[]; overview: Overview; label: string };

export function ProblemList({ problems, overview, label }: Props) {
  if (problems.length === 0) return null;
  return (
    <ul class="problems card" aria-label={label}>
      {problems.map((problem) => (
        <li key={`${problem.code} ${problem.job}`} class={problem.level}>
          <span class="mark" aria-hidden="true">
            {problem.level === 'error' ? '×' : '!'}
          </span>
          <p class="message">
            <span class="unseen">{problem.level}: </span>
            {problem.job !== null && (
              <b>
                <a href={linkTo(pathOf({ view: 'dataset', job: problem.job }))}>{problem.job}</a>{' '}
              </b>
            )}
            <PhraseText phrase={problem.messageParts} />
          </p>
          <p class="note">
            <NextTry problem={problem} overview={overview} /> <Action problem={problem} overview={overview} />
          </p>
        </li>
      ))}
    </ul>
  );
}

const ofReads: readonly ShownProblem['code'][] = ['stale', 'never-complete', 'failed', 'unproven'];

/** When the daemon tries again by itself; else the advice. */
function NextTry({
  problem: { code, job, adviceParts },
  overview: { status },
}: {
  problem: ShownProblem;
  overview: Overview;
}) {
  const next = status.datasets.find((dataset) => dataset.job === job)?.nextRun ?? null;
  const isBySelf = ofReads.includes(code) && status.daemon !== null && status.daemon.queue === null;
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
function Action({ problem: { code, job }, overview }: { problem: ShownProblem; overview: Overview }) {
  switch (code) {
    case 'quarantine':
      return <a href={linkTo('/problems', { job })}>See the rows</a>;
    case 'drift':
      return <a href={linkTo('/problems', { job })}>See the differences</a>;
    case 'key-refused':
    case 'scope-missing':
    case 'unreachable':
      return <a href={linkTo('/calls', { job, status: 'bad' })}>See the calls</a>;
    case 'stale':
    case 'never-complete':
    case 'failed':
    case 'unproven':
    case 'removal-held': {
      const walk = overview.datasets.find((day) => day.job === job)?.walks.at(-1);
      return walk ? <a href={linkTo(pathOf({ view: 'walk', id: walk.id }))}>See the walk</a> : null;
    }
    default:
      return null;
  }
}
