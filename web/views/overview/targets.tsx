/** What follows the mirror elsewhere, a database or files: how far each is behind, and what to do. */

import type { Overview, TargetName, TargetStatus } from '../../../src/serve/ui/wire.ts';
import { count, duration } from '../../formats.ts';
import { Ago, Time } from '../../parts/time.tsx';

type Target = { name: string; docs: string };

const targets: Readonly<Record<TargetName, Target>> = {
  ship: { name: 'Postgres', docs: 'docs/ship.md' },
  lake: { name: 'Lake', docs: 'docs/lake.md' },
};

const names = Object.keys(targets) as TargetName[];

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

function Following({ name, docs, lag }: Target & { lag: TargetStatus }) {
  const { changes, seconds, trouble } = lag;
  return (
    <li>
      <p>
        <b>{name}</b> <Standing lag={lag} />{' '}
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

function Standing({ lag: { changes, trouble } }: { lag: TargetStatus }) {
  if (trouble) return <span class="tag warn">! nothing arrives</span>;
  return changes === 0 ? <span class="tag good">up to date</span> : <span class="tag">on its way</span>;
}
