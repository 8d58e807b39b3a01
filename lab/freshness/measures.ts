/** What is measured of the copy of a dataset: how late it is, how wrong, and how old its proofs are. In milliseconds. */

import type { Row } from './row.ts';

export type Kind = 'new' | 'edited' | 'gone';

export type Measures = {
  /** From the change upstream to the mirror, of each change of the time that is measured. */
  readonly delays: Record<Kind, number[]>;
  /** Row-milliseconds: rows not there yet, older than upstream, and gone upstream; and all that there are. */
  readonly wrong: { missing: number; stale: number; extra: number; rows: number };
  /** Age of the latest proof, its mean over the time that is measured. */
  proofAge(): number;
  /** Rows that were removed though they were there, and rows there throughout a proof that it had not met. */
  falselyRemoved: number;
  missedInProofs: number;
  /** Calls of the time that is measured, by what they were made for. */
  readonly calls: { walk: number; glance: number };
  /** Minus infinity where there was none. */
  lastGlanceAt: number;

  call(kind: 'walk' | 'glance', now: number): void;
  /** There are so many rows until now. */
  count(rows: number, now: number): void;
  /** The mirror has read the row; before its copy says so. */
  read(row: Row, now: number): void;
  /** It is gone upstream; before what was unread of it is forgotten. */
  left(row: Row): void;
  removed(row: Row, now: number): void;
  proved(startedAt: number, now: number): void;
  /** What is late when the time is over counts with the delay that it has by then. */
  close(rows: readonly Row[], held: Iterable<Row>): void;
};

/** Only what happens from `from` to `to` counts. */
export function createMeasures(from: number, to: number): Measures {
  const delays: Record<Kind, number[]> = { new: [], edited: [], gone: [] };
  const wrong = { missing: 0, stale: 0, extra: 0, rows: 0 };
  const within = (at: number) => at >= from && at < to;
  const overlap = (begin: number, end: number) => Math.max(0, Math.min(end, to) - Math.max(begin, from));
  const note = (kind: Kind, at: number, now: number) => {
    if (within(at)) delays[kind].push(now - at);
  };
  let countedAt = from;
  let [provedAt, ageNotedAt, ageArea] = [from, from, 0];

  function noteAge(now: number): void {
    const end = Math.min(now, to);
    if (end <= ageNotedAt) return;
    ageArea += (end - ageNotedAt) * ((ageNotedAt + end) / 2 - provedAt);
    ageNotedAt = end;
  }

  const measures: Measures = {
    delays,
    wrong,
    falselyRemoved: 0,
    missedInProofs: 0,
    calls: { walk: 0, glance: 0 },
    lastGlanceAt: Number.NEGATIVE_INFINITY,
    proofAge: () => ageArea / (to - from),
    call(kind, now) {
      if (within(now)) measures.calls[kind] += 1;
      if (kind === 'glance') measures.lastGlanceAt = now;
    },
    count(rows, now) {
      wrong.rows += rows * overlap(countedAt, now);
      countedAt = Math.max(countedAt, now);
    },
    read(row, now) {
      const { copy, cameAt, unread } = row;
      if (!copy.isHeld) {
        note('new', cameAt, now);
        wrong.missing += overlap(cameAt, now);
      } else if (unread.length > 0) {
        wrong.stale += overlap(unread[0] as number, now);
      }
      for (const at of unread) note('edited', at, now);
    },
    left({ copy, cameAt, goneAt, unread }) {
      if (!copy.isHeld) wrong.missing += overlap(cameAt, goneAt);
      else if (unread.length > 0) wrong.stale += overlap(unread[0] as number, goneAt);
    },
    removed({ goneAt }, now) {
      if (goneAt > now) {
        measures.falselyRemoved += 1;
        return;
      }
      note('gone', goneAt, now);
      wrong.extra += overlap(goneAt, now);
    },
    proved(startedAt, now) {
      noteAge(now);
      provedAt = startedAt;
    },
    close(rows, held) {
      noteAge(to);
      for (const row of rows) if (!row.copy.isHeld || row.unread.length > 0) measures.read(row, to);
      for (const row of held) if (row.goneAt < to) measures.removed(row, to);
    },
  };
  return measures;
}
