/** What is proven of what is shown, and as of when. It stands beside every number that is of a dataset. */

import type { DatasetStatus, Source, WalkMark } from '../../src/serve/page/wire.ts';
import { useLive } from '../live.ts';
import { Age, Time } from './time.tsx';

type Proven = Pick<DatasetStatus, 'verdict' | 'completeAsOf'> & { isStale: boolean; isPast: boolean };

/** @param isPast a past has no age. */
function Proof({ verdict, completeAsOf, isStale, isPast }: Proven) {
  return (
    <span class="proof">
      <Verdict outcome={verdict ?? 'none'} />
      {completeAsOf !== null && (
        <>
          {' as of '}
          <Time at={completeAsOf} />{' '}
          {!isPast && (
            <span class={`tag${isStale ? ' bad' : ''}`}>
              {isStale && 'stale: '}
              <Age since={completeAsOf} /> old
            </span>
          )}
        </>
      )}
    </span>
  );
}

export function DatasetProof({ dataset: { verdict, completeAsOf, fresh } }: { dataset: DatasetStatus }) {
  return <Proof verdict={verdict} completeAsOf={completeAsOf} isStale={!fresh} isPast={false} />;
}

/** Whether a dataset is as current as its schedule asks for: the same word and colour everywhere. */
export function StateBadge({ dataset }: { dataset: DatasetStatus }) {
  const { fresh, completeAsOf, staleAfterSeconds } = dataset;
  if (!fresh) return <span class="tag bad">{completeAsOf === null ? 'never complete' : 'stale'}</span>;
  return staleAfterSeconds === null ? <span class="tag">off</span> : <span class="tag good">fresh</span>;
}

/** The same for an answer, which may come from several datasets. @param isPast whether it was asked as of some time. */
export function Sources({ sources, isPast }: { sources: readonly Source[]; isPast: boolean }) {
  const { overview } = useLive();
  const stale = overview?.status.datasets.filter(({ fresh }) => !fresh).map(({ job }) => job) ?? [];
  return (
    <ul class="tools">
      {sources.map(({ job, proof, completeAsOf }) => (
        <li key={job}>
          <b>{job}</b>{' '}
          <Proof
            verdict={proof?.verdict ?? null}
            completeAsOf={completeAsOf}
            isStale={stale.includes(job)}
            isPast={isPast}
          />
        </li>
      ))}
    </ul>
  );
}

/** What a walk proves: told apart by letter and shape, not by colour alone. */
type Outcome = 'snapshot' | 'verified' | 'union' | 'failed' | 'running' | 'waiting' | 'none';

export const outcomes: Readonly<Record<Outcome, { letter: string; label: string; meaning: string }>> = {
  snapshot: { letter: 'S', label: 'snapshot', meaning: 'the whole published snapshot is here' },
  verified: {
    letter: 'V',
    label: 'verified',
    meaning: 'no row was missed that was there throughout the walk',
  },
  union: { letter: 'U', label: 'union', meaning: 'nothing is proven; everything received is kept' },
  failed: { letter: '×', label: 'failed', meaning: 'the walk met an error' },
  running: { letter: '›', label: 'running', meaning: 'the walk is under way' },
  waiting: { letter: '=', label: 'waiting', meaning: 'the walk waits, and goes on where it was' },
  none: { letter: '?', label: 'no proof', meaning: 'no walk has proven it complete yet' },
};

export function outcomeOf({ status, verdict }: Pick<WalkMark, 'status' | 'verdict'>): Outcome {
  if (status === 'running' || status === 'failed' || status === 'waiting') return status;
  return verdict ?? 'none';
}

export function Sign({ outcome }: { outcome: Outcome }) {
  return (
    <span class={`sign ${outcome}`} aria-hidden="true">
      {outcomes[outcome].letter}
    </span>
  );
}

/** The sign alone, with its word for those who do not see it. */
export function NamedSign({ outcome }: { outcome: Outcome }) {
  const { label } = outcomes[outcome];
  return (
    <span title={label}>
      <Sign outcome={outcome} />
      <span class="unseen">{label}</span>
    </span>
  );
}

export function Verdict({ outcome }: { outcome: Outcome }) {
  const { label, meaning } = outcomes[outcome];
  return (
    <span class="verdict pair" title={meaning}>
      <Sign outcome={outcome} /> {label}
    </span>
  );
}

/** Why calls wait, in a word or two, by the value of `walks.waits_for`. */
export const waitReasons: Readonly<Record<string, string>> = {
  quota: 'for quota',
  reserve: 'for quota: the rest is reserved',
  rate: 'for the rate limit',
  concurrency: 'for calls in flight',
  retry_after: 'as the API asked',
  unavailable: 'for the API, which is unavailable',
  blocked: 'for a firewall or proxy, which answers 403',
  unreachable: 'for the API, which is unreachable',
  key_refused: 'for a valid key',
  forbidden: 'for the right to read it',
};
