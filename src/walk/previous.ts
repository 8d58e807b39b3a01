/** What the walk before this one left behind, and what its first page alone can then settle. */

import type { PageFacts } from './checkpoint.ts';

export type Previous = {
  generatedAt: string | null;
  total: number | null;
  firstPage: string | null;
  /** True where its proof may be renewed by one call; else only all pages prove anything. */
  renewable: boolean;
  /** True where its snapshot was replaced from one page to the next: only anchors can prove anything of such a list. */
  restless: boolean;
};

/** Whether the first page shows that the snapshot proven before still stands: then nothing else is asked for. */
export function isUnchanged(previous: Previous | undefined, page: PageFacts): boolean {
  return (
    previous?.renewable === true &&
    typeof page.generatedAt === 'string' &&
    page.generatedAt === previous.generatedAt &&
    page.pagination.total === previous.total &&
    page.digest === previous.firstPage
  );
}

/** Whether the snapshot was generated before the one that the last walk saw: it says nothing of today. */
export function isOlder(previous: Previous | undefined, page: PageFacts): boolean {
  return Date.parse(page.generatedAt ?? '') < Date.parse(previous?.generatedAt ?? '');
}
