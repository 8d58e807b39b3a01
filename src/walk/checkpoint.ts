/** How far a walk has come, as plain data that is saved with its last page; and the steps that all walks share. */

/** The most rows that a list page may have (specification, Limits). */
export const PAGE_ROWS = 100;

/** What every walk notes, in either mode. */
type Common = {
  /** How many rows lie before those to be read next. */
  offset: number;
  /** How many rows to ask for: fewer where a page was too heavy. And how many such pages have come in a row. */
  pageRows: number;
  lightPages: number;
  /** What did not come: passed over for now, until the page behind it comes. `at` and `anchor` lead back. */
  skipping: { offset: number; rows: number; at: number; anchor: Anchor | null } | null;
  /** Up to this offset the page that cannot be read reaches: the one behind it has come. Null behind it. */
  gapUntil: number | null;
  /** Offsets at which rows were passed over. */
  skipped: readonly number[];
  /** Runs in a row in which the API failed at the next offset. */
  failedRuns: number;
  /** All pages of the walk, and those since it was last reset. */
  pages: number;
  pagesOfPass: number;
  /** How often it was reset to the beginning. */
  restarts: number;
  /** Different keys in this pass, rows that show no key, and rows that the list holds more than once: each time but the first. */
  rows: number;
  unkeyed: number;
  doubled: number;
  /** As the API said last, and at the beginning of this pass. */
  total: number | null;
  totalFirst: number | null;
  /** As the API said at the beginning of the walk, before any reset. */
  totalOfWalk: number | null;
  /** As the last page said; undefined before the first one, and where the envelope has none. */
  generatedAt: string | null | undefined;
  /** Pages in a row that brought no new row. */
  pagesWithoutNewRows: number;
  /** True once the walk has looked behind the end that the API gave, since its `total` named more rows. */
  askedPastEnd: boolean;
  /** Rows new to the mirror, by where this pass found them; known rows behind those at the tail move them elsewhere. */
  newInHead: number;
  newAtTail: number;
  newElsewhere: number;
  /** True once a page ended in rows that the mirror knew: the head lies behind. */
  isPastHead: boolean;
  anomalies: Partial<Record<Anomaly, number>>;
};

/** A pass over one published snapshot, which does not change while it is read. Every walk begins as one. */
export type SnapshotCheckpoint = Common & {
  mode: 'snapshot';
  /** Digest of the first page, by which a later walk sees that nothing changed. */
  firstPage: string | null;
};

/** A pass over a dataset that may change between two pages, which are joined by rows that both show. */
export type AnchoredCheckpoint = Common & {
  mode: 'anchored';
  phase: Phase;
  /** Null to read on without one. */
  anchor: Anchor | null;
  /** How many rows before `offset` the anchor is taken; more than one after steps back. */
  overlap: number;
  /** Steps back, or looks at the head, in this attempt. */
  tries: number;
  stepsBack: number;
  /** While rows are read again, the offset by which new ones must come; else null. */
  rereadUntil: number | null;
  /** The offset behind the last row read, as it was then. Where a later page shows that row further down, rows came in above. */
  endOfRead: number;
  /** Rows that came in above what was read. */
  insertedAbove: number;
  /** `total` when the last row was read. */
  totalBeforeHead: number | null;
  /** Rows first met when the head was read again; those of them that the mirror knew. */
  newAtHead: number;
  knownAtHead: number;
  /** Rows of the longest page so far. */
  longestPage: number;
  /** Whether `generatedAt` changed between two pages of this pass. */
  replaced: boolean;
  /** Pages of the passes before that held to a snapshot. */
  pagesOfSnapshots: number;
};

export type Checkpoint = SnapshotCheckpoint | AnchoredCheckpoint;

type Phase =
  /** Reading forward. */
  | 'rows'
  /** Looking further and further up for a row read before, since the anchor has moved. */
  | 'back'
  /** Reading the beginning again, for rows that came in or moved up meanwhile. */
  | 'head';

/** The last row read that shows a key; it stood `back` rows before `offset`. */
export type Anchor = { key: string; back: number };

/** Everything that can speak against the completeness of a walk. */
export type Anomaly =
  /** The snapshot is older than that of the walk before. */
  | 'backwards'
  /** The response says another offset than was requested. */
  | 'offset'
  /** `returned` is not the number of rows. */
  | 'returned'
  /** A row came again where only new ones can be: it moved, or the order is not the same for each page, which hides others. */
  | 'repeat'
  /** A new row came before one read earlier: the order changed. */
  | 'disorder'
  /** No row read before was found again. */
  | 'lost'
  /** A page too short to be joined to the next: it leaves no row to meet again. */
  | 'unanchored'
  /** Fewer rows came than `total` says there are. */
  | 'total'
  /** More rows came in above what was read than were found there, and the total does not show that they are new. */
  | 'unfound'
  /** New rows kept coming in at the beginning. */
  | 'restless-head'
  /** Neither `hasMore` nor `total` says where the dataset ends; it was read until nothing new came. */
  | 'inferred-end'
  /** Rows were passed over, since their page is too heavy or cannot be read. */
  | 'skipped'
  /** The API refuses an offset behind the first page. */
  | 'refused'
  /** No request leads on. */
  | 'stuck';

const common: Common = {
  offset: 0,
  pageRows: PAGE_ROWS,
  lightPages: 0,
  skipping: null,
  gapUntil: null,
  skipped: [],
  failedRuns: 0,
  pages: 0,
  pagesOfPass: 0,
  restarts: 0,
  rows: 0,
  unkeyed: 0,
  doubled: 0,
  total: null,
  totalFirst: null,
  totalOfWalk: null,
  generatedAt: undefined,
  pagesWithoutNewRows: 0,
  askedPastEnd: false,
  newInHead: 0,
  newAtTail: 0,
  newElsewhere: 0,
  isPastHead: false,
  anomalies: {},
};

/** A request of its own proves that fewer rows a page are enough, so a reset keeps their number. */
export const ofRequests = ({ pageRows, lightPages }: Checkpoint) => ({ pageRows, lightPages });

export const beginning: SnapshotCheckpoint = { ...common, mode: 'snapshot', firstPage: null };

const anchoredBeginning: AnchoredCheckpoint = {
  ...common,
  mode: 'anchored',
  phase: 'rows',
  anchor: null,
  overlap: 1,
  tries: 0,
  stepsBack: 0,
  rereadUntil: null,
  endOfRead: 0,
  insertedAbove: 0,
  totalBeforeHead: null,
  newAtHead: 0,
  knownAtHead: 0,
  longestPage: 0,
  replaced: false,
  pagesOfSnapshots: 0,
};

/** The beginning again, by anchors. */
export function anchored(before: Checkpoint): AnchoredCheckpoint {
  const { pages, restarts, totalOfWalk } = before;
  const { stepsBack, pagesOfSnapshots } =
    before.mode === 'anchored' ? before : { stepsBack: 0, pagesOfSnapshots: pages };
  return {
    ...anchoredBeginning,
    ...ofRequests(before),
    ...{ pages, restarts, totalOfWalk, stepsBack, pagesOfSnapshots },
  };
}

/** The next request: from the anchor on, where there is one. */
export function requestOf(at: Checkpoint): { offset: number; limit: number } {
  const anchor = at.mode === 'anchored' ? at.anchor : null;
  return { offset: at.offset - (anchor?.back ?? 0), limit: at.pageRows };
}

/** What the walk needs to know of a page. */
export type PageFacts = {
  /** The offset that was requested. */
  offset: number;
  /** How many rows came, refused ones included. */
  received: number;
  pagination: {
    offset: number | undefined;
    total: number | undefined;
    returned: number | undefined;
    hasMore: boolean | undefined;
  };
  /** Undefined where the envelope has no such property. */
  generatedAt: string | null | undefined;
  /** The key of each row, in the order of the page; null where a refused row shows none. */
  keys: readonly (string | null)[];
  /** Of each of its keys, whether this pass has met it before. */
  met: readonly boolean[];
  /** Whether the very same row stands further up on this page: the list holds it more than once. Never with a contract. */
  doubled: readonly boolean[];
  /** Whether the mirror had it from a walk that ended well: one that broke off may have left a gap. */
  known: readonly boolean[];
  /** Digest of all that does not change by itself; only of a first page. */
  digest: string | undefined;
};

/** What a page does to the set of rows met: adds its rows, leaves the set (nothing joins the page to it), or clears it (a reset). */
export type MetRowsChange = 'add' | 'skip' | 'clear';

/** The checkpoint behind a page. */
export type Step = {
  checkpoint: Checkpoint;
  /** `stuck`: no request leads on. */
  next: 'go on' | 'end' | 'stuck';
  metRows: MetRowsChange;
  /** How many rows at the beginning of the page stood where rows were read before: they may be the same rows, changed. */
  reread: number;
  /** Whether the page was a look at the head behind the end. */
  isLookAtHead: boolean;
};

export const stepOf = (checkpoint: Checkpoint, next: Step['next'] = 'go on', reread = 0): Step => ({
  checkpoint,
  next,
  metRows: 'add',
  reread,
  isLookAtHead: false,
});

/** The checkpoint, with one more of each anomaly. */
export function withAnomalies<Of extends Checkpoint>(
  checkpoint: Of,
  ...found: (Anomaly | false | undefined)[]
): Of {
  const anomalies = { ...checkpoint.anomalies };
  for (const anomaly of found) if (anomaly) anomalies[anomaly] = (anomalies[anomaly] ?? 0) + 1;
  return { ...checkpoint, anomalies };
}

/** How many rows to advance: `returned`, but no more than came. */
export function advanceOf({ pagination, received }: PageFacts): number {
  return Math.min(pagination.returned ?? received, received);
}

/** How many keys of the page this pass had not met before. */
export function freshRows({ keys, met }: PageFacts): number {
  return new Set(keys.filter((key, at) => key !== null && !met[at])).size;
}

/** How many rows of the page, from position `from`, show no key. */
export function unkeyedRows({ keys }: PageFacts, from = 0): number {
  return keys.slice(from).filter((key) => key === null).length;
}

/** How many rows of the page, from position `from`, stand further up on it, too. */
export function doubledRows({ doubled }: PageFacts, from = 0): number {
  return doubled.slice(from).filter((isDoubled) => isDoubled).length;
}

/** Whether a row, from position `from`, was met on another page. */
export function repeatsOthers({ met, doubled }: PageFacts, from = 0): boolean {
  return met.some((isMet, at) => at >= from && isMet && !doubled[at]);
}

/** Whether all rows in the second half of the page are among `marked`; a row without a key may be any. */
export function endsIn(marked: readonly boolean[], { keys }: PageFacts): boolean {
  const half = Math.floor(keys.length / 2);
  return keys.every((key, at) => at < half || key === null || marked[at]);
}

/** Whether the page is of another snapshot than the one before it in this pass. */
export function isReplaced({ pagesOfPass, generatedAt }: Checkpoint, page: PageFacts): boolean {
  return pagesOfPass > 0 && page.generatedAt !== generatedAt;
}

/** The checkpoint behind a page, as far as any page moves it. */
export function turnPage<Of extends Checkpoint>(before: Of, page: PageFacts): Of {
  const { total = before.total } = page.pagination;
  return {
    ...before,
    failedRuns: 0,
    pages: before.pages + 1,
    pagesOfPass: before.pagesOfPass + 1,
    generatedAt: page.generatedAt,
    total,
    totalFirst: before.totalFirst ?? total,
    totalOfWalk: before.totalOfWalk ?? total,
  };
}

/** Pages in a row that bring no row the walk has not met. */
const MAX_PAGES_WITHOUT_NEW_ROWS = 3;
/** An empty page that promises more is requested once more: it may be a passing fault. */
const MAX_EMPTY_PAGES = 2;

/** Goes on to the next page, unless too many in a row brought nothing new. @param isRereading none of its rows need be new. */
export function goOn(checkpoint: Checkpoint, page: PageFacts, isRereading = false, reread = 0): Step {
  const advance = advanceOf(page);
  if (freshRows(page) > 0 || (isRereading && advance > 0))
    return stepOf({ ...checkpoint, pagesWithoutNewRows: 0 }, 'go on', reread);
  const pagesWithoutNewRows = checkpoint.pagesWithoutNewRows + 1;
  const isStuck = pagesWithoutNewRows >= (advance === 0 ? MAX_EMPTY_PAGES : MAX_PAGES_WITHOUT_NEW_ROWS);
  return isStuck
    ? stepOf(withAnomalies(checkpoint, 'stuck'), 'stuck', reread)
    : stepOf({ ...checkpoint, pagesWithoutNewRows }, 'go on', reread);
}

/** Whether the API calls this the end although its `total` says that more follows. */
export function endsTooEarly({ offset, total }: Checkpoint): boolean {
  return offset < (total ?? 0);
}

/** Asks once for rows behind what the API called the end. */
export function askPastEnd(checkpoint: Checkpoint): Step {
  return stepOf({ ...checkpoint, askedPastEnd: true });
}

/** Back to the beginning, behind a page that does not continue what was read. */
export function reset(to: Checkpoint): Step {
  return { ...stepOf({ ...to, restarts: to.restarts + 1 }), metRows: 'clear' };
}
