/** How far back each dataset can be shown. */

import { useAnswer, useSchema } from '../../asking.ts';
import { Time } from '../time.tsx';

const FIRST_WALKS = `SELECT job, (SELECT started_at FROM walks WHERE walks.job = datasets.job ORDER BY id LIMIT 1)
FROM datasets ORDER BY job`;

export function Reach() {
  const { value: schema } = useSchema();
  const { value: first } = useAnswer({ sql: FIRST_WALKS, limit: 1_000 });
  if (!schema || !first) return <p class="note">How far back it reaches is looked up…</p>;
  const dropped = Object.entries(schema.historyFrom).filter(([, from]) => from !== null);
  const begun = first.rows.map(([, at]) => at).filter((at) => typeof at === 'string');
  const earliest = begun.toSorted()[0];
  return (
    <div class="note reach">
      {earliest === undefined ? (
        <p>Nothing was mirrored yet: there is no past.</p>
      ) : (
        <p>
          The past reaches back to the first walk that is known of, <Time at={earliest} exactness="minute" />
          {dropped.length > 0 && '; but older versions of rows were dropped:'}
        </p>
      )}
      <ul>
        {dropped.map(([job, from]) => (
          <li key={job}>
            {job} can be shown from <Time at={from ?? ''} exactness="minute" /> on
          </li>
        ))}
      </ul>
    </div>
  );
}
