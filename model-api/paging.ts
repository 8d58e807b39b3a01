/** Offset paging (specification, "Paging parameters" and StandardPagination). */

export type Paging = { readonly offset: number; readonly limit: number };

export type Pagination = Paging & {
  readonly total: number;
  readonly returned: number;
  readonly hasMore: boolean;
};

const DEFAULT_LIMIT = 50;
const LONGEST_PAGE = 100;

/**
 * The window that a query asks for. Out-of-range values are normalised; text that is no number, of which the
 * specification says nothing, counts as absent.
 */
export function readPaging(query: URLSearchParams): Paging {
  return {
    offset: Math.max(0, wholeNumber(query.get('offset')) ?? 0),
    limit: Math.min(LONGEST_PAGE, Math.max(1, wholeNumber(query.get('limit')) ?? DEFAULT_LIMIT)),
  };
}

export function paginate<T>(all: readonly T[], { offset, limit }: Paging) {
  const rows = all.slice(offset, offset + limit);
  const pagination: Pagination = {
    offset,
    limit,
    total: all.length,
    returned: rows.length,
    hasMore: offset + rows.length < all.length,
  };
  return { rows, pagination };
}

function wholeNumber(text: string | null): number | undefined {
  const number = text === null || text.trim() === '' ? Number.NaN : Math.trunc(Number(text));
  return Number.isNaN(number)
    ? undefined
    : Math.min(Math.max(number, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}
