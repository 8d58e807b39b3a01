/** The changes of a day, hour by hour: drawn, said in words, and as a table. */

import { useState } from 'preact/hooks';
import type { DatasetDay } from '../../../src/serve/ui/wire.ts';
import { clockTime, number, plural, zoneName } from '../../formats.ts';
import { Scroll } from '../../parts/scroll.tsx';
import { Sparkline } from '../../parts/sparkline.tsx';
import { usePreferences } from '../../preferences.ts';

type Hours = DatasetDay['changes'];

export function Changes({ changes }: { changes: Hours }) {
  const { zone } = usePreferences();
  const [isOpen, setOpen] = useState(false);
  const totals = changes.map(({ inserted, updated, deleted }) => inserted + updated + deleted);
  const sum = (of: 'inserted' | 'updated' | 'deleted') => changes.reduce((all, hour) => all + hour[of], 0);
  const all = totals.reduce((total, value) => total + value, 0);
  const parts = [
    `${number(sum('inserted'))} new`,
    `${number(sum('updated'))} changed`,
    `${number(sum('deleted'))} gone`,
  ].join(', ');
  const words = all === 0 ? 'no changes in 24 hours' : `${number(all)} ${plural(all, 'change')} in 24 hours`;
  return (
    <details class="changes" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Sparkline values={totals} label={`Changes by the hour: ${words}`} />
        <span class="note">
          {words}
          {all > 0 && `: ${parts}`}
        </span>
      </summary>
      {isOpen && (
        <Scroll label="Changes by the hour">
          <table>
            <thead>
              <tr>
                <th scope="col">hour</th>
                <th scope="col" class="number">
                  new
                </th>
                <th scope="col" class="number">
                  changed
                </th>
                <th scope="col" class="number">
                  gone
                </th>
              </tr>
            </thead>
            <tbody>
              {changes.toReversed().map(({ hour, inserted, updated, deleted }) => (
                <tr key={hour}>
                  <th scope="row" class="time">
                    {clockTime(Date.parse(hour), zone, 'minute')}{' '}
                    <span class="zone">{zoneName(Date.parse(hour), zone)}</span>
                  </th>
                  <td class="number">{number(inserted)}</td>
                  <td class="number">{number(updated)}</td>
                  <td class="number">{number(deleted)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </details>
  );
}
