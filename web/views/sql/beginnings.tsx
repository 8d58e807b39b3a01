/** Queries to begin with: of each table, and a few that answer what is asked most. */

import type { Schema } from '../../../src/serve/ui/wire.ts';
import { name } from '../../sql.ts';
import { examplesFor } from './examples.ts';

type Props = { tables: Schema['tables']; open(sql: string): void };

const kinds = {
  dataset: 'Datasets',
  history: 'Their past',
  view: 'Views',
  bookkeeping: 'What the mirror noted',
};

export function Tables({ tables, open }: Props) {
  return (
    <details class="menu">
      <summary>Tables</summary>
      <div class="menu-box wide">
        {(Object.keys(kinds) as (keyof typeof kinds)[]).map((kind) => (
          <section key={kind}>
            <h2>{kinds[kind]}</h2>
            <ul>
              {tables
                .filter((table) => table.kind === kind)
                .map(({ name: table, columns }) => (
                  <li key={table}>
                    <details>
                      <summary>
                        {table} <span class="note">{columns.length}</span>
                      </summary>
                      <button
                        type="button"
                        onClick={(event) => {
                          closeMenu(event);
                          open(`SELECT *\nFROM ${plainOrQuoted(table)}\nLIMIT 100`);
                        }}
                      >
                        Open
                      </button>
                      <ul class="columns">
                        {columns.map((column) => (
                          <li key={column.name}>
                            <code>{column.name}</code> <span class="note">{column.type.toLowerCase()}</span>
                          </li>
                        ))}
                      </ul>
                    </details>
                  </li>
                ))}
            </ul>
          </section>
        ))}
      </div>
    </details>
  );
}

export function Examples({ tables, open }: Props) {
  return (
    <details class="menu">
      <summary>Examples</summary>
      <div class="menu-box">
        {examplesFor(tables).map(({ title, sql }) => (
          <button
            key={title}
            type="button"
            onClick={(event) => {
              closeMenu(event);
              open(sql);
            }}
          >
            {title}
          </button>
        ))}
      </div>
    </details>
  );
}

const plainOrQuoted = (table: string) => (/^[a-z_][a-z0-9_]*$/.test(table) ? table : name(table));

function closeMenu(event: Event): void {
  (event.currentTarget as HTMLElement).closest<HTMLDetailsElement>('.menu')?.removeAttribute('open');
}
