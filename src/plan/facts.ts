/** What the mirror knows of a dataset: what a walk and a glance cost, how often it changes, and where new rows stand. */

import { DAY_MS, HOUR_MS, isoTime } from '../clock.ts';
import { type Connection, quoted } from '../store/read.ts';

export type Facts = {
  rows: number;
  /** Calls of a walk that reads the dataset whole, and of one that finds it unchanged; null where none has ended. */
  calls: { changed: number; unchanged: number } | null;
  /** Calls of a glance; those of the shortest where there was none yet. */
  glanceCalls: number;
  /** What was learnt of its head, and how well glances did. */
  head: Head;
  graded: Grade | null;
  /** Walks that were compared with the one before them; null where there is none yet. */
  observed: Observed | null;
  /** Milliseconds of one call; null where none was made lately. */
  callMs: number | null;
};

/** Of the rows that were new between two walks, those that glances had brought. */
export type Grade = { brought: number; of: number };

export type Observed = {
  walks: number;
  /** Those that changed rows. */
  changed: number;
  /** Those that had to read the dataset whole, where one call may do. */
  whole: number;
  since: string;
  /** How often a walk has to read it whole, by these. */
  perDay: number;
};

/** A complete walk, as `walks` has it. */
export type Walk = {
  id: number;
  /** ISO 8601 UTC. */
  startedAt: string;
  pages: number;
  calls: number;
  verdict: string;
  inserted: number;
  /** Rows that glances had brought since the walk before. */
  glanced: number;
  /** Where rows stood that were new to the mirror. */
  newInHead: number;
  newAtTail: number;
  newElsewhere: number;
  isWhole: 0 | 1;
  /** Of a published snapshot: it names one, and proves it or nothing. */
  isPublished: 0 | 1;
  hasChanged: 0 | 1;
};

/** What a walk that read the dataset whole teaches of its head. */
export type FullWalk = Pick<Walk, 'startedAt' | 'newInHead' | 'newAtTail' | 'newElsewhere' | 'glanced'>;

const OBSERVED_MS = 7 * DAY_MS;
/** The walks among so many of the latest runs (walks and glances), and at least so many walks. More would make `status` slow. */
const LEARNT_FROM = { runs: 200, walks: 20 };
/** The time of a call is the mean of the latest: the calls of a whole day would make `status` slow. */
const LATEST_CALLS = 200;
/** The calls of a walk are the median of the latest: one that went wrong does not count. */
const WALKS_OF_MEDIAN = 5;
/** A glance costs the mean of the latest. */
export const MAX_GLANCES = 20;
const SHORTEST_GLANCE = 1;
/** Once a day a dataset is read whole, whatever one call says. */
const LEAST_WHOLE_PER_DAY = 1;

export function readFacts(connection: Connection, job: string, table: string, now: number): Facts {
  const isWalk = `job = :job AND kind = 'walk' AND status = 'complete'`;
  const walks = connection
    .prepare<[{ job: string; runs: number; walks: number }], Walk>(
      `SELECT id, started_at AS startedAt, pages, api_calls AS calls, verdict, inserted, glanced,
         new_in_head AS newInHead, new_at_tail AS newAtTail, new_elsewhere AS newElsewhere, renewal_of IS NULL AS isWhole,
         verdict = 'snapshot' OR verdict = 'union' AND generated_at IS NOT NULL AS isPublished, inserted + updated + deleted > 0 AS hasChanged
       FROM walks WHERE ${isWalk} AND id >= min(
         ifnull((SELECT id FROM walks WHERE job = :job ORDER BY id DESC LIMIT 1 OFFSET :runs - 1), 0),
         ifnull((SELECT id FROM walks WHERE ${isWalk} ORDER BY id DESC LIMIT 1 OFFSET :walks - 1), 0))
       ORDER BY id DESC`,
    )
    .all({ job, ...LEARNT_FROM });
  const glances = readGlances(connection, job, {
    since: walks[LEARNT_FROM.walks - 1]?.id ?? 0,
    lastWalk: walks.find(({ isWhole }) => isWhole)?.id ?? 0,
  });
  const learnt = learn(walks, glances, now);
  return {
    ...learnt,
    rows:
      connection
        .prepare<[], number>(`SELECT count(*) FROM ${quoted(table)}`)
        .pluck()
        .get() ?? 0,
    calls: learnt.calls ?? callsByTotal(connection, job),
    callMs: readCallMs(connection, job, now),
  };
}

/** @param walks the latest first. */
export function learn(walks: readonly Walk[], glances: Glances, now: number): Omit<Facts, 'rows' | 'callMs'> {
  const whole = walks.filter(({ isWhole }) => isWhole);
  const [since, until] = [isoTime(now - OBSERVED_MS), isoTime(now)];
  return {
    calls: callsOf(whole),
    glanceCalls: glances.calls ?? SHORTEST_GLANCE,
    head: learnHead(whole.toReversed(), glances.brought, whole[0]?.isPublished === 1),
    graded: gradeGlances(whole, glances),
    observed: observe(walks.filter(({ startedAt }) => startedAt >= since && startedAt <= until)),
  };
}

function callsOf(whole: Walk[]): Facts['calls'] {
  const latest = whole.slice(0, WALKS_OF_MEDIAN);
  const [last] = latest;
  if (!last) return null;
  const calls = latest.map((walk) => walk.calls).sort((one, other) => one - other);
  const changed = calls[Math.floor(calls.length / 2)] ?? last.calls;
  const oneWillDo = last.verdict === 'snapshot' && last.pages > 1;
  return { changed, unchanged: oneWillDo ? 1 : changed };
}

type Glances = {
  /** Calls of one, in the mean; null where there was none. */
  calls: number | null;
  /** Rows that they have brought since the last walk. */
  brought: number;
  /** The id of the last one before that walk; 0 where there was none. */
  lastBefore: number;
};

/** @param of the walk to look back to, and the last full walk. */
function readGlances(connection: Connection, job: string, of: { since: number; lastWalk: number }): Glances {
  const glances = `FROM walks WHERE job = :job AND id > :since AND kind = 'glance' AND status = 'complete'`;
  return connection
    .prepare<[typeof of & { job: string; most: number }], Glances>(
      `SELECT
         (SELECT avg(api_calls) FROM (SELECT api_calls ${glances} ORDER BY id DESC LIMIT :most)) AS calls,
         (SELECT ifnull(sum(inserted), 0) ${glances} AND id > :lastWalk) AS brought,
         (SELECT ifnull(max(id), 0) ${glances} AND id < :lastWalk) AS lastBefore`,
    )
    .get({ job, ...of, most: MAX_GLANCES }) as Glances;
}

/** Of the last walk that glances preceded: its new rows, and how many of these the glances had brought. */
function gradeGlances(whole: readonly Walk[], { lastBefore }: Glances): Grade | null {
  if (lastBefore === 0) return null;
  const graded = whole.findLast(({ id }) => id > lastBefore);
  return graded ? { brought: graded.glanced, of: graded.inserted + graded.glanced } : null;
}

/** Where no walk has ended yet, an unfinished one may have seen the total. */
function callsByTotal(connection: Connection, job: string): Facts['calls'] {
  const calls = connection
    .prepare<[string, number], number | null>(
      `SELECT ceil(1.0 * total * pages / rows)
       FROM (SELECT id, total, pages, rows FROM walks WHERE job = ? AND kind = 'walk' ORDER BY id DESC LIMIT ?)
       WHERE total > 0 AND rows > 0 ORDER BY id DESC LIMIT 1`,
    )
    .pluck()
    .get(job, LEARNT_FROM.runs);
  return calls ? { changed: calls, unchanged: calls } : null;
}

/** @param walks the latest first; the earliest has none before it to be compared with. */
function observe(walks: readonly Walk[]): Observed | null {
  const compared = walks.slice(0, -1);
  const [latest, earliest] = [walks[0], walks.at(-1)];
  if (!latest || !earliest || compared.length === 0) return null;
  const count = (is: (walk: Walk) => 0 | 1) => compared.reduce((sum, walk) => sum + is(walk), 0);
  const whole = count((walk) => walk.isWhole);
  const spanMs = Math.max(1, Date.parse(latest.startedAt) - Date.parse(earliest.startedAt));
  return {
    walks: compared.length,
    changed: count((walk) => walk.hasChanged),
    whole,
    since: earliest.startedAt,
    perDay: Math.max(LEAST_WHOLE_PER_DAY, changesBehind(compared.length, whole) * (DAY_MS / spanMs)),
  };
}

/**
 * How often the dataset changed, with changes that no look saw (Cho and Garcia-Molina, Estimating frequency of change, 2003), and
 * half a change more: a dataset that stood still for a minute may not for a day.
 */
function changesBehind(looks: number, changed: number): number {
  return 0.5 - Math.log((looks - changed + 0.5) / (looks + 0.5)) * looks;
}

function readCallMs(connection: Connection, job: string, now: number): number | null {
  return (
    connection
      .prepare<[number, string, string], number | null>(
        `SELECT avg(ms) FROM (SELECT job, at, status, ms FROM requests ORDER BY id DESC LIMIT ?)
         WHERE job = ? AND at >= ? AND status = 200`,
      )
      .pluck()
      .get(LATEST_CALLS, job, isoTime(now - DAY_MS)) ?? null
  );
}

export type Head = {
  /** Full walks that were learnt from. */
  walks: number;
  /** Rows that were new, and of them those that stood in the head; walks of long ago count for less. */
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

/** A walk counts for this part once another came an hour later; for more where it came sooner, since then each finds little. */
const FADE = { to: 0.7, ms: HOUR_MS };
const LEAST_WALKS = 3;
const LEAST_NEW = 5;
const LEAST_IN_HEAD = 1 / 2;

/**
 * @param walks in their order; rows that glances brought stood in front.
 * @param glanced rows that glances have brought since the last of them.
 * @param isPublished whether the last was of a published snapshot.
 */
export function learnHead(walks: readonly FullWalk[], glanced: number, isPublished: boolean): Head {
  let [all, inHead] = [0, 0];
  walks.forEach((walk, at) => {
    const fade = fadeFrom(walks[at - 1] ?? walk, walk);
    all = fade * (all + walk.glanced) + walk.newInHead + walk.newAtTail + walk.newElsewhere;
    inHead = fade * (inHead + walk.glanced) + walk.newInHead;
  });
  all += glanced;
  inHead += glanced;
  const why = judge(walks.length, all, inHead, isPublished);
  return { walks: walks.length, new: all, inHead, useful: why === 'in-head', why };
}

function fadeFrom(before: FullWalk, walk: FullWalk): number {
  const apart = (Date.parse(walk.startedAt) - Date.parse(before.startedAt)) / FADE.ms;
  return FADE.to ** Math.min(1, Math.max(0, apart));
}

function judge(walks: number, all: number, inHead: number, isPublished: boolean): Head['why'] {
  if (isPublished) return 'published';
  if (walks < LEAST_WALKS) return 'few-walks';
  if (all < LEAST_NEW) return 'few-rows';
  return inHead / all >= LEAST_IN_HEAD ? 'in-head' : 'elsewhere';
}
