/**
 * A walk from its opening to its end. One transaction saves what has arrived, a page or a window.
 * - Page by page: its drift and new fields, its rows, its refused rows, which rows of both kinds the walk has met (its list of met rows,
 *   `pages.ts`), and the call. The rows of a page are compared with the table as the page before it left it. A page that makes the walk
 *   restart leaves its rows, but none of them is met.
 * - Then, once: what was found out about the list (`_datasets`), and the walk's own row, with the checkpoint and all else that it needs to
 *   go on (`Memory`).
 *
 * Opening has transactions of its own: the walk's row, and the key that the user says, which rows get at once. Where another key is found,
 * all stored rows get theirs anew (`keys.ts`): before the rows of the first page, or as the walk ends. Aged rows and repeated drift are
 * staged in RAM until the walk ends, restarts or is paused; a kill loses them.
 *
 * A walk ends in one of four ways. What it has written of rows stays in each.
 * - After its last page, in the transaction of that page (`endWithVerdict`). It learns the key and the ages of the list. If it is a proof, rows
 *   that it lacks go or are held, refused rows that it lacks are resolved, and its met rows become the order of the rows. If it has passed
 *   over a gap, or its pages do not add up, it is a `union`, and the list of its met rows goes. A renewal has the verdict of the proof that
 *   it renews, and does nothing else. A dataset that is one response ends with it: nothing goes, and there is no order.
 * - With a gap at its end (`endWithGap`), where the next page never comes, in a transaction of its own: a `union`, which learns as well.
 * - Given up (`giveUp`), where its pages lead nowhere, no row of the first page of a pass fits, or its clock was wrong. It has failed; the
 *   list of its met rows goes. The next walk begins at the first page; the checkpoint stays, since it says how this one ended
 *   (`whatItLeaves`).
 * - Discarded (`discardWalk` in `walks.ts`) by a command. It has failed; the list and the checkpoint go, also that of the walk before: the
 *   next one begins from nothing.
 *
 * A glance has no verdict and learns nothing, and no walk begins from it; one that turns out to have read the whole list is a walk. It is
 * given up where its next page never comes, too, and discarded by a walk that opens. One session of a dataset runs at a time (`lock.ts`): a
 * glance is beside a walk that is paused meanwhile. Then it stays a glance in any case, and the list of its met rows stays for that walk.
 *
 * A pause or a kill ends no walk: the next run resumes it after its last transaction.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Call } from '../api/response.ts';
import { ageOf, HOUR_MS, isoTime } from '../base/clock.ts';
import { Failure, type FailureKind, toError } from '../base/errors.ts';
import type { Job } from '../job.ts';
import {
  type CheckedPage,
  type DiscoveredShape,
  type DriftKind,
  describeKey,
  type FieldPath,
} from '../validate/checked.ts';
import { type MotionOfWalk, motionsOfWalk, noMotion } from '../validate/motion.ts';
import { describeBreach, type Hints, type KnownOfList } from '../validate.ts';
import { beginning, type Checkpoint, type PageFacts, requestOf } from '../walk/checkpoint.ts';
import {
  beginWalk,
  gapEnd,
  type Previous,
  takeStep,
  type WalkEnd,
  type WalkKind,
  type WalkStep,
} from '../walk.ts';
import { callRecorder, troubleReader } from './calls.ts';
import { type Connection, valueIn } from './connection.ts';
import { createDriftLog, type Origin } from './drift.ts';
import { guarded, guardedAll } from './failure.ts';
import { watchFields } from './fields.ts';
import { ensureKeys, keyOfWalk } from './keys.ts';
import type { Twins } from './matching.ts';
import { keepOrder, openWalkPages } from './pages.ts';
import { refusedBy, resolveGone, type TimesRefused } from './quarantine.ts';
import { countHeld, heldRows, retireRows } from './retire.ts';
import { openTable } from './rows.ts';
import type { WalkRow } from './schema.ts';
import { createSequence, lastSeqOf } from './sequence.ts';
import { agesOf, type Findings, keepFindings, readFindings } from './shapes.ts';
import { isProof, quoted } from './sql.ts';
import { type Counts, type PageRow, rowTaker } from './take-rows.ts';
import { ensureAnalystViews } from './views.ts';
import {
  findWalkBefore,
  lastWalk,
  type OpenWalk,
  openWalk,
  pauseWalk,
  prepareWalkUpdate,
  writeEnd,
} from './walks.ts';

/** A page as it arrived: checked, with the offset that it was requested from. */
export type ArrivedPage = {
  page: CheckedPage;
  offset: number;
  /** Without ages and volatile values; only of a first page. */
  digest: string | undefined;
  call: Call;
};

/** What was saved: how many of the pages, and whether the walk has ended. */
export type Saved = { counts: Counts; pages: number; isEnded: boolean };

/** What a walk needs to go on, beside the list of its met rows: its column `memory`, written by each transaction. */
type Memory = {
  checkpoint: Checkpoint;
  /** The greatest number of a row when the walk began: rows with greater ones were new to the mirror. */
  newAbove: number;
  /** Numbers of rows that were new where rows were read again: each may be an earlier one, changed. */
  newWhereReread: number[];
  /** Rows that lack the field of the key: they go by their digests. */
  withoutKeyField: number;
  /** Up to where the list was read, and how many of its places showed a row that was new to the mirror. */
  places: { to: number; withNew: number };
  twins: Twins;
  motion: MotionOfWalk;
  /** Rows that were refused before the walk began anew. */
  refusedBefore: TimesRefused;
};

export type WalkSession = ReturnType<typeof createSession>;

type SessionParts = {
  connection: Connection;
  dir: string;
  job: Job;
  kind: WalkKind;
  /** What the user says of a list without a contract. */
  hints: Hints;
  now: () => number;
  /** Throws where the opened file is no longer the mirror: no walk ends in a lost file. */
  check: () => void;
};

export function openSession(parts: SessionParts): WalkSession {
  const { connection, dir, job, kind, now } = parts;
  const walk = openWalk(connection, dir, job, kind, now());
  try {
    const session = createSession(walk, parts);
    if (ageOf(Date.parse(walk.row.startedAt), now()) !== null) return session;
    // Nobody could tell as of when it proves anything.
    session.giveUp('incomplete', 'it began under a clock that was ahead: the next walk begins anew');
  } catch (thrown) {
    walk.lock.release();
    throw thrown;
  }
  walk.lock.release();
  return openSession(parts);
}

function createSession(walk: OpenWalk, { connection, hints, now, check }: SessionParts) {
  const { job } = walk;
  const walkRow: WalkRow = walk.row;
  const countCalls = callCounter(connection, walkRow);
  const file = connection.name;
  const atomically = connection.transaction((work: () => unknown) => work()).immediate;
  const walkBefore = findWalkBefore(connection, job.name);
  const previous = walkBefore && whatItLeaves(connection, walkRow, job, walkBefore, now());
  const memory = readMemory(walkRow) ?? newMemory(connection, job, previous);
  let keptFindings = readFindings(connection, job.name);
  let findings = keptFindings;
  atomically(() => {
    findings = openFindings(connection, job, findings, hints, memory.checkpoint, now());
    keepFound();
  });
  const pages = openWalkPages(connection, walkRow.id);
  const ages = agesOf(findings);
  const table = openTable(connection, job, ages);
  const driftLog = createDriftLog(connection, job.name);
  const fields = job.contract ? undefined : watchFields(connection, job, walkRow.id, driftLog);
  const recordCall = callRecorder(connection);
  const readTrouble = troubleReader(connection, job.path, walkRow.id);
  const nextSeq = createSequence(connection);
  const saveWalk = prepareWalkUpdate(connection, savedColumns);
  // Apart, so that a walk that changes nothing does not write the index of `last_seq`.
  const saveSeqs = prepareWalkUpdate(connection, ['firstSeq', 'lastSeq']);
  let failure: { thrown: unknown } | undefined;
  /** Of the transaction that is open: what it did, and its `seq`. */
  let counts = noCounts();
  let seqNow: number | undefined;
  /** Numbers of the rows that have changed under it. */
  const changed = new Set<number>();
  const takeRows = rowTaker(
    connection,
    job,
    { id: walkRow.id, sinceComplete: walk.sinceComplete, memory },
    { table, pages, leftOut: [...ages, ...findings.shape.leftOut] },
    { count, takeSeq, changed: (number) => void changed.add(number) },
  );

  /** Runs one transaction. After one failure it always throws that error: what is in memory no longer matches the database. */
  function commit<T>(work: () => T): T {
    if (failure) throw failure.thrown;
    const { lastSeq } = walkRow;
    [counts, seqNow] = [noCounts(), undefined];
    try {
      return atomically(() => {
        const result = work();
        if (walkRow.finishedAt === null) {
          walkRow.memory = keptMemory(memory);
          saveWalk(walkRow);
          if (walkRow.lastSeq !== lastSeq) saveSeqs(walkRow);
        }
        return result;
      }) as T;
    } catch (thrown) {
      failure = { thrown };
      throw thrown;
    }
  }

  function count(what: keyof Counts, times = 1): void {
    counts[what] += times;
    walkRow[what] += times;
  }

  /**
   * Takes the `seq` of this transaction with its first change. Where a row changes once more that it has written already, it takes
   * another: what stood in between is a version, too.
   * @returns it as the time that changed rows get.
   */
  function takeSeq(number?: number): string {
    const isAnother = seqNow === undefined || (number !== undefined && changed.has(number));
    const seq = isAnother ? takeAnotherSeq() : (seqNow as number);
    walkRow.firstSeq ??= seq;
    walkRow.lastSeq = seq;
    return isoTime(seq);
  }

  /** Takes the next `seq`, for what changes from now on. */
  function takeAnotherSeq(): number {
    changed.clear();
    seqNow = nextSeq(job.name, now());
    return seqNow;
  }

  function note(kind: DriftKind, path: string, detail: string, origin: Origin, times = 1): void {
    driftLog.note({ kind, path, detail, times }, origin);
    count('drifted', times);
  }

  /** Saves one page, and takes the walk's step. */
  function savePage({ page, offset, digest, call }: ArrivedPage): WalkStep {
    const { checkpoint } = memory;
    const origin: Origin = {
      job: job.name,
      walkId: walkRow.id,
      requestId: call.requestId,
      now: isoTime(now()),
    };
    if (checkpoint.pages === 0) walkRow.startedAt = call.at;
    if (page.shape) adoptShape(page.shape);
    count('drifted', fields?.note(page.fields, origin) ?? 0);
    for (const { kind, path, detail, times } of page.drifts) note(kind, path, detail, origin, times);
    const isPublished = isOfSameSnapshot(checkpoint, page);
    const { pageRows: rows, contradicted } = takeRows(page, findings.shape, isPublished, origin);
    for (const key of contradicted) contradictKey(key, origin);
    const facts: PageFacts = {
      ...{ offset, digest, received: page.received },
      ...{ pagination: page.pagination, generatedAt: page.generatedAt },
      keys: rows.map(({ key }) => key),
      met: rows.map(({ isMet }) => isMet),
      doubled: rows.map(({ isDoubled }) => isDoubled),
      known: rows.map(({ isKnown }) => isKnown),
    };
    const step = job.reading === 'response' ? onlyStep : takeStep(checkpoint, facts, previous, walkRow.kind);
    meetRows(step, page, rows, offset);
    recordCall(call);
    memory.checkpoint = step.checkpoint;
    Object.assign(walkRow, columnsOf(step.checkpoint, walkRow), {
      apiCalls: walkRow.apiCalls + 1,
      distinctKeys: pages.size,
    });
    return step;
  }

  /** What the first page shows of the list: where its rows are, and a key that is believed at once. */
  function adoptShape({ place, key, hasLookedForKey }: DiscoveredShape): void {
    const { shape } = findings;
    const isFirst = hasLookedForKey && !shape.hasLookedForKey;
    if (!isFirst && shape.runsWithoutPlace === 0 && isDeepStrictEqual(shape.place, place)) return;
    const adopted = { ...shape, place, runsWithoutPlace: 0 };
    findings = {
      ...findings,
      shape: isFirst
        ? ensureKeys(connection, job, shape, { ...adopted, key, hasLookedForKey }, ages, takeAnotherSeq)
        : adopted,
    };
  }

  function keepFound(): void {
    if (findings === keptFindings || isDeepStrictEqual(findings, keptFindings)) return;
    keepFindings(connection, job.name, findings);
    // Changes of ages are no lines of `<table>_changes`.
    if (!isDeepStrictEqual(agesOf(findings), agesOf(keptFindings))) ensureAnalystViews(connection, job);
    keptFindings = findings;
  }

  function contradictKey(key: string, origin: Origin): void {
    const { shape } = findings;
    findings = { ...findings, shape: { ...shape, isKeyContradicted: true } };
    const shown = key.slice(0, SHOWN_CHARACTERS).toWellFormed();
    note('contradicted-key', describeKey(shape.key ?? []), `two rows share ${shown}`, origin);
  }

  function meetRows(
    { metRows, reread, isLookAtHead }: WalkStep,
    page: CheckedPage,
    rows: readonly PageRow[],
    offset: number,
  ) {
    if (metRows === 'clear') {
      pages.clear(job.name);
      // The next pass compares with what this one has read last.
      writeStaged();
      [memory.newWhereReread, memory.withoutKeyField, memory.places] = [[], 0, { to: 0, withNew: 0 }];
      memory.refusedBefore = refusedBy(connection, job.name, walkRow.id);
    }
    // No response ever goes, and responses have no order.
    if (metRows !== 'add' || job.reading === 'response') return;
    const numbers = rows.map(({ number }) => number);
    const fresh = isLookAtHead ? pages.addLook(numbers) : pages.add(numbers);
    memory.withoutKeyField += page.withoutKeyField;
    if (job.contract) return;
    const unread = rows.slice(Math.max(0, memory.places.to - offset));
    memory.places = {
      to: Math.max(memory.places.to, offset + rows.length),
      withNew: memory.places.withNew + unread.filter(isNew).length,
    };
    const again = new Set(isLookAtHead ? numbers : numbers.slice(0, reread));
    memory.newWhereReread.push(...fresh.filter((number) => number > memory.newAbove && again.has(number)));
  }

  const isNew = ({ number, isDoubled }: PageRow) => number > memory.newAbove && !isDoubled;

  /** Ends the walk: in the transaction of its last page or, with a gap, in one of its own. */
  function endWithVerdict({ verdict: found, doubts, gaps, isRenewal }: WalkEnd): void {
    // Beside an unfinished walk, a glance that read everything proves nothing: only that walk may hold or remove rows.
    const verdict = walk.isBesideWalk ? null : found;
    // A glance that read everything is a walk.
    const kind = verdict === null ? 'glance' : 'walk';
    const isOfList = kind === 'walk' && !isRenewal && job.reading === 'list';
    const proof = isOfList && isProof(verdict) ? (verdict as 'snapshot' | 'verified') : undefined;
    table.writeStaged();
    if (isOfList) learnOfList(proof !== undefined);
    const order = proof ? prove(proof) : {};
    walkRow.distinctKeys = pages.size;
    // What was not read may have them.
    if (isOfList && !gaps) count('drifted', fields?.noteVanished() ?? 0);
    driftLog.flush();
    if (proof) resolveGone(connection, walkRow, memory.refusedBefore, isoTime(now()));
    end({
      ...{ kind, verdict, status: 'complete', errorKind: null },
      error: [gaps, doubts && `the pages do not add up: ${doubts}`].filter(Boolean).join('; ') || null,
      glanced: kind === 'walk' ? rowsGlanced(connection, walkRow) : 0,
      ...(isRenewal && walkBefore && { renewalOf: walkBefore.id }),
      ...order,
    });
  }

  /** What a walk says of the list: which fields are ages and, without a contract, where its rows are, and its key. */
  function learnOfList(isProven: boolean): void {
    const origin: Origin = { job: job.name, walkId: walkRow.id, requestId: null, now: isoTime(now()) };
    const { shape } = findings;
    const motions = motionsOfWalk(findings.motions, memory.motion);
    const agesNow = agesOf({ shape, motions });
    for (const path of agesNow)
      if (!ages.some((age) => age.join('.') === path.join('.')))
        note('moving-field', path.join('.'), 'kept current, makes no version', origin);
    findings = { shape: job.contract ? shape : shapeOfWalk(shape, agesNow, isProven, origin), motions };
    keepFound();
  }

  function shapeOfWalk(
    shape: DiscoveredShape,
    agesNow: readonly FieldPath[],
    isProven: boolean,
    origin: Origin,
  ): DiscoveredShape {
    const met = {
      ...{ walkId: walkRow.id, pages, newAbove: memory.newAbove, withoutKeyField: memory.withoutKeyField },
      ...{ newWhereReread: new Set(memory.newWhereReread), places: memory.places, cameIn: cameInOf(memory) },
    };
    const isPlaceProven = shape.isPlaceProven || (isProven && pages.size > 0);
    const twins = [...memory.twins].map(([key, digests]) => [key, digests] as const);
    const found = keyOfWalk(
      connection,
      job,
      { ...shape, isPlaceProven, twins },
      met,
      hints.key !== undefined,
    );
    const [before, after] = [shape, found].map(({ key }) => describeKey(key ?? []));
    if (before && before !== after)
      note('new-key', after || 'a digest of the row', `${before} before`, origin);
    return ensureKeys(connection, job, shape, found, agesNow, takeAnotherSeq, met);
  }

  /** Removes or holds the rows that the proof lacks, lists the held ones, too, and makes its pages the order of the rows. */
  function prove(verdict: 'snapshot' | 'verified'): Partial<WalkRow> {
    pages.addGlanced(job.name);
    const proof = {
      ...{ walkId: walkRow.id, verdict, met: pages.size },
      hasUnkeyed: memory.checkpoint.unkeyed > 0 || memory.withoutKeyField > 0,
    };
    const { deleted, held } = retireRows(connection, job, proof, takeSeq, endTime);
    walkRow.deleted += deleted;
    walkRow.held = held;
    pages.addHeld(heldRows(connection, job));
    return keepOrder(connection, job, walkRow, verdict, now());
  }

  /** When it ends. The last change may be ahead of a clock that stands still or goes back; no two walks end at once. */
  function endTime(): string {
    const last = valueIn<string>(connection, 'SELECT max(finished_at) FROM walks WHERE job = ?', job.name);
    return isoTime(Math.max(now(), lastSeqOf(connection), last === undefined ? 0 : Date.parse(last) + 1));
  }

  function end(ending: Partial<WalkRow>): void {
    check();
    walkRow.memory = keptMemory(memory);
    Object.assign(walkRow, { finishedAt: endTime() }, ending);
    writeEnd(connection, walk, { ...walkRow, ...ending }, walkBefore);
  }

  function writeStaged(): void {
    table.writeStaged();
    driftLog.flush();
  }

  /** Gives the walk up: the next run begins a new one. */
  function giveUp(errorKind: FailureKind, error: string): void {
    writeStaged();
    end({ status: 'failed', errorKind, error });
  }

  return {
    /** The walk's row; changes with every transaction. */
    row: walkRow as Readonly<WalkRow>,
    /** What is known of a list without a contract, and what the user says of it. */
    get known(): KnownOfList {
      return { shape: findings.shape, hints };
    },
    ages: ages as readonly FieldPath[],
    /** Where the walk goes on. */
    get checkpoint(): Checkpoint {
      return memory.checkpoint;
    },
    ...guardedAll(file, {
      /**
       * Saves what has arrived, in its order. A page that is not the next one, or that comes behind the end, is not saved: its call is
       * recorded.
       * @throws Failure for a walk that no request leads on, or where no row of the first page of a pass fits; its pages are saved.
       */
      save(arrived: readonly ArrivedPage[]): Saved {
        let givenUp: Failure | undefined;
        const result = commit(() => {
          let used = 0;
          for (const one of arrived) {
            if (walkRow.finishedAt !== null || one.offset !== requestOf(memory.checkpoint).offset) {
              recordCall(one.call);
              continue;
            }
            const step = savePage(one);
            used += 1;
            givenUp = whyItFails(job, one.page, step);
            if (givenUp) giveUp(givenUp.kind, givenUp.message);
            else if (step.end) endWithVerdict(step.end);
          }
          // What a page looked like that breaks the contract is not believed.
          if (givenUp?.kind !== 'contract') keepFound();
          return { counts, pages: used, isEnded: walkRow.finishedAt !== null };
        });
        if (givenUp) throw givenUp;
        return result;
      },
      /** Why the next page has not come. */
      trouble: () => readTrouble(requestOf(memory.checkpoint)),
      /** Keeps another checkpoint, to which no page led: the next request is another one. */
      detour(checkpoint: Checkpoint): void {
        commit(() => {
          memory.checkpoint = checkpoint;
          Object.assign(walkRow, columnsOf(checkpoint, walkRow));
        });
      },
      /** Ends a walk, no glance, as a `union`, since the next page never comes: what came is kept, nothing is proved. */
      endWithGap: (why: string) => commit(() => endWithVerdict(gapEnd(memory.checkpoint, why))),
      /** Notes that the rows are no longer where they were: missing in two runs in a row, they are looked for elsewhere. */
      missPlace(): void {
        commit(() => {
          const { shape } = findings;
          findings = { ...findings, shape: { ...shape, runsWithoutPlace: shape.runsWithoutPlace + 1 } };
          keepFound();
        });
      },
      giveUp(errorKind: FailureKind, error: string): void {
        commit(() => giveUp(errorKind, error));
      },
    }),
    /**
     * Leaves the walk at its last transaction, because of `thrown`; the next run resumes there.
     * @returns `thrown`, or the error of the database. Where even the walk's row cannot be written, nothing else is reported: the
     * cause is mostly the same.
     */
    pause(thrown: Error, stopped: boolean): Error {
      const lost = failureOf(() => {
        if (walkRow.finishedAt === null) guarded(file, () => commit(writeStaged));
      });
      failureOf(() => guarded(file, () => pauseWalk(connection, walk, lost ?? thrown, stopped && !lost)));
      return lost ?? thrown;
    },
    release(): void {
      // Once no call is in flight. Where this cannot be written, the work has met the same error.
      failureOf(() => guarded(file, countCalls));
      walk.lock.release();
    },
  };
}

/** Returns what counts all calls of this session as calls of the walk: pages bring theirs along, those without one come here. */
function callCounter(connection: Connection, row: WalkRow): () => void {
  const before = { calls: row.apiCalls, id: valueIn(connection, 'SELECT max(id) FROM requests') ?? 0 };
  return () => {
    const made = 'SELECT count(*) FROM requests WHERE id > ? AND walk_id = ?';
    const apiCalls = before.calls + (valueIn<number>(connection, made, before.id, row.id) ?? 0);
    // A transaction that failed has counted its calls in memory alone.
    if (apiCalls === row.apiCalls) return;
    row.apiCalls = apiCalls;
    prepareWalkUpdate(connection, ['apiCalls'])(row);
  };
}

/** The step of a dataset that is one response. */
const onlyStep: WalkStep = {
  checkpoint: { ...beginning, pages: 1, pagesOfPass: 1, rows: 1 },
  ...{ metRows: 'add', reread: 0, isLookAtHead: false },
  end: { verdict: 'snapshot', doubts: undefined, gaps: undefined, stuck: undefined, isRenewal: false },
};

const noCounts = (): Counts => ({ inserted: 0, updated: 0, quarantined: 0, drifted: 0 });

/** Characters of a key that are shown to people. */
const SHOWN_CHARACTERS = 100;

/** Whether the page is of the published snapshot that this pass reads: no row of that changes. */
function isOfSameSnapshot(at: Checkpoint, { generatedAt }: CheckedPage): boolean {
  if (at.mode !== 'snapshot' || typeof generatedAt !== 'string') return false;
  return at.pagesOfPass === 0 || at.generatedAt === generatedAt;
}

/** @returns the failure of a walk that no request leads on, or where the first page of a pass is of another contract. */
function whyItFails({ name }: Job, page: CheckedPage, { checkpoint, end }: WalkStep): Failure | undefined {
  // It is of a pass, and no look at the head: before that, the list was read.
  const breach = checkpoint.pagesOfPass === 1 ? describeBreach(page) : undefined;
  if (breach) return new Failure('contract', `${name}: ${breach}`);
  if (!end?.stuck) return undefined;
  const what = `the API's pages lead nowhere (${end.stuck}); what came is kept, the next run begins anew`;
  return new Failure('incomplete', `${name}: ${what}`);
}

/** What is known of a list as a walk begins or goes on. Its rows get the key that the user says. */
function openFindings(
  connection: Connection,
  job: Job,
  before: Findings,
  hints: Hints,
  at: Checkpoint,
  now: number,
): Findings {
  const shape = { ...before.shape, told: hints };
  const findings = { ...before, shape };
  if (job.contract || job.reading === 'response') return findings;
  // A place that no proof has confirmed is looked for anew.
  const isKept = shape.isPlaceProven || at.pages > 0;
  const told = hints.key ? { key: hints.key, hasLookedForKey: true } : {};
  const takeSeq = () => createSequence(connection)(job.name, now);
  const wanted = { ...shape, place: isKept ? shape.place : null, ...told };
  return { ...findings, shape: ensureKeys(connection, job, shape, wanted, agesOf(findings), takeSeq) };
}

function newMemory(connection: Connection, job: Job, previous: Previous | undefined): Memory {
  return {
    checkpoint: beginWalk(previous),
    newAbove: valueIn<number>(connection, `SELECT max(number) FROM ${quoted(job.rows)}`) ?? 0,
    newWhereReread: [],
    withoutKeyField: 0,
    places: { to: 0, withNew: 0 },
    twins: new Map(),
    motion: noMotion(),
    refusedBefore: [],
  };
}

function cameInOf({ checkpoint: { total, totalFirst } }: Memory): number | null {
  return total === null || totalFirst === null ? null : Math.max(0, total - totalFirst);
}

const keptMemory = (memory: Memory) => JSON.stringify({ ...memory, twins: [...memory.twins] });

/** Undefined for a walk that has just begun. */
export function readMemory({ memory }: WalkRow): Memory | undefined {
  const kept = JSON.parse(memory) as Partial<Omit<Memory, 'twins'> & { twins: [string, string[]][] }>;
  return kept.checkpoint && ({ ...kept, twins: new Map(kept.twins) } as Memory);
}

/** A checkpoint as columns of `walks`: `memory` holds all of it, the others show it to people. */
function columnsOf(checkpoint: Checkpoint, row: Pick<WalkRow, 'total' | 'totalFirst'>) {
  const { offset, pages, rows, unkeyed, total, totalFirst, restarts, generatedAt = null } = checkpoint;
  const { newInHead, newAtTail, newElsewhere } = checkpoint;
  return {
    ...{
      nextOffset: offset,
      pages,
      rows,
      unkeyed,
      restarts,
      generatedAt,
      newInHead,
      newAtTail,
      newElsewhere,
    },
    // A reset clears both in the checkpoint, not in the row.
    total: total ?? row.total,
    totalFirst: totalFirst ?? row.totalFirst,
    stepsBack: checkpoint.mode === 'anchored' ? checkpoint.stepsBack : 0,
    anomalies: JSON.stringify(checkpoint.anomalies),
  };
}

const savedColumns = [
  ...(Object.keys(columnsOf(beginning, { total: null, totalFirst: null })) as (keyof ReturnType<
    typeof columnsOf
  >)[]),
  ...(['inserted', 'updated', 'quarantined', 'drifted', 'apiCalls', 'distinctKeys'] as const),
  ...(['startedAt', 'memory'] as const),
];

/** A full walk runs once a day; an hour less, so that a late run still falls within the day. */
export const FULL_WALK_EVERY_MS = 23 * HOUR_MS;

/** What a walk may use of the one before it. While rows are held, only a full walk can prove that they are gone. */
function whatItLeaves(connection: Connection, walk: WalkRow, job: Job, last: WalkRow, now: number): Previous {
  const ageMs = ageOf(Date.parse(last.startedAt), now);
  const isComplete = last.status === 'complete';
  const isRecent = ageMs !== null && ageMs < FULL_WALK_EVERY_MS;
  // A full walk of a single page costs no more.
  const allowsRenewal =
    isComplete &&
    last.verdict === 'snapshot' &&
    isRecent &&
    last.pages > 1 &&
    countHeld(connection, job) === 0;
  // None runs at the same time as this session.
  const brought = `SELECT sum(inserted + quarantined) FROM walks WHERE job = ? AND kind = 'glance' AND id > ?`;
  const glancedSince = valueIn<number>(connection, brought, job.name, walk.id) ?? 0;
  return {
    checkpoint: readMemory(last)?.checkpoint ?? beginning,
    ...{ allowsRenewal, isComplete, glancedSince },
  };
}

/** How many rows glances have brought since the last complete walk. */
function rowsGlanced(connection: Connection, { job, id }: WalkRow): number {
  const before = lastWalk(connection, job, `status = 'complete' AND id < ${id}`);
  // A glance beside a walk has the greater id, but ends before it.
  const sum = `SELECT sum(inserted) FROM walks WHERE job = ? AND kind = 'glance' AND id > ? AND finished_at > ?`;
  return valueIn(connection, sum, job, before?.id ?? 0, before?.finishedAt ?? '') ?? 0;
}

function failureOf(work: () => void): Error | undefined {
  try {
    work();
    return undefined;
  } catch (thrown) {
    return toError(thrown);
  }
}
