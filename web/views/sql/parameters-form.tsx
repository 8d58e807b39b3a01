/** A field for each parameter of the query. */

import { parametersOf, type Typed, typedValue } from './parameters.ts';

type Props = { sql: string; typed: Typed; changed(typed: Typed): void; run(): void };

export function Parameters({ sql, typed, changed, run }: Props) {
  const names = parametersOf(sql);
  if (names.length === 0) return null;
  return (
    <form
      class="parameters tools"
      aria-label="Parameters"
      onSubmit={(event) => {
        event.preventDefault();
        run();
      }}
    >
      {names.map((name) => (
        <label key={name}>
          <code>:{name}</code>{' '}
          <input
            value={typed[name] ?? ''}
            onInput={(event) => changed({ ...typed, [name]: event.currentTarget.value })}
          />
          <span class="note">{meaningOf(typedValue(typed[name] ?? ''))}</span>
        </label>
      ))}
      {/* Enter in a field runs the query. */}
      <button type="submit" class="unseen" tabIndex={-1}>
        Run
      </button>
    </form>
  );
}

const meaningOf = (value: string | number | null) =>
  value === null ? 'null' : typeof value === 'number' ? 'number' : value === '' ? 'empty text' : 'text';
