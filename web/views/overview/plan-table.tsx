/** What the next 24 hours will cost, and how often each dataset is walked for it. */

import type { Overview } from '../../../src/serve/ui/wire.ts';
import { duration, number } from '../../formats.ts';
import { Scroll } from '../../parts/scroll.tsx';

type Plan = Overview['plan'];

export function PlanTable({ plan }: { plan: Plan }) {
  const { datasets, calls, available, chanceOfRunningDry, unknown } = plan;
  return (
    <>
      <h3>Plan of the next 24 hours</h3>
      <p>
        {number(calls, 0)} calls expected
        {available === null ? '' : `, of ${number(available, 0)} that may be made`}. {whatIsEnough(plan)}
        {chanceOfRunningDry !== null &&
          chanceOfRunningDry >= 0.01 &&
          ` The chance of running dry is ${number(chanceOfRunningDry * 100, 0)} %.`}
      </p>
      <Scroll label="Plan of the next 24 hours by dataset">
        <table>
          <thead>
            <tr>
              <th scope="col">dataset</th>
              <th scope="col" class="number">
                schedule
              </th>
              <th scope="col" class="number">
                walk every
              </th>
              <th scope="col" class="number">
                glance every
              </th>
              <th scope="col" class="number">
                held to
              </th>
              <th scope="col" class="number">
                calls
              </th>
            </tr>
          </thead>
          <tbody>
            {datasets.map((dataset) => (
              <tr key={dataset.job}>
                <th scope="row">
                  {dataset.job}{' '}
                  {dataset.state !== 'planned' && <span class="tag">{words[dataset.state]}</span>}
                  {!dataset.drawsOnQuota && <span class="tag">free</span>}
                </th>
                <td class="number">{span(dataset.targetSeconds)}</td>
                <td class="number">{span(dataset.everySeconds)}</td>
                <td class="number">{span(dataset.glanceEverySeconds)}</td>
                <td class="number">{span(dataset.heldToSeconds)}</td>
                <td class="number">{dataset.calls === null ? '–' : number(dataset.calls, 0)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {unknown.length > 0 && (
        <ul class="note">
          {unknown.map(({ job, why }) => (
            <li key={`${job} ${why}`}>
              {job === null ? '' : `${job}: `}
              {why}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

const words = { off: 'off', forbidden: 'refused to the key', unknown: 'unknown' } as const;
const span = (seconds: number | null) => (seconds === null ? '–' : duration(seconds));

function whatIsEnough({ schedules, stretch, stretchNow }: Plan): string {
  if (schedules === 'unknown') return 'Whether so many may be made is not known yet.';
  const longer = (times: number) => `intervals become up to ${number(times, 1)} times as long`;
  if (schedules === 'scarce') return `Calls are scarce: ${longer(stretch)} as the schedules ask for.`;
  if (stretchNow > 1)
    return `The calls of the day are enough for every schedule; what is left until more come is not: until then ${longer(stretchNow)}.`;
  if (schedules === 'tight')
    return 'The calls are enough in the mean of the day; at times walks will wait for more.';
  return 'Every schedule can be kept.';
}
