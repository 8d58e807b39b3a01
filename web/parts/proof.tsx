/** What is proven of what is shown, and as of when. It stands beside every number that is of a dataset. */

import type { Source } from '../../src/serve/ui/wire.ts';
import { Age, Time } from './time.tsx';
import { type Outcome, Verdict } from './verdict.tsx';

type Proven = {
  verdict: Extract<Outcome, 'snapshot' | 'verified'> | null;
  completeAsOf: string | null;
  /** Whether that is older than it is meant to be; not given where nobody can say, as of the past. */
  isStale?: boolean | undefined;
};

/** @param isPast a past has no age. */
export function Proof({ verdict, completeAsOf, isStale, isPast }: Proven & { isPast?: boolean }) {
  return (
    <span class={`proof${isStale ? ' stale' : ''}`}>
      <Verdict outcome={verdict ?? 'none'} />
      {completeAsOf !== null && (
        <>
          {' as of '}
          <Time at={completeAsOf} />
          {!isPast && (
            <span class="age">
              {isStale && 'stale: '}
              <Age since={completeAsOf} /> old
            </span>
          )}
        </>
      )}
    </span>
  );
}

/** The same for an answer, which may come from several datasets. @param isPast whether it was asked as of some time. */
export function Sources({ sources, isPast }: { sources: readonly Source[]; isPast: boolean }) {
  return (
    <ul class="sources">
      {sources.map(({ job, proof, completeAsOf }) => (
        <li key={job}>
          <b>{job}</b> <Proof verdict={proof?.verdict ?? null} completeAsOf={completeAsOf} isPast={isPast} />
        </li>
      ))}
    </ul>
  );
}
