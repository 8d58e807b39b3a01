/** What is said to people, with its times kept apart, so that a page can show them as times. */

/** `at`: ISO 8601 UTC. */
export type Phrase = readonly (string | { readonly at: string })[];

type Part = string | number | { readonly at: string } | Phrase;

const isPhrase = (part: Part): part is Phrase => Array.isArray(part);

/** A template whose parts are texts, times and other phrases. */
export function phrase(texts: readonly string[], ...parts: readonly Part[]): Phrase {
  const joined: (string | { readonly at: string })[] = [];
  const add = (piece: string | { readonly at: string }) => {
    const last = joined.at(-1);
    if (typeof piece === 'string' && typeof last === 'string') joined[joined.length - 1] = last + piece;
    else if (piece !== '') joined.push(piece);
  };
  texts.forEach((text, at) => {
    add(text);
    const part = parts[at] ?? '';
    if (isPhrase(part)) part.forEach(add);
    else add(typeof part === 'number' ? String(part) : part);
  });
  return joined;
}

export const textOf = (said: Phrase): string =>
  said.map((piece) => (typeof piece === 'string' ? piece : piece.at)).join('');
