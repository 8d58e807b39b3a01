/**
 * A walk from its opening to its end. What has arrived is saved in one transaction: rows, refused rows, drift, calls, the page with
 * the numbers of its rows, and the checkpoint behind it. Each page is compared after the one before was written. The transaction of
 * the last page ends the walk (`endWalk`): rows that a proof lacks go or are held, the key of a list is found, the verdict is written,
 * and the pages become the order of the rows (`pages.ts`). A walk that is killed stands before a transaction or behind it.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Call } from '../api/response.ts';
import { ageOf, HOUR_MS, isoTime } from '../base/clock.ts';
import { Failure, type FailureKind, toError } from '../base/errors.ts';
import type { Job } from '../job.ts';
import {
  type CheckedPage,
  type CheckedRow,
  type DiscoveredShape,
  type DriftKind,
  describeKey,
  type FieldPath,
  type Row,
} from '../validate/checked.ts';
import { keyedRow } from '../validate/keys.ts';
import { type Change, type MotionOfWalk, motionsOfWalk, noMotion, observe } from '../validate/motion.ts';
import { describeBreach, type Hints, type KnownOfList } from '../validate.ts';
import { beginning, type Checkpoint, type PageFacts, requestOf } from '../walk/checkpoint.ts';
import {
  beginWalk,
  type Previous,
  takeStep,
  unprovenEnd,
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
import { createMatcher, type Match, type Twins } from './matching.ts';
import { keepOrder, openWalkPages } from './pages.ts';
import { openQuarantine, resolveGone } from './quarantine.ts';
import { countHeld, heldRows, retireRows } from './retire.ts';
import { openTable } from './rows.ts';
import type { WalkRow } from './schema.ts';
import { createSequence, lastSeqOf } from './sequence.ts';
import { agesOf, type KnownList, keepList, readList } from './shapes.ts';
import { isProof, quoted } from './sql.ts';
import { ensureAnalystViews } from './views.ts';
import {
  lastFullWalk,
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

/** What a transaction did. */
export type Counts = { inserted: number; updated: number; quarantined: number; drifted: number };

/** What was saved: how many of the pages, and whether the walk has ended. */
export type Saved = { counts: Counts; pages: number; isEnded: boolean };

/** What a walk keeps to go on, beside its pages. */
type Memory = {
  checkpoint: Checkpoint;
  /** The greatest number of a row when the walk began: rows with greater ones were new to the mirror. */
  newAbove: number;
  /** Numbers of rows that came first where rows were read again: each may be an earlier one, changed. */
  shownAgain: number[];
  /** Rows that lack the field of the key. */
  withoutKeyField: number;
  /** Up to where the list was read, and how many of its places showed a row that was new to the mirror. */
  places: { to: number; withNew: number };
  twins: Twins;
  motion: MotionOfWalk;
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
  const row: WalkRow = walk.row;
  const countCalls = callCounter(connection, row);
  const file = connection.name;
  const atomically = connection.transaction((work: () => unknown) => work()).immediate;
  const before = readBefore(connection, job, now());
  const memory = readMemory(row) ?? newMemory(connection, job, before?.previous);
  let keptList = readList(connection, job.name);
  let list = atomically(() => openList(connection, job, hints, memory.checkpoint, now())) as KnownList;
  const pages = openWalkPages(connection, row.id);
  const ages = agesOf(list);
  const table = openTable(connection, job, ages);
  const matcher = createMatcher(connection, job, table, { twins: memory.twins, hasMet: pages.has });
  const quarantine = openQuarantine(connection, job, [...ages, ...list.shape.leftOut]);
  const driftLog = createDriftLog(connection, job.name);
  const fields = job.contract ? undefined : watchFields(connection, job, row.id, driftLog);
  const recordCall = callRecorder(connection);
  const readTrouble = troubleReader(connection, job.path, row.id, isoTime(now()));
  const nextSeq = createSequence(connection);
  const saveRow = prepareWalkUpdate(connection, savedColumns);
  // Apart, so that a walk that changes nothing does not write the index of `last_seq`.
  const saveSeqs = prepareWalkUpdate(connection, ['firstSeq', 'lastSeq']);
  let failure: { thrown: unknown } | undefined;
  /** Of the transaction that is open: what it did, and the time of its `seq`. */
  let counts = noCounts();
  let seqTime: string | undefined;
  /** Rows that have changed under it. */
  const changed = new Set<number>();

  /** Runs one transaction. After one failure it always throws that error: what is in memory no longer matches the database. */
  function commit<T>(work: () => T): T {
    if (failure) throw failure.thrown;
    const { lastSeq } = row;
    [counts, seqTime] = [noCounts(), undefined];
    try {
      return atomically(() => {
        const result = work();
        if (row.finishedAt === null) {
          row.memory = keptMemory(memory);
          saveRow(row);
          if (row.lastSeq !== lastSeq) saveSeqs(row);
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
    row[what] += times;
  }

  /**
   * Takes the `seq` of this transaction with its first change, and another one where a row changes that it has written already: what
   * stood in between is a version, too.
   * @returns it as the time that changed rows get.
   */
  function takeSeq(number?: number): string {
    if (seqTime === undefined || (number !== undefined && changed.has(number))) {
      const seq = nextSeq(job.name, now());
      seqTime = isoTime(seq);
      changed.clear();
      row.firstSeq ??= seq;
      row.lastSeq = seq;
    }
    return seqTime;
  }

  function note(kind: DriftKind, path: string, detail: string, origin: Origin, times = 1): void {
    driftLog.note({ kind, path, detail, times }, origin);
    count('drifted', times);
  }

  /** Saves one page, and takes the walk's step. */
  function savePage({ page, offset, digest, call }: ArrivedPage): WalkStep {
    const { checkpoint } = memory;
    const origin: Origin = { job: job.name, walkId: row.id, requestId: call.requestId, now: isoTime(now()) };
    if (checkpoint.pages === 0) row.startedAt = call.at;
    if (page.shape) adoptShape(page.shape);
    count('drifted', fields?.note(page.fields, origin) ?? 0);
    for (const { kind, path, detail, times } of page.drifts) note(kind, path, detail, origin, times);
    const rows = writeRows(page, isOfSameSnapshot(checkpoint, page), origin);
    const facts: PageFacts = {
      ...{ offset, digest, received: page.received },
      ...{ pagination: page.pagination, generatedAt: page.generatedAt },
      keys: rows.map(({ key }) => key),
      met: rows.map(({ isMet }) => isMet),
      doubled: rows.map(({ isDoubled }) => isDoubled),
      known: rows.map(({ isKnown }) => isKnown),
    };
    const step =
      job.reading === 'snapshot' ? onlyStep : takeStep(checkpoint, facts, before?.previous, row.kind);
    meetRows(step, page, rows, offset);
    recordCall(call);
    memory.checkpoint = step.checkpoint;
    Object.assign(row, columnsOf(step.checkpoint, row), {
      apiCalls: row.apiCalls + 1,
      distinctKeys: pages.size,
    });
    return step;
  }

  /** What the first page shows of the list: where its rows are, and a key that is believed at once. */
  function adoptShape({ place, key, hasLookedForKey }: DiscoveredShape): void {
    const { shape } = list;
    const isFirst = hasLookedForKey && !shape.hasLookedForKey;
    if (!isFirst && shape.runsWithoutPlace === 0 && isDeepStrictEqual(shape.place, place)) return;
    const adopted = { ...shape, place, runsWithoutPlace: 0 };
    list = {
      ...list,
      shape: isFirst
        ? ensureKeys(connection, job, shape, { ...adopted, key, hasLookedForKey }, ages, now())
        : adopted,
    };
  }

  function keepKnown(): void {
    if (list === keptList) return;
    keepList(connection, job.name, list);
    // Changes of ages are no lines of `<table>_changes`.
    if (!isDeepStrictEqual(agesOf(list), agesOf(keptList))) ensureAnalystViews(connection, job);
    keptList = list;
  }

  /** Writes the rows of a page in its order, then the refused ones. A row's key may be another than it seemed (`matching.ts`). */
  function writeRows({ rows }: CheckedPage, isPublished: boolean, origin: Origin): WrittenRow[] {
    const written: WrittenRow[] = [];
    const texts: [before: string | null, after: string | null][] = [];
    matcher.beginPage(isPublished);
    rows.forEach(({ row: came }, at) => {
      if (!came) return;
      const match = matcher.match(came, list.shape);
      const { key, stored } = match;
      if (match.isContradiction) contradictKey(came.key, origin);
      const isMet =
        stored !== undefined && pages.has(stored.number) && (Boolean(job.contract) || !wasRefused(key));
      if (stored && !isMet) texts.push([stored.unspecified, unspecifiedOf(job, came)]);
      const isDoubled = stored !== undefined && matcher.isOnPage(stored.number);
      const number = writeRow(match, came, isMet);
      matcher.wrote(number);
      quarantine.resolve(key, origin.now);
      const isKnown = stored !== undefined && isOfCompleteWalk(stored);
      written[at] = { key, number, isMet, isKnown, isDoubled };
    });
    const page = {
      isPublished,
      fitting: new Set(written.map((one) => one?.number)),
      refused: new Set<string>(),
    };
    rows.forEach((one, at) => {
      if (one.refused) written[at] = writeRefused(one, page, origin);
    });
    observe(memory.motion, changesOf(texts));
    return written;
  }

  function writeRow({ key, stored }: Match, { values }: Row, isMet: boolean): number {
    if (!stored) {
      count('inserted');
      const number = table.insert(key, values, row.id, takeSeq());
      changed.add(number);
      return number;
    }
    const { number, change, isHeld } = stored;
    if (isHeld) table.endHold(number);
    if (change === 'changed') {
      count('updated');
      table.update(number, values, row.id, takeSeq(number));
      changed.add(number);
    } else if (change === 'aged') table.keepCurrent(stored, values);
    else if (isMet) table.replaceStaged(number, values);
    return number;
  }

  /** A refused row is still there upstream: what the mirror has under its key must not look gone. */
  function writeRefused({ key: readKey, refused }: Refused, page: PageOfRefused, origin: Origin): WrittenRow {
    const found = readKey === null ? {} : { stored: table.find(readKey), refused: quarantine.find(readKey) };
    const isTwin = readKey !== null && isOfAnotherRow(readKey, refused.body, found, page);
    if (readKey !== null) page.refused.add(readKey);
    // Without a contract nothing says that it is its key.
    const isOwnKey = !isTwin || Boolean(job.contract);
    const key = isOwnKey ? readKey : null;
    const { stored, refused: refusedBefore }: FoundUnderKey = isOwnKey ? found : {};
    const id = quarantine.keep({ ...refused, key }, isTwin, origin);
    count('quarantined');
    if (stored?.isHeld) table.endHold(stored.number);
    const number = stored?.number ?? -id;
    const isKnown = [refusedBefore, stored].some((one) => one !== undefined && isOfCompleteWalk(one));
    return { key, number, isMet: key !== null && pages.has(number), isKnown, isDoubled: false };
  }

  /**
   * Whether the key of a refused row is that of another one, which this pass has met. A row that another page shows may be the same
   * row, changed since; but in a published snapshot no row changes.
   */
  function isOfAnotherRow(
    key: string,
    body: string,
    { stored, refused: before }: FoundUnderKey,
    { isPublished, fitting, refused }: PageOfRefused,
  ): boolean {
    if (stored && fitting.has(stored.number)) return true;
    if (before?.walkId === row.id) return (isPublished || refused.has(key)) && before.body !== body;
    // Without a contract, one that fits is not known by that key alone.
    return stored !== undefined && (isPublished || !job.contract) && pages.has(stored.number);
  }

  /** Whether this walk has refused a row of the key. */
  const wasRefused = (key: string) => quarantine.find(key)?.walkId === row.id;

  const isOfCompleteWalk = ({ walkId }: { walkId: number }) => !walk.incomplete.has(walkId);

  function contradictKey(key: string, origin: Origin): void {
    const { shape } = list;
    list = { ...list, shape: { ...shape, isKeyContradicted: true } };
    const shown = key.slice(0, SHOWN_CHARACTERS).toWellFormed();
    note('contradicted-key', describeKey(shape.key ?? []), `two rows share ${shown}`, origin);
  }

  function meetRows(
    { metRows, reread, isLookAtHead }: WalkStep,
    page: CheckedPage,
    rows: readonly WrittenRow[],
    offset: number,
  ) {
    if (metRows === 'clear') {
      pages.clear(job.name);
      [memory.shownAgain, memory.withoutKeyField, memory.places] = [[], 0, { to: 0, withNew: 0 }];
    }
    // No row of a dataset of snapshots ever goes, and they have no order.
    if (metRows !== 'add' || job.reading === 'snapshot') return;
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
    memory.shownAgain.push(...fresh.filter((number) => number > 0 && again.has(number)));
  }

  const isNew = ({ number, isDoubled }: WrittenRow) => number > memory.newAbove && !isDoubled;

  /** Ends the walk, in the transaction of its last page. */
  function endWalk({ verdict: found, unproven, gaps, isRenewal }: WalkEnd): void {
    check();
    // Beside an unfinished walk, a glance that read everything proves nothing: only that walk may hold or remove rows.
    const verdict = walk.isBesideWalk ? null : found;
    // A glance that read everything is a walk.
    const kind = verdict === null ? 'glance' : 'walk';
    const isWhole = kind === 'walk' && !isRenewal && job.reading === 'walk';
    const proof = isWhole && isProof(verdict) ? (verdict as 'snapshot' | 'verified') : undefined;
    table.writeStaged();
    if (isWhole) learnOfList(proof !== undefined);
    const order = proof ? retire(proof) : {};
    if (isWhole) count('drifted', fields?.noteVanished() ?? 0);
    driftLog.flush();
    if (proof) resolveGone(connection, job.name, row.id, isoTime(now()));
    end({
      ...{ kind, verdict, status: 'complete', errorKind: null },
      error: [gaps, unproven && `the dataset changed: ${unproven}`].filter(Boolean).join('; ') || null,
      glanced: kind === 'walk' ? rowsGlanced(connection, row) : 0,
      ...(isRenewal && before && { renewalOf: before.row.id }),
      ...order,
    });
  }

  /** What a whole walk says of the list: which fields are ages and, without a contract, where its rows are, and its key. */
  function learnOfList(isProven: boolean): void {
    const origin: Origin = { job: job.name, walkId: row.id, requestId: null, now: isoTime(now()) };
    const { shape } = list;
    const motions = motionsOfWalk(list.motions, memory.motion);
    const agesNow = agesOf({ shape, motions });
    for (const path of agesNow)
      if (!ages.some((age) => age.join('.') === path.join('.')))
        note('moving-field', path.join('.'), 'kept current, makes no version', origin);
    list = { shape: job.contract ? shape : shapeOfWalk(shape, agesNow, isProven, origin), motions };
    keepKnown();
  }

  function shapeOfWalk(
    shape: DiscoveredShape,
    agesNow: readonly FieldPath[],
    isProven: boolean,
    origin: Origin,
  ): DiscoveredShape {
    const met = {
      ...{ walkId: row.id, pages, newAbove: memory.newAbove, withoutKeyField: memory.withoutKeyField },
      ...{ shownAgain: new Set(memory.shownAgain), places: memory.places },
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
    return ensureKeys(connection, job, shape, found, agesNow, now(), met);
  }

  /** Removes and holds the rows that the proof lacks. Its pages are the order of the rows now. */
  function retire(verdict: 'snapshot' | 'verified'): Partial<WalkRow> {
    pages.addGlanced(job.name);
    const proof = {
      ...{ walkId: row.id, verdict, shown: pages.size },
      hasUnkeyed: memory.checkpoint.unkeyed > 0 || memory.withoutKeyField > 0,
    };
    const { deleted, held } = retireRows(connection, job, proof, takeSeq, endTime);
    row.deleted += deleted;
    row.held = held;
    pages.addHeld(heldRows(connection, job));
    return keepOrder(connection, job, row, verdict, now());
  }

  /** When it ends. The last change may be ahead of a clock that stands still or goes back; no two walks end at once. */
  function endTime(): string {
    const last = valueIn<string>(connection, 'SELECT max(finished_at) FROM walks WHERE job = ?', job.name);
    return isoTime(Math.max(now(), lastSeqOf(connection), last === undefined ? 0 : Date.parse(last) + 1));
  }

  function end(ending: Partial<WalkRow>): void {
    row.memory = keptMemory(memory);
    Object.assign(row, { finishedAt: endTime() }, ending);
    writeEnd(connection, walk, { ...row, ...ending }, before?.row);
  }

  const giveUp = (errorKind: FailureKind, error: string) => end({ status: 'failed', errorKind, error });

  return {
    /** The walk's row; changes with every transaction. */
    row: row as Readonly<WalkRow>,
    /** What is known of a list without a contract, and what the user says of it. */
    get known(): KnownOfList {
      return { shape: list.shape, hints };
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
       * @throws Failure for a walk that no request leads on, or whose first page has no row that fits; its pages are saved.
       */
      save(arrived: readonly ArrivedPage[]): Saved {
        let givenUp: Failure | undefined;
        const result = commit(() => {
          let used = 0;
          for (const one of arrived) {
            if (row.finishedAt !== null || one.offset !== requestOf(memory.checkpoint).offset) {
              recordCall(one.call);
              continue;
            }
            const step = savePage(one);
            used += 1;
            givenUp = whyItFails(job, one.page, step);
            if (givenUp) giveUp(givenUp.kind, givenUp.message);
            else if (step.end) endWalk(step.end);
          }
          if (row.finishedAt === null) keepKnown();
          return { counts, pages: used, isEnded: row.finishedAt !== null };
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
          Object.assign(row, columnsOf(checkpoint, row));
        });
      },
      /** Ends the walk behind its last page, without a proof. */
      endUnproven: (why: string) => commit(() => endWalk(unprovenEnd(memory.checkpoint, why))),
      /** Notes that the rows are no longer where they were: missing in two runs in a row, they are looked for elsewhere. */
      missPlace(): void {
        commit(() => {
          const { shape } = list;
          list = { ...list, shape: { ...shape, runsWithoutPlace: shape.runsWithoutPlace + 1 } };
          keepKnown();
        });
      },
      /** Gives the walk up: its checkpoint is worth nothing, and the next run begins a new one. */
      giveUp(errorKind: FailureKind, error: string): void {
        commit(() => {
          check();
          table.writeStaged();
          driftLog.flush();
          giveUp(errorKind, error);
        });
      },
    }),
    /**
     * Leaves the walk at its last transaction, because of `thrown`; the next run resumes there.
     * @returns `thrown`, or the error of the database. Where even the walk's row cannot be written, nothing else is reported: the
     * cause is mostly the same.
     */
    pause(thrown: Error, stopped: boolean): Error {
      const lost = failureOf(() => {
        if (row.finishedAt === null)
          guarded(file, () =>
            commit(() => {
              table.writeStaged();
              driftLog.flush();
            }),
          );
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
    if (apiCalls <= row.apiCalls) return;
    row.apiCalls = apiCalls;
    prepareWalkUpdate(connection, ['apiCalls'])(row);
  };
}

/** A dataset of snapshots is read by one page, which is all there is. */
const onlyStep: WalkStep = {
  checkpoint: { ...beginning, pages: 1, pagesOfPass: 1, rows: 1 },
  ...{ metRows: 'add', reread: 0, isLookAtHead: false },
  end: { verdict: 'snapshot', unproven: undefined, gaps: undefined, stuck: undefined, isRenewal: false },
};

const noCounts = (): Counts => ({ inserted: 0, updated: 0, quarantined: 0, drifted: 0 });

/** Characters of a key that are shown to people. */
const SHOWN_CHARACTERS = 100;

type Refused = Extract<CheckedRow, { row?: undefined }>;

/** What the mirror has under the key of a refused row. */
type FoundUnderKey = {
  stored?: { number: number; walkId: number; isHeld: 0 | 1 } | undefined;
  refused?: { walkId: number; body: string } | undefined;
};

/** The page of a refused row: the numbers of its rows that fit, and the keys of those that were refused before. */
type PageOfRefused = { isPublished: boolean; fitting: ReadonlySet<number | undefined>; refused: Set<string> };

/**
 * What became of a row of a page. `number`: minus its id in the quarantine where the table lacks it. `isMet`: this pass had met it before.
 * `isKnown`: the mirror had it from a complete walk.
 */
type WrittenRow = {
  key: string | null;
  number: number;
  isMet: boolean;
  isKnown: boolean;
  /** Whether the very same row stands further up on the page. */
  isDoubled: boolean;
};

/** Whether the page is of the published snapshot that this pass reads: no row of that changes. */
function isOfSameSnapshot(at: Checkpoint, { generatedAt }: CheckedPage): boolean {
  if (at.mode !== 'snapshot' || typeof generatedAt !== 'string') return false;
  return at.pagesOfPass === 0 || at.generatedAt === generatedAt;
}

/** Where a row may have ages: its body, or the properties that its contract does not list. */
const unspecifiedOf = ({ contract }: Job, { values }: Row) =>
  (values[contract ? 'extra' : '_body'] ?? null) as string | null;

/** Mostly nothing has changed on a page, and nothing needs to be parsed. */
function changesOf(texts: readonly (readonly [string | null, string | null])[]): readonly Change[] {
  if (texts.every(([before, after]) => before === after)) return texts;
  const recordOf = (text: string | null) => (text === null ? null : keyedRow(text).record);
  return texts.map(([before, after]) => {
    const record = recordOf(before);
    return [record, before === after ? record : recordOf(after)];
  });
}

/** @returns the failure of a walk that no request leads on, or whose first page is of another contract. */
function whyItFails({ name }: Job, page: CheckedPage, { checkpoint, end }: WalkStep): Failure | undefined {
  // Looks at the head do not count: before those, the list was read whole.
  const breach = checkpoint.pagesOfPass === 1 ? describeBreach(page) : undefined;
  if (breach) return new Failure('contract', `${name}: ${breach}`);
  if (!end?.stuck) return undefined;
  const what = `the API's pages lead nowhere (${end.stuck}); what came is kept, the next run begins anew`;
  return new Failure('incomplete', `${name}: ${what}`);
}

/** What is known of a list as a walk begins or goes on. Its rows get the key that the user says. */
function openList(connection: Connection, job: Job, hints: Hints, at: Checkpoint, now: number): KnownList {
  const before = readList(connection, job.name);
  const shape = { ...before.shape, told: hints };
  const list = { ...before, shape };
  if (job.contract || job.reading === 'snapshot') return list;
  // A place that no proof has confirmed is looked for anew.
  const isKept = shape.isPlaceProven || at.pages > 0;
  const told = hints.key ? { key: hints.key, hasLookedForKey: true } : {};
  const wanted = { ...shape, place: isKept ? shape.place : null, ...told };
  return { ...list, shape: ensureKeys(connection, job, shape, wanted, agesOf(list), now) };
}

function newMemory(connection: Connection, job: Job, previous: Previous | undefined): Memory {
  return {
    checkpoint: beginWalk(previous),
    newAbove: valueIn<number>(connection, `SELECT max(number) FROM ${quoted(job.rows)}`) ?? 0,
    shownAgain: [],
    withoutKeyField: 0,
    places: { to: 0, withNew: 0 },
    twins: new Map(),
    motion: noMotion(),
  };
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

/** The last full walk, and what the next one may use of it. While rows are held, only a full walk can prove that they are gone. */
function readBefore(
  connection: Connection,
  job: Job,
  now: number,
): { row: WalkRow; previous: Previous } | undefined {
  const row = lastFullWalk(connection, job.name);
  const kept = row && readMemory(row);
  if (!row) return undefined;
  const ageMs = ageOf(Date.parse(row.startedAt), now);
  const isComplete = row.status === 'complete';
  const isRecent = ageMs !== null && ageMs < FULL_WALK_EVERY_MS;
  // A full walk of a single page costs no more.
  const allowsRenewal =
    isComplete && row.verdict === 'snapshot' && isRecent && row.pages > 1 && countHeld(connection, job) === 0;
  return { row, previous: { checkpoint: kept?.checkpoint ?? beginning, allowsRenewal, isComplete } };
}

/** How many rows glances have brought since the last complete walk. */
function rowsGlanced(connection: Connection, { job, id }: WalkRow): number {
  const before = lastWalk(connection, job, `status = 'complete' AND id < ${id}`)?.id ?? 0;
  const sum = `SELECT sum(inserted) FROM walks WHERE job = ? AND kind = 'glance' AND id > ? AND id < ?`;
  return valueIn(connection, sum, job, before, id) ?? 0;
}

function failureOf(work: () => void): Error | undefined {
  try {
    work();
    return undefined;
  } catch (thrown) {
    return toError(thrown);
  }
}
