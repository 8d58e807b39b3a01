/** The name of a discovered field's column: as an analyst would write it, without quotes. */

const LONGEST_NAME = 60;
const LONGEST_PART = 100;

/**
 * Snake case, with the names of nested objects joined by `_`. Never begins with `_`, as the bookkeeping columns
 * do, nor with a digit; a word of SQL gets `_` at its end, a name that is taken a number.
 * @param path the names that lead to the field, from the row down.
 * @param taken names in lower case, since SQLite does not tell `Id` from `id`.
 */
export function columnName(path: readonly string[], taken: ReadonlySet<string>): string {
  const parts = path.map(snakeCase).filter(Boolean);
  const joined = [...parts.join('_')].slice(0, LONGEST_NAME).join('').replace(/_+$/, '') || 'field';
  const plain = /^\p{N}/u.test(joined) ? `field_${joined}` : joined;
  const name = reserved.has(plain) ? `${plain}_` : plain;
  for (let count = 1; ; count += 1) {
    const numbered = count === 1 ? name : `${name.replace(/_$/, '')}_${count}`;
    if (!taken.has(numbered)) return numbered;
  }
}

function snakeCase(name: string): string {
  return name
    .slice(0, LONGEST_PART)
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1_$2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, '_')
    .replace(/^_+|_+$/g, '')
    .toLowerCase();
}

/** Words that SQLite does not take as a bare name, and the names of the row number, which they would hide. */
const reserved = new Set(
  (
    'add all alter and as autoincrement between case cast check collate commit constraint create current_date ' +
    'current_time current_timestamp default deferrable delete distinct drop else escape except exists foreign ' +
    'from group having in index insert intersect into is isnull join limit not nothing notnull null on or order ' +
    'primary raise references returning select set table then to transaction union unique update using values ' +
    'when where rowid oid'
  ).split(' '),
);
