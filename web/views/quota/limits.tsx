/** What is known of the limits, in one sentence; and whether the plan keeps the schedules. */

import type { Overview } from '../../../src/serve/page/wire.ts';
import { number } from '../../formats.ts';
import { Fact } from '../../parts/heading.tsx';
import { Ago } from '../../parts/time.tsx';

export function LimitFacts({ status }: { status: Overview['status'] }) {
  const { limit, remaining, asOf, reserve, source, resets, other } = status.quota;
  const { rate, concurrency, notes } = status;
  return (
    <>
      <Fact name={source === 'set' ? 'Quota, as you set it' : 'Quota'}>
        {remaining === null ? (
          'not known yet: the API has not reported any'
        ) : (
          <>
            <b>{number(remaining)}</b> {limit !== null && `of ${number(limit)}`} calls left
            {reserve > 0 && `, ${number(reserve)} of them reserved`}; {resets.says}
            {resets.at !== null && (
              <>
                , next <Ago at={resets.at} />
              </>
            )}{' '}
            {asOf !== null && source !== 'set' && (
              <span class="note">
                as of <Ago at={asOf} />
              </span>
            )}
          </>
        )}
      </Fact>
      {other !== null && other.remaining !== null && (
        <Fact name="Of another quota">
          {number(other.remaining)} of {number(other.limit ?? 0)}, by the header; {other.resets.says}
        </Fact>
      )}
      {notes.length > 0 && <Fact name="Mind">{notes.join('; ')}</Fact>}
      {rate && concurrency && (
        <Fact name={rate.source === 'set' ? 'Rate, as you set it' : 'Rate'}>
          {rate.perSecond === null ? 'no limit was met' : `${number(rate.perSecond, 1)} calls a second`},{' '}
          {number(concurrency.allowed)} at once{' '}
          <span class="note">
            {rate.evidence}; {concurrency.evidence}
          </span>
        </Fact>
      )}
    </>
  );
}

/** One sentence, so that none contradicts another. */
export const whatIsEnough = ({ schedules }: Overview['plan']): string =>
  ({
    unknown: 'Whether so many may be made is not known yet.',
    kept: 'Every schedule can be kept.',
    scarce: 'Calls are scarce: the longer intervals are what the quota allows.',
    starved: 'Calls are so scarce that not every dataset is walked once a day.',
  })[schedules];
