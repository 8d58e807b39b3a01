/** The calls of the last day, by dataset and by answer. */

import type { Overview } from '../../../src/serve/ui/wire.ts';
import { number } from '../../formats.ts';
import { Scroll } from '../../parts/scroll.tsx';
import { linkTo } from '../../router.ts';

type Calls = Overview['calls'];

export function CallsTable({ calls, status }: { calls: Calls; status: Overview['status'] }) {
  const { today, lastHour, savedToday, savedInAll } = status.calls;
  const jobs = status.datasets.map(({ job }) => job);
  const statuses = [...new Set(calls.map((one) => one.status))].sort((a, b) => (a ?? 999) - (b ?? 999));
  const sumOf = (job: string | null, of?: number | null) =>
    calls
      .filter((one) => (job === null || one.job === job) && (of === undefined || one.status === of))
      .reduce((sum, one) => sum + one.calls, 0);
  return (
    <>
      <h3>Calls of the last 24 hours</h3>
      {calls.length === 0 ? (
        <p>None was made.</p>
      ) : (
        <Scroll label="Calls of the last 24 hours by dataset and answer">
          <table>
            <thead>
              <tr>
                <th scope="col">dataset</th>
                {statuses.map((one) => (
                  <th key={one} scope="col" class="number">
                    {one ?? 'none'}
                  </th>
                ))}
                <th scope="col" class="number">
                  all
                </th>
              </tr>
            </thead>
            <tbody>
              {jobs.map((job) => (
                <tr key={job}>
                  <th scope="row">
                    <a href={linkTo('/calls', { job })}>{job}</a>
                  </th>
                  {statuses.map((one) => (
                    <td key={one} class={`number${isWell(one) || sumOf(job, one) === 0 ? '' : ' ill'}`}>
                      {cellOf(sumOf(job, one))}
                    </td>
                  ))}
                  <td class="number">{cellOf(sumOf(job))}</td>
                </tr>
              ))}
            </tbody>
            <tfoot>
              <tr>
                <th scope="row">all</th>
                {statuses.map((one) => (
                  <td key={one} class="number">
                    {cellOf(sumOf(null, one))}
                  </td>
                ))}
                <td class="number">{number(sumOf(null))}</td>
              </tr>
            </tfoot>
          </table>
        </Scroll>
      )}
      <p class="note">
        {statuses.includes(null) && 'None: no answer came. '}
        {number(lastHour)} in the last hour, {number(today)} since midnight UTC.
        {savedInAll > 0 &&
          ` Proofs by one call saved ${number(savedToday)} of today's calls, ${number(savedInAll)} in all.`}
      </p>
    </>
  );
}

const cellOf = (calls: number) => (calls === 0 ? '–' : number(calls));
const isWell = (status: number | null) => status !== null && status < 400;
