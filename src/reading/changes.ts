/**
 * *The* changes of a dataset since a position: which they are, how far they go, and whether all of them are still known. A position is
 * the number of a change (`seq`), as in the view `changes`. Whatever follows the mirror asks here: `export --since`, the change feed,
 * the sinks, and `mirror-changes`.
 */

import { isoTime } from '../base/clock.ts';
import type { ListedJob } from '../job/list.ts';
import {
  type ChangeSource,
  type Connection,
  changeSources,
  isBeforeRestore,
  isProof,
  PROOF,
  quoted,
  readMirror,
  seqOf,
} from '../store/read.ts';

type Dataset = Pick<ListedJob, 'name' | 'table' | 'history' | 'rows' | 'versions'>;

/** How far a dataset has come. */
export type DatasetPosition = {
  /** Of its latest change; 0 where there was none. */
  seq: number;
  /** Grows with what no change tells: volatile values, and which rows are held. */
  unversioned: number;
  /** Its rows have their present keys since this change; 0 where they always had. */
  keysFrom: number;
  /** Versions that ended by this time were forgotten, ISO 8601; empty where none were. */
  historyFrom: string;
};

export function positionOf(connection: Connection, { name }: Pick<Dataset, 'name'>): DatasetPosition {
  const known = connection
    .prepare<[string], DatasetPosition>(
      `SELECT coalesce(last_seq, 0) AS seq, volatile_seq AS unversioned, coalesce(keys_seq, 0) AS keysFrom,
         coalesce(history_from, '') AS historyFrom FROM _datasets WHERE job = ?`,
    )
    .get(name);
  return known ?? { seq: 0, unversioned: 0, keysFrom: 0, historyFrom: '' };
}

/** Why the changes after a position are not all known: a restore took it back, rows have other keys since, or versions were forgotten. */
export type Gap = 'restored' | 'keys' | 'forgotten';

/** Undefined where all changes after `seq` are known, or none is wanted: a reader at 0 has nothing that could be wrong. */
export function gapAfter(
  connection: Connection,
  dataset: Pick<Dataset, 'name'>,
  seq: number,
): Gap | undefined {
  if (seq === 0) return undefined;
  if (isBeforeRestore(connection, seq)) return 'restored';
  const { keysFrom, historyFrom } = positionOf(connection, dataset);
  if (seq < keysFrom) return 'keys';
  return isoTime(seq) < historyFrom ? 'forgotten' : undefined;
}

/**
 * Whether the mirror has a change of that number: mostly the last one of a walk, else the one with which its rows got their keys, or one with
 * which a row or version began or ended. A sink that has come to another one has followed another mirror.
 */
export function isChange(connection: Connection, dataset: Dataset, seq: number): boolean {
  if (seq === positionOf(connection, dataset).keysFrom) return true;
  const ofWalk = connection
    .prepare('SELECT 1 FROM walks WHERE last_seq = ? AND job = ? LIMIT 1')
    .get(seq, dataset.name);
  if (ofWalk) return true;
  return changeSources(dataset).some(({ at, source }) =>
    connection.prepare(`SELECT 1 FROM ${source} WHERE ${at} = ? LIMIT 1`).get(isoTime(seq)),
  );
}

/** SQL for the WHERE of the stored tables of a dataset: of its rows, and of its versions. */
export type Touched = { rows: string; versions: string };

/**
 * Which rows and versions came, changed or ended after a change. Rows get their numbers as they come, and versions as they end: so the
 * latest are found from the end, without an index, which every change would pay for.
 */
export function touchedAfter(connection: Connection, { rows, versions }: Dataset, seq: number): Touched {
  const at = isoTime(seq);
  /** The last number by then. All rows after it have come or changed since; rows before it that have changed left a version. */
  const lastBy = (table: string, column: string) =>
    connection
      .prepare<[string], number>(
        `SELECT number FROM ${quoted(table)} WHERE ${quoted(column)} <= ? ORDER BY number DESC LIMIT 1`,
      )
      .pluck()
      .get(at) ?? 0;
  const came = `number > ${lastBy(rows, '_changed_at')}`;
  if (versions === null) return { rows: came, versions: 'false' };
  const ended = `number > ${lastBy(versions, '_valid_to')}`;
  const changed = `SELECT _row FROM ${quoted(versions)} WHERE ${ended} AND _ended_by = 'update'`;
  return { rows: `(${came} OR number IN (${changed}))`, versions: ended };
}

/** Changes with a greater number than `from`, up to `to`. */
export type Range = { from: number; to: number };

/** A part of the changes of a range: SQL for what each is (`change`), when it was (`at`, a column), and its row or version behind FROM. */
export type RangePart = { change: string; at: ChangeSource['at']; from: string };

/** The changes of a range, all of them together. The rows of a part are those of the dataset where `at` is `_changed_at`, else versions. */
export function changesIn(connection: Connection, dataset: Dataset, { from, to }: Range): RangePart[] {
  // Rows whose earlier versions were forgotten are found only by looking at all.
  const isForgotten = isoTime(from) < positionOf(connection, dataset).historyFrom;
  const touched = isForgotten ? undefined : touchedAfter(connection, dataset, from);
  const isTouched = (at: ChangeSource['at']) => {
    if (!touched) return 'true';
    const isPresent = at === '_changed_at';
    const table = quoted(isPresent ? dataset.rows : `${dataset.versions}`);
    return `version._key IN (SELECT _key FROM ${table} WHERE ${isPresent ? touched.rows : touched.versions})`;
  };
  return changeSources(dataset).map(({ change, at, source, where }) => ({
    ...{ change, at },
    from: `${source} WHERE ${isTouched(at)}
  AND version.${at} > '${isoTime(from)}' AND version.${at} <= '${isoTime(to)}' AND ${where ?? 'true'}`,
  }));
}

/** The numbers of the commits of a range, with how many changes each made, in their order. */
export function commitsIn(
  connection: Connection,
  dataset: Dataset,
  range: Range,
): { seq: number; rows: number }[] {
  const seqs = changesIn(connection, dataset, range).map(
    ({ at, from }) => `SELECT ${seqOf(at)} AS seq FROM ${from}`,
  );
  return connection
    .prepare<[], { seq: number; rows: number }>(
      `SELECT seq, count(*) AS rows FROM (${seqs.join(' UNION ALL ')}) GROUP BY seq ORDER BY seq`,
    )
    .all();
}

/** The number of its first change that is known; undefined where there is none. */
export function firstSeq(connection: Connection, dataset: Dataset): number | undefined {
  const firsts = changeSources(dataset).flatMap(({ at, source }) => {
    const first = connection
      .prepare<[], number | null>(`SELECT min(${seqOf(at)}) FROM ${source}`)
      .pluck()
      .get();
    return first ?? [];
  });
  return firsts.length > 0 ? Math.min(...firsts) : undefined;
}

/**
 * SQL for what became of the rows that came (`_change` is `insert`), changed (`update`) or went (`delete`, with their last values) after
 * a time: one line a row, with the number of its latest change in `_seq`. Rows that came and went again meanwhile are left out.
 * @param columns those of the dataset, and of them those that its history has.
 * @param since ISO 8601 UTC with milliseconds.
 */
export function outcomeSql(
  { table, history }: Pick<Dataset, 'table' | 'history'>,
  columns: { present: readonly string[]; past: readonly string[] },
  since: string,
): string {
  const now = quoted(table);
  const present = columns.present.map(quoted);
  const after = `'${since}'`;
  if (history === null)
    return `SELECT 'insert' AS _change, ${seqOf('_changed_at')} AS _seq, ${present}
FROM ${now} WHERE _changed_at > ${after} ORDER BY _seq, _key`;
  const past = quoted(history);
  const list = columns.present.map((name) => (columns.past.includes(name) ? quoted(name) : 'NULL'));
  const stoodThen = `EXISTS (SELECT 1 FROM ${past} AS before WHERE before._key = row._key
    AND before._valid_from <= ${after} AND before._valid_to > ${after})`;
  return `SELECT CASE WHEN ${stoodThen} THEN 'update' ELSE 'insert' END AS _change,
  ${seqOf('_changed_at')} AS _seq, ${present}
FROM ${now} AS row WHERE _changed_at > ${after}
UNION ALL
SELECT 'delete', ${seqOf('_valid_to')}, ${list}
FROM ${past} AS row WHERE _ended_by = 'delete' AND _valid_to > ${after} AND ${stoodThen}
  AND NOT EXISTS (SELECT 1 FROM ${now} AS again WHERE again._key = row._key)
  AND NOT EXISTS (SELECT 1 FROM ${past} AS later WHERE later._key = row._key AND later._valid_to > row._valid_to)
ORDER BY _seq, _key`;
}

/** What a proven walk makes known: all changes since the proof before it, numbered over all datasets and processes. */
export type ProvenChange = {
  job: string;
  table: string;
  /** The walk that proved it, how, and as of when. */
  walkId: number;
  verdict: 'snapshot' | 'verified';
  completeAsOf: string;
  inserted: number;
  updated: number;
  deleted: number;
  /** `seq` of the first and the latest of these changes. */
  firstSeq: number;
  lastSeq: number;
};

/** What a walk of the mirror in `dir` makes known. Null where it is no proof, or nothing changed. */
export function provenBy(
  dir: string,
  job: Pick<Dataset, 'name' | 'table'>,
  walk: { id: number; verdict: string | null },
): ProvenChange | null {
  if (!isProof(walk.verdict)) return null;
  return readMirror(dir, (connection) => {
    const proof = proofWhere(connection, job.name, `id = ${walk.id}`);
    const before = proofWhere(connection, job.name, `id < ${walk.id}`);
    return proof ? changeUpTo(connection, job, proof, before?.endSeq ?? 0) : null;
  });
}

/** Up to which `seq` the last proof made changes known; 0 before the first. */
export const provenUpTo = (dir: string, job: Pick<Dataset, 'name'>): number =>
  readMirror(dir, (connection) => proofWhere(connection, job.name, 'true')?.endSeq ?? 0);

/** The same up to the last proof, for all changes after `seq`; for all there are, where a restore took back that change. */
export function provenSince(
  dir: string,
  job: Pick<Dataset, 'name' | 'table'>,
  seq: number,
): ProvenChange | null {
  return readMirror(dir, (connection) => {
    const proof = proofWhere(connection, job.name, 'true');
    return proof && changeUpTo(connection, job, proof, isBeforeRestore(connection, seq) ? 0 : seq);
  });
}

type Proof = Pick<ProvenChange, 'walkId' | 'verdict' | 'completeAsOf'> & { endSeq: number };

const proofWhere = (connection: Connection, job: string, condition: string): Proof | null =>
  connection
    .prepare<[string], Proof>(
      `SELECT id AS walkId, verdict, started_at AS completeAsOf, ${seqOf('finished_at')} AS endSeq FROM walks
       WHERE job = ? AND ${PROOF} AND ${condition} ORDER BY id DESC LIMIT 1`,
    )
    .get(job) ?? null;

function changeUpTo(
  connection: Connection,
  { name: job, table }: Pick<Dataset, 'name' | 'table'>,
  { endSeq, ...proof }: Proof,
  seq: number,
): ProvenChange | null {
  // Most walks change nothing, and the view reads the whole dataset.
  const hasAny = connection.prepare('SELECT 1 FROM walks WHERE job = ? AND last_seq > ? LIMIT 1');
  if (!hasAny.get(job, seq)) return null;
  type Counts = { [Member in 'inserted' | 'updated' | 'deleted']: number } & {
    firstSeq: number | null;
    lastSeq: number | null;
  };
  const counts = connection
    .prepare<[string, number, number], Counts>(
      `SELECT count(*) FILTER (WHERE change = 'insert') AS inserted, count(*) FILTER (WHERE change = 'update') AS updated,
         count(*) FILTER (WHERE change = 'delete') AS deleted, min(seq) AS firstSeq, max(seq) AS lastSeq
       FROM changes WHERE job = ? AND seq > ? AND seq <= ?`,
    )
    .get(job, seq, endSeq);
  if (!counts || counts.firstSeq === null || counts.lastSeq === null) return null;
  const { firstSeq, lastSeq } = counts;
  return { job, table, ...proof, ...counts, firstSeq, lastSeq };
}
