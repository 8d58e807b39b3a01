/** What is wrong, the gravest first, each with what to do, and where to look. */

import type { Overview, Problem, SinkName, SinkStatus } from '../../../src/serve/ui/wire.ts';
import { count, duration } from '../../formats.ts';
import { PhraseText } from '../../parts/states.tsx';
import { Ago, Time } from '../../parts/time.tsx';
import { linkTo } from '../../router.ts';
import { pathOf } from '../../routes.ts';

export function Problems({ overview, isPast }: { overview: Overview; isPast: boolean }) {
  const { problems } = overview.status;
  if (problems.length === 0) return null;
  return (
    <section class="stack" aria-labelledby="problems-title">
      <h2 id="problems-title">Problems {isPast && <span class="tag">now</span>}</h2>
      <ul class="problems">
        {problems.map((problem) => (
          <li key={`${problem.code} ${problem.job}`} class={`card problem ${problem.level}`}>
            <span class="mark" aria-hidden="true">
              {problem.level === 'error' ? '×' : '!'}
            </span>
            <div>
              <p class="message">
                <span class="unseen">{problem.level}: </span>
                {problem.job !== null && (
                  <b>
                    <a href={linkTo(pathOf({ view: 'dataset', job: problem.job }))}>{problem.job}</a>{' '}
                  </b>
                )}
                <PhraseText phrase={problem.messageParts} />
              </p>
              <p class="advice">
                <span aria-hidden="true">→ </span>
                <PhraseText phrase={problem.adviceParts} /> <Look problem={problem} overview={overview} />
              </p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Where the page shows more of it. */
function Look({ problem: { code, job }, overview }: { problem: Problem; overview: Overview }) {
  switch (code) {
    case 'quarantine':
      return <a href={linkTo('/problems', { job })}>See the rows</a>;
    case 'drift':
      return <a href={linkTo('/problems', { job })}>See the differences</a>;
    case 'key-refused':
    case 'scope-missing':
    case 'unreachable':
      return <a href={linkTo('/calls', { job })}>See the calls</a>;
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

/** Data stay what they are without a daemon, only older: that is worth a word before anything is stale. */
export function NoDaemon({ status }: { status: Overview['status'] }) {
  if (status.daemon !== null) return null;
  return (
    <section class="card no-daemon" aria-label="The daemon is down">
      <p>
        <b>No daemon is running.</b> Nothing new is mirrored: what is shown stays as it is, and grows older.
      </p>
      <p>
        <code>market-mirror start</code> runs it; <code>market-mirror sync</code> mirrors everything once.
      </p>
    </section>
  );
}

/** What follows the mirror elsewhere, a database or files: how far each is behind, and what to do. */

type Target = { name: string; docs: string };

const targets: Readonly<Record<SinkName, Target>> = {
  ship: { name: 'Postgres', docs: 'docs/ship.md' },
  lake: { name: 'Lake', docs: 'docs/lake.md' },
};

const names = Object.keys(targets) as SinkName[];

/** Nothing where the daemon has none. */
export function Targets({ status, isPast }: { status: Overview['status']; isPast: boolean }) {
  const set = names.flatMap((name) => {
    const lag = status[name];
    return lag === null ? [] : [{ ...targets[name], lag }];
  });
  if (set.length === 0) return null;
  return (
    <section class="card targets" aria-labelledby="targets-title">
      <h2 id="targets-title">Follows the mirror {isPast && <span class="tag">now</span>}</h2>
      <ul>
        {set.map((one) => (
          <Following key={one.name} {...one} />
        ))}
      </ul>
    </section>
  );
}

function Following({ name, docs, lag }: Target & { lag: SinkStatus }) {
  const { changes, seconds, trouble } = lag;
  return (
    <li>
      <p>
        <b>{name}</b> <StatusBadge lag={lag} />{' '}
        {changes === 0
          ? 'all changes have arrived'
          : `${count(changes, 'change')} behind, the oldest ${duration(seconds)} old`}
      </p>
      {trouble && (
        <>
          <p>
            Nothing has arrived since <Time at={trouble.since} exactness="minute" />: {trouble.message}
          </p>
          <p class="advice">
            → The daemon tries again <Ago at={trouble.nextTry} />, and mirrors meanwhile; {docs} says what
            helps.
          </p>
        </>
      )}
    </li>
  );
}

function StatusBadge({ lag: { changes, trouble } }: { lag: SinkStatus }) {
  if (trouble) return <span class="tag warn">! nothing arrives</span>;
  return changes === 0 ? <span class="tag good">up to date</span> : <span class="tag">on its way</span>;
}
