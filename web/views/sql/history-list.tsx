/** The queries of this browser, to be opened again or forgotten. */

import { count } from '../../formats.ts';
import { Ago } from '../../parts/time.tsx';
import type { Sql } from '../../sql.ts';
import type { Past } from './history.ts';

type Props = {
  past: readonly Past[];
  open(query: Sql): void;
  /** Not given: all of them. */
  forget(query?: Sql): void;
};

export function History({ past, open, forget }: Props) {
  if (past.length === 0) return null;
  return (
    <details class="past-queries">
      <summary>{count(past.length, 'query').replace(/querys$/, 'queries')} asked before</summary>
      <div class="stack">
        <div class="tools">
          <span class="note">Kept in this browser alone.</span>
          <button type="button" onClick={() => forget()}>
            Forget all
          </button>
        </div>
        <ol>
          {past.map((query) => (
            <li key={query.sql + JSON.stringify(query.params)}>
              <button type="button" class="query" onClick={() => open(query)} title={query.sql}>
                <code>{query.sql.replace(/\s+/g, ' ').trim()}</code>
              </button>
              <span class="note">
                <Ago at={query.ranAt} /> · {query.rows === null ? 'no answer' : count(query.rows, 'row')}
              </span>
              <button type="button" aria-label="Forget this query" onClick={() => forget(query)}>
                ×
              </button>
            </li>
          ))}
        </ol>
      </div>
    </details>
  );
}
