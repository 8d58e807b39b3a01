/** Where the field that a filter is named after lies in a row. */

import type { Connection } from '../../store/read.ts';

/** Paths of names, the first choice first: its own member, what is shown as its column, and the same of its plural. */
export function openPlaces(connection: Connection): (job: string, name: string) => string[][] {
  const pathOf = connection
    .prepare<[string, string], string>('SELECT path FROM fields WHERE job = ? AND "column" = ?')
    .pluck();
  return (job, filter) =>
    [filter, pluralOf(filter)].flatMap((name) => {
      const path = pathOf.get(job, name);
      return [[name], ...(path === undefined ? [] : [namesIn(path)])];
    });
}

/** The names that a path such as `$.market."base asset"` leads through. */
function namesIn(path: string): string[] {
  return [...path.matchAll(/\.(\w+|"(?:[^"\\]|\\.)*")/g)].map(([, name = '']) =>
    name.startsWith('"') ? (JSON.parse(name) as string) : name,
  );
}

function pluralOf(name: string): string {
  if (/[^aeiou]y$/.test(name)) return name.replace(/y$/, 'ies');
  return /(s|x|z|ch|sh)$/.test(name) ? `${name}es` : `${name}s`;
}
