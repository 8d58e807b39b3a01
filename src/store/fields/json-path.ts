/** JSON paths as SQLite's JSON functions read them. */

/** The path of a field, given the names that lead to it; those that are not plain words are quoted, as JSON. */
export function jsonPath(names: readonly string[]): string {
  return names.reduce(
    (around, name) => around + (/^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `.${JSON.stringify(name)}`),
    '$',
  );
}

/** The path of the object around a field; `$` is the row. */
export function pathAround(path: string): string {
  return path.replace(/\.(?:\w+|"(?:[^"\\]|\\.)*")$/, '');
}
