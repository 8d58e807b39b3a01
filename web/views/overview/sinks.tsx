/** What follows the mirror elsewhere, a database or files: how far each is behind, and what to do. */

import type { Overview, SinkName, SinkStatus } from '../../../src/serve/ui/wire.ts';
import { count, duration } from '../../formats.ts';
import { Ago, Time } from '../../parts/time.tsx';

type Sink = { name: string; docs: string };

const sinks: Readonly<Record<SinkName, Sink>> = {
  ship: { name: 'Postgres', docs: 'docs/ship.md' },
  lake: { name: 'Lake', docs: 'docs/lake.md' },
};

const names = Object.keys(sinks) as SinkName[];

/** Nothing where the daemon has none. */
export function Sinks({ status }: { status: Overview['status'] }) {
  const set = names.flatMap((name) => {
    const lag = status[name];
    return lag === null ? [] : [{ ...sinks[name], lag }];
  });
  if (set.length === 0) return null;
  return (
    <section class="card lines" aria-labelledby="sinks-title">
      <h2 id="sinks-title">Follows the mirror</h2>
      <ul class="lines">
        {set.map(({ name, docs, lag }) => (
          <li key={name} class="lines">
            <p>
              <b>{name}</b> <LagBadge lag={lag} />{' '}
              {lag.changes === 0
                ? 'all changes have arrived'
                : `${count(lag.changes, 'change')} behind, the oldest ${duration(lag.seconds)} old`}
            </p>
            {lag.trouble && (
              <>
                <p>
                  Nothing has arrived since <Time at={lag.trouble.since} exactness="minute" />:{' '}
                  {lag.trouble.message}
                </p>
                <p class="note">
                  → The daemon tries again <Ago at={lag.trouble.nextTry} />, and mirrors meanwhile; {docs}{' '}
                  says what helps.
                </p>
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function LagBadge({ lag: { changes, trouble } }: { lag: SinkStatus }) {
  if (trouble) return <span class="tag warn">! nothing arrives</span>;
  return changes === 0 ? <span class="tag good">up to date</span> : <span class="tag">on its way</span>;
}
