/** A dataset as it stands upstream: plain data that tests may edit between any two requests. */

import { type Random, scramble, seededRandom } from '../random.ts';

export type Row = Record<string, unknown>;

export type Dataset = {
  /** In the order of the list. Edit in place or assign: the next answer shows it. */
  rows: Row[];
  /** Part of the answer unless undefined; null is sent as null. Does not follow edits of the rows. */
  generatedAt: string | null | undefined;
  /**
   * New rows of the same kind, newest first, with ids that were never used before: made at `at` (epoch
   * milliseconds), or a little later than all earlier ones.
   */
  make(count: number, at?: number): Row[];
  /** The member that tells rows apart, whatever its name. */
  readonly idField: string;
  /** Members that change in the life of a row. */
  readonly moving: readonly string[];
};

/** Says how a row reads. `serial` differs from row to row, `at` is its moment in epoch milliseconds. */
export type RowMaker = (serial: number, at: number, random: Random) => Row;

export type DatasetKind = {
  readonly make: RowMaker;
  readonly idField: string;
  readonly moving: readonly string[];
  /** From one row's moment to the next older one's, on average. */
  readonly spacingMs: number;
  /** Set where the answer carries `generatedAt` from the start. */
  readonly dated: boolean;
};

/** `count` rows, newest first, the newest just before `epoch`. The first rows do not depend on `count`. */
export function createDataset(kind: DatasetKind, count: number, seed: number, epoch: number): Dataset {
  let serial = 0;
  const makeRow = (latest: number, spreadMs: number) => {
    serial += 1;
    const random = seededRandom(seed, kind.spacingMs, serial);
    return kind.make(scramble(scramble(seed) ^ serial), latest - Math.floor(random() * spreadMs), random);
  };
  let newest = epoch;
  return {
    rows: Array.from({ length: count }, (_, place) =>
      makeRow(epoch - place * kind.spacingMs, kind.spacingMs),
    ),
    generatedAt: kind.dated ? new Date(epoch).toISOString() : undefined,
    make(more, at) {
      newest = at ?? newest + more * kind.spacingMs;
      const spreadMs = at === undefined ? kind.spacingMs : 0;
      return Array.from({ length: more }, (_, place) => makeRow(newest - place * kind.spacingMs, spreadMs));
    },
    idField: kind.idField,
    moving: kind.moving,
  };
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
