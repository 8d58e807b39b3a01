/** Rows of the mirror as a file of Parquet, and its receipt, which is also within the file but for its length and digest. */

import { type Cell, type Column, fits, surveyRows } from '../../output/answer.ts';
import { parquetTypes, parquetWriter } from '../../output/parquet.ts';
import type { Source } from '../../reading/query/sources.ts';
import type { Connection } from '../../store/read.ts';
import { asHeld, type LakeColumn } from './columns.ts';
import type { Spool } from './spool.ts';

/** What a file was made of. Within one `version` members are added, never removed or changed in meaning. */
export type About = {
  version: 1;
  job: string;
  /** The latest change that it shows. */
  seq: number;
  /** Of a file of changes: those after `from`, up to `seq`, on that course of the mirror. */
  changes: Changes | null;
  /** The dataset, with the walk that proves it and how many rows are in quarantine. */
  source: Source;
  exportedAt: string;
  by: string;
  columns: { name: string; type: string }[];
};

export type Changes = {
  from: number;
  /** Number of the folder, and of the mirror's own: see its table `identity`. */
  course: number;
  epoch: string;
  /** Number and beginning of the latest walk. */
  lastWalk: string;
};

/** What a file holds. */
export type Written = { about: About; rows: number };

/** What lies beside it. */
export type Receipt = About & { rows: number; file: string; bytes: number; sha256: string };

const BATCH = 1_000;

/** @param columns of the statement, in its order. */
export function writeParquet(
  connection: Connection,
  sql: string,
  columns: readonly Pick<LakeColumn, 'name' | 'holds'>[],
  about: Omit<About, 'version' | 'columns'>,
  spool: Spool,
): Written {
  const statement = connection.prepare<[], unknown[]>(sql).raw().safeIntegers();
  const surveyed = surveyRows(statement.iterate(), columns.length);
  const held = columns.map(
    ({ name, holds }, at): Column => ({
      name,
      type: null,
      holds: fits(holds, surveyed[at] ?? 'nothing') ? holds : 'text',
    }),
  );
  const types = parquetTypes(held);
  const whole: About = {
    version: 1,
    ...about,
    columns: held.map(({ name }, at) => ({ name, type: types[at] ?? '' })),
  };
  const writer = parquetWriter(held, whole);
  let rows = 0;
  let batch: Cell[][] = [];
  const flush = () => {
    spool.write(writer.rows(batch));
    rows += batch.length;
    batch = [];
  };
  for (const row of statement.iterate()) {
    batch.push(row.map((value, at) => asHeld(value, held[at]?.holds ?? 'text')));
    if (batch.length === BATCH) flush();
  }
  flush();
  spool.write(writer.end());
  return { about: whole, rows };
}
