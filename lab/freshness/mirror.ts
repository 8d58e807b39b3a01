/** The mirror in memory: the real walk over a dataset, and what it does to the copy, as `src/store/` has it. */

import { isoTime } from '../../src/clock.ts';
import { FULL_WALK_EVERY_MS } from '../../src/mirror.ts';
import type { Walk } from '../../src/plan/facts.ts';
import { isMuchShorter } from '../../src/store/retire.ts';
import { isProof } from '../../src/store/sql.ts';
import { beginning, type Checkpoint, PAGE_ROWS, type PageFacts } from '../../src/walk/checkpoint.ts';
import { type Previous, type WalkEnd, type WalkKind, walk } from '../../src/walk.ts';
import type { Dataset, Measures, Row, Spec } from './dataset.ts';

/** A walk or a glance under way. */
export type Look = {
  /** Makes one call; resolves to true where it was the last one. */
  call(now: number): Promise<boolean>;
};

export type Mirrored = { spec: Spec; measures: Measures; mirror: Mirror };

export type Mirror = {
  begin(kind: WalkKind, now: number): Look;
  /** What has ended, the latest first. */
  readonly records: readonly LookRecord[];
  /** When the last walk and the last look of either kind began; null before the first. */
  last(): { walkedAt: number | null; lookedAt: number | null };
  /** The time is over: what is late by then counts with the delay that it has. */
  close(now: number): void;
};

/** A walk or a glance that has ended, as a row of `walks` tells of it. */
export type LookRecord = Walk & { kind: WalkKind; updated: number; deleted: number };

const MOST_RECORDS = 1_000;

export function createMirror(dataset: Dataset, measures: Measures): Mirror {
  const held = new Set<Row>();
  /** Those that the last proof did not show. */
  const unproven = new Set<Row>();
  /** So many rows did the last proof meet. */
  let metBefore = 0;
  const records: LookRecord[] = [];
  let passes = 0;
  let looks = 0;
  /** What glances have brought since the last walk. */
  let glanced = 0;
  let last: ReturnType<Mirror['last']> = { walkedAt: null, lookedAt: null };
  let before: { checkpoint: Checkpoint; record: LookRecord } | undefined;

  function previous(now: number): Previous | undefined {
    if (!before) return undefined;
    const { checkpoint, record } = before;
    const isRecent = now - Date.parse(record.startedAt) < FULL_WALK_EVERY_MS;
    const isProven = record.verdict === 'snapshot' && record.pages > 1;
    return { checkpoint, allowsRenewal: isProven && isRecent && unproven.size === 0, isComplete: true };
  }

  /** The rows that no page of this pass has shown leave the mirror, or wait for the next proof, as `retire.ts` has it. */
  function retire(pass: number, verdict: WalkEnd['verdict'], now: number): number {
    const unmet = [...held].filter(({ copy }) => copy.metIn !== pass);
    const met = held.size - unmet.length;
    const isFirstEnough = verdict === 'snapshot' && !isMuchShorter(metBefore, met);
    const removed = unmet.filter((row) => isFirstEnough || unproven.has(row));
    for (const row of unmet) unproven.add(row);
    for (const row of removed) remove(row, now);
    metBefore = met;
    return removed.length;
  }

  function remove(row: Row, now: number): void {
    measures.removed(row, now);
    unproven.delete(row);
    held.delete(row);
    row.copy.isHeld = false;
  }

  function begin(kind: WalkKind, startedAt: number): Look {
    const look = ++looks;
    const counts = { inserted: 0, updated: 0 };
    let calls = 0;
    let pass = ++passes;
    let now = startedAt;
    let shown: Row[] = [];

    const read = async (offset: number): Promise<PageFacts> => {
      dataset.advance(now);
      shown = dataset.rows.slice(offset, offset + PAGE_ROWS);
      const total = dataset.rows.length;
      const returned = shown.length;
      return {
        offset,
        generatedAt: dataset.generatedAt,
        received: returned,
        keys: shown.map(({ key }) => key),
        met: shown.map(({ copy }) => copy.metIn === pass),
        known: shown.map(({ copy }) => copy.isHeld && copy.changedIn !== look),
        // Nothing changes but what is published.
        digest: offset === 0 ? dataset.generatedAt : undefined,
        pagination: { offset, limit: PAGE_ROWS, total, returned, hasMore: offset + returned < total },
      };
    };

    function save(row: Row): void {
      const { copy, unread } = row;
      if (copy.isHeld && unread.length === 0) return;
      measures.read(row, now);
      if (copy.isHeld) counts.updated += 1;
      else counts.inserted += 1;
      held.add(row);
      copy.isHeld = true;
      copy.changedIn = look;
      row.unread = [];
    }

    function end(checkpoint: Checkpoint, ending: WalkEnd): void {
      const { verdict, isRenewal, stuck } = ending;
      if (stuck) throw new Error(`${dataset.spec.name}: a walk that leads nowhere`);
      const proves = isProof(verdict);
      if (proves) measures.proved(startedAt, now);
      if (proves && !isRenewal) noteMissed();
      const deleted = proves && !isRenewal ? retire(pass, verdict, now) : 0;
      const record = recordOf(checkpoint, ending, deleted);
      records.unshift(record);
      last = { walkedAt: record.kind === 'walk' ? startedAt : last.walkedAt, lookedAt: startedAt };
      if (records.length > MOST_RECORDS) records.pop();
      if (verdict !== null && !isRenewal) before = { checkpoint, record };
    }

    /** What was there from the beginning to the end must have been met. */
    function noteMissed(): void {
      for (const { cameAt, copy } of dataset.rows)
        if (cameAt <= startedAt && copy.metIn !== pass) measures.missedInProofs += 1;
    }

    function recordOf(at: Checkpoint, { verdict, isRenewal }: WalkEnd, deleted: number): LookRecord {
      const { pages, rows, total, newInHead, newAtTail, newElsewhere, generatedAt } = at;
      const isGlance = verdict === null;
      const record: LookRecord = {
        kind: isGlance ? 'glance' : 'walk',
        id: look,
        startedAt: isoTime(startedAt),
        pages,
        calls,
        rows,
        total,
        verdict: verdict ?? '',
        isWhole: isRenewal ? 0 : 1,
        isPublished: verdict === 'snapshot' || (verdict === 'union' && generatedAt !== undefined) ? 1 : 0,
        hasChanged: counts.inserted + counts.updated + deleted > 0 ? 1 : 0,
        ...counts,
        deleted,
        newInHead,
        newAtTail,
        newElsewhere,
        glanced: isGlance ? 0 : glanced,
      };
      glanced = isGlance ? glanced + counts.inserted : 0;
      return record;
    }

    const pages = walk(read, beginning, previous(startedAt), kind);
    return {
      async call(at) {
        now = at;
        calls += 1;
        measures.call(kind, at);
        const { value } = await pages.next();
        if (!value) throw new Error(`${dataset.spec.name}: a walk without an end`);
        if (value.metRows === 'clear') pass = ++passes;
        for (const row of shown) {
          save(row);
          unproven.delete(row);
          if (value.metRows === 'add') row.copy.metIn = pass;
        }
        if (value.end) end(value.checkpoint, value.end);
        return value.end !== undefined;
      },
    };
  }

  return {
    begin,
    records,
    last: () => last,
    close(now) {
      dataset.advance(now);
      measures.close(dataset.rows, held);
    },
  };
}
