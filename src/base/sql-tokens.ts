/** The tokens of a text of SQL. Pure: the page shows a field for each parameter by the same rule as the query checks them. */

export type Token = { kind: 'name' | 'text' | 'param' | 'other'; text: string; at: number };

const pattern =
  /(?<gap>\s+|--[^\n]*|\/\*.*?(?:\*\/|$))|(?<text>'(?:[^']|'')*'?)|(?<name>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|[\p{L}_][\p{L}\p{N}_$]*)|(?<param>[:@$][\p{L}\p{N}_]+|\?\d*)|(?<other>\d[\p{L}\p{N}_.]*|.)/gsu;

/** The tokens without white space and comments; `at` counts UTF-16 units from the beginning. */
export function tokenize(sql: string): Token[] {
  const tokens: Token[] = [];
  for (const { groups = {}, 0: text, index: at } of sql.matchAll(pattern)) {
    const kind = (['name', 'text', 'param', 'other'] as const).find((name) => groups[name] !== undefined);
    if (kind) tokens.push({ kind, text, at });
  }
  return tokens;
}

/** A name without its quotes. */
export function unquoted(name: string): string {
  const quote = name[0] ?? '';
  if (quote === '[') return name.slice(1, -1);
  return '"`'.includes(quote) ? name.slice(1, -1).replaceAll(quote + quote, quote) : name;
}

/** The names of the parameters, without `:`, `@` or `$`. */
export function parameterNames(tokens: readonly Token[]): Set<string> {
  return new Set(tokens.filter(({ kind }) => kind === 'param').map(({ text }) => text.slice(1)));
}
