/** What a call to a list asks for. */

const DEFAULT_LIMIT = 50;
const LONGEST_PAGE = 100;

/** Offset paging (specification, "Paging parameters"). */
export type Paging = { readonly offset: number; readonly limit: number };

/**
 * Values out of range are brought into it. What is no integer in decimal digits, of which the specification says nothing, counts
 * as not given; of a parameter that is repeated the first counts.
 */
export function readPaging(query: URLSearchParams): Paging {
  return {
    offset: Math.max(0, integerOf(query.get('offset')) ?? 0),
    limit: Math.min(LONGEST_PAGE, Math.max(1, integerOf(query.get('limit')) ?? DEFAULT_LIMIT)),
  };
}

/** The moment that is asked for; undefined for the present, `invalid` for what was never an `X-Mirror-Seq`. */
export function readSeq(query: URLSearchParams): number | undefined | 'invalid' {
  const text = query.get('seq');
  if (text === null) return undefined;
  return /^(0|[1-9]\d{0,14})$/.test(text) ? Number(text) : 'invalid';
}

function integerOf(text: string | null): number | undefined {
  if (text === null || !/^[+-]?\d+$/.test(text)) return undefined;
  const number = Number(text);
  return Math.min(Math.max(number, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}
