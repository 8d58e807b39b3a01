/** What is known of the limits, in one sentence; and whether the plan keeps the schedules. */

import type { Overview } from '../../../src/serve/ui/wire.ts';
import { duration, number } from '../../formats.ts';
import { Fact } from '../../parts/heading.tsx';
import { Ago } from '../../parts/time.tsx';

export function LimitFacts({ status }: { status: Overview['status'] }) {
  const { limit, remaining, asOf, reserve, refill, othersPerHour } = status.quota;
  const { rate, concurrency } = status;
  return (
    <>
      <Fact name="Quota">
        {remaining === null ? (
          'not reported by the API yet'
        ) : (
          <>
            <b>{number(remaining)}</b> {limit !== null && `of ${number(limit)}`} calls left
            {reserve > 0 && `, ${number(reserve)} of them reserved`}
            {refill.periodSeconds !== null && `; a reset every ${duration(refill.periodSeconds)}`}
            {refill.nextBy !== null && (
              <>
                , the next <Ago at={refill.nextBy} /> at the latest
              </>
            )}
            {refill.perHour !== null && `; ${number(refill.perHour)} come back an hour`}
            {refill.kind === 'unknown' && '; when it resets is not known yet'}
            {othersPerHour > 0 && `; others use about ${number(othersPerHour, 0)} an hour`}{' '}
            {asOf !== null && (
              <span class="note">
                as of <Ago at={asOf} />
              </span>
            )}
          </>
        )}
      </Fact>
      {rate && concurrency && (
        <Fact name="Rate">
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
export function whatIsEnough({ schedules, stretch, stretchNow }: Overview['plan']): string {
  if (schedules === 'unknown') return 'Whether so many may be made is not known yet.';
  const longer = (times: number) => `intervals become up to ${number(times, 1)} times as long`;
  if (schedules === 'scarce') return `Calls are scarce: ${longer(stretch)} as the schedules ask for.`;
  if (stretchNow > 1)
    return `The calls of the day are enough for every schedule, but those left now are not. Until more come, ${longer(stretchNow)}.`;
  if (schedules === 'tight')
    return 'The calls of the day are enough for every schedule, but at times walks will wait for more.';
  return 'Every schedule can be kept.';
}
