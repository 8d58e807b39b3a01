/** What the mirror knows of a dataset: what a walk and a glance cost, how often it changes, and where new rows stand. */

import { type Connection, quoted } from '../store/read.ts';

export type Facts = {
  rows: number;
  /** Calls of a walk that reads the dataset whole, and of one that finds it unchanged; null where none has ended. */
  calls: { changed: number; unchanged: number } | null;
  /** Calls of a glance, in the mean of the last ones. */
  glanceCalls: number;
  head: Head;
  /** The latest walks that were compared with the one before them; null where there is none yet. */
  observed: Observed | null;
};

export type Observed = {
  walks: number;
  /** Those that changed rows. */
  changed: number;
  /** Those that had to read the dataset whole, where one call may do. */
  whole: number;
};

export type Head = {
  /** Full walks that were learnt from. */
  walks: number;
  /** Rows that were new, and of them those that stood in the head. */
  new: number;
  inHead: number;
  /** Whether glances are worth their calls. */
  useful: boolean;
  /**
   * `in-head`: most new rows stood there. `elsewhere`: they did not. `few-rows`, `few-walks`: too little was seen yet.
   * `published`: it is published as a whole, and one call shows whether it changed.
   */
  why: 'in-head' | 'elsewhere' | 'few-rows' | 'few-walks' | 'published';
};

/** A complete walk, as `walks` has it. */
export type Walk = {
  calls: number;
  pages: number;
  verdict: string;
  /** Rows that glances had brought since the walk before, which stood in the head; and where those stood that it brought itself. */
  glanced: number;
  newInHead: number;
  newAtTail: number;
  newElsewhere: number;
  isWhole: 0 | 1;
  /** Of a published snapshot: it names one, and proves it or nothing. */
  isPublished: 0 | 1;
  hasChanged: 0 | 1;
};

/** More would make `status` slow. */
const WALKS = 20;
/** The calls of a walk are the median of the latest: one that went wrong does not count. */
const WALKS_OF_MEDIAN = 5;
const MAX_GLANCES = 20;
const LEAST_WALKS = 3;
const LEAST_NEW = 5;
const LEAST_IN_HEAD = 1 / 2;

export function readFacts(connection: Connection, job: string, table: string): Facts {
  const walks = connection
    .prepare<{ job: string; walks: number }, Walk>(
      // Behind many renewals in a row, the walk that they renew says what a whole one costs.
      `WITH latest AS (SELECT id, renewal_of FROM walks WHERE job = :job AND kind = 'walk' AND status = 'complete'
         ORDER BY id DESC LIMIT :walks)
       SELECT api_calls AS calls, pages, verdict, glanced, new_in_head AS newInHead, new_at_tail AS newAtTail,
         new_elsewhere AS newElsewhere, renewal_of IS NULL AS isWhole,
         verdict = 'snapshot' OR verdict = 'union' AND generated_at IS NOT NULL AS isPublished,
         inserted + updated + deleted > 0 AS hasChanged
       FROM walks WHERE id IN (SELECT id FROM latest UNION SELECT renewal_of FROM latest) ORDER BY id DESC`,
    )
    .all({ job, walks: WALKS });
  const glanceCalls = connection
    .prepare<[string, number], number | null>(
      `SELECT avg(api_calls) FROM (SELECT api_calls FROM walks
       WHERE job = ? AND kind = 'glance' AND status = 'complete' ORDER BY id DESC LIMIT ?)`,
    )
    .pluck();
  const rows = connection.prepare<[], number>(`SELECT count(*) FROM ${quoted(table)}`).pluck();
  return {
    ...learn(walks),
    calls: callsOf(walks) ?? callsByTotal(connection, job),
    glanceCalls: glanceCalls.get(job, MAX_GLANCES) ?? 1,
    rows: rows.get() ?? 0,
  };
}

/** @param walks the latest first; the earliest has none before it to be compared with. */
export function learn(walks: readonly Walk[]): Pick<Facts, 'head' | 'observed'> {
  const compared = walks.slice(0, -1);
  const count = (is: (walk: Walk) => number) => compared.reduce((sum, walk) => sum + is(walk), 0);
  return {
    head: learnHead(walks.filter(({ isWhole }) => isWhole)),
    observed:
      compared.length === 0
        ? null
        : {
            walks: compared.length,
            changed: count(({ hasChanged }) => hasChanged),
            whole: count(({ isWhole }) => isWhole),
          },
  };
}

function learnHead(whole: readonly Walk[]): Head {
  let [all, inHead] = [0, 0];
  for (const { glanced, newInHead, newAtTail, newElsewhere } of whole) {
    inHead += glanced + newInHead;
    all += glanced + newInHead + newAtTail + newElsewhere;
  }
  const why = judge(whole, all, inHead);
  return { walks: whole.length, new: all, inHead, useful: why === 'in-head', why };
}

function judge(whole: readonly Walk[], all: number, inHead: number): Head['why'] {
  if (whole[0]?.isPublished) return 'published';
  if (whole.length < LEAST_WALKS) return 'few-walks';
  if (all < LEAST_NEW) return 'few-rows';
  return inHead >= LEAST_IN_HEAD * all ? 'in-head' : 'elsewhere';
}

function callsOf(walks: readonly Walk[]): Facts['calls'] {
  const latest = walks.filter(({ isWhole }) => isWhole).slice(0, WALKS_OF_MEDIAN);
  const [last] = latest;
  if (!last) return null;
  const calls = latest.map((walk) => walk.calls).sort((one, other) => one - other);
  const changed = calls[Math.floor(calls.length / 2)] ?? last.calls;
  return { changed, unchanged: last.verdict === 'snapshot' && last.pages > 1 ? 1 : changed };
}

/** Where no walk has ended yet, an unfinished one may have seen the total. */
function callsByTotal(connection: Connection, job: string): Facts['calls'] {
  const calls = connection
    .prepare<[string], number | null>(
      `SELECT ceil(1.0 * total * pages / rows) FROM walks
       WHERE job = ? AND kind = 'walk' AND total > 0 AND rows > 0 ORDER BY id DESC LIMIT 1`,
    )
    .pluck()
    .get(job);
  return calls ? { changed: calls, unchanged: calls } : null;
}
