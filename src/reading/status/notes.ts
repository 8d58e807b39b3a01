/** What the mirror noted of the form of a list: what names its rows, where they are, which fields move by themselves. */

import { DAY_MS, isoTime } from '../../base/clock.ts';
import type { Dataset } from '../../job/list.ts';
import { agesOf, type Connection, quoted, readFindings } from '../../store/read.ts';
import { type DriftKind, describeKey, type FieldPath } from '../../validate/checked.ts';
import { isRestless } from '../../validate/motion.ts';

/** Null and empty where there is nothing of that kind, or where the user has said how it shall be. */
export type ListNotes = {
  /** Differences of `drift` that none of the following tells. */
  differences: number;
  /** Other fields name the rows than before. */
  newKey: {
    /** Joined by commas; null where each row is known by its whole content. */
    key: string | null;
    before: string;
    /** Why those no longer do: the difference that `drift` has of them. */
    why: string | null;
  } | null;
  /** The fields that name the rows, where they do not name each, and why: the difference that `drift` has of them. */
  doubtedKey: { key: string; isTold: boolean; why: string } | null;
  /** Names joined by dots. */
  movedRows: { before: string; now: string } | null;
  /** Fields that move alike in all rows: they make no version. */
  ages: string[];
  /** Fields that change most rows at each walk, and what their versions take; null where that is not known yet. */
  restless: { fields: string[]; bytesPerDay: number | null } | null;
};

type Note = { kind: DriftKind; path: string; detail: string; lastSeenAt: string };

const ofLists = ['new-key', 'contradicted-key', 'moved-rows', 'moving-field'] satisfies DriftKind[];

/** @param lastWalkAt when the last complete walk began. */
export function readNotes(
  connection: Connection,
  { name: job, table }: Pick<Dataset, 'name' | 'table'>,
  lastWalkAt: string | null,
  now: number,
): ListNotes {
  const findings = readFindings(connection, job);
  const { shape, motions } = findings;
  const { told } = shape;
  const notes = connection
    .prepare<[string], Note>(
      `SELECT kind, path, detail, last_seen_at AS lastSeenAt FROM drift WHERE job = ? AND kind IN ('${ofLists.join("', '")}')
       ORDER BY last_seen_at DESC`,
    )
    .all(job);
  const key = describeKey(shape.key ?? []) || null;
  const ofKey = (fields: string) =>
    notes.find((note) => note.kind === 'contradicted-key' && note.path === fields);
  const named = notes.find((note) => note.kind === 'new-key' && note.path === (key ?? 'a digest of the row'));
  const before = named?.detail.replace(/ before$/, '');
  const doubted = key === null ? undefined : ofKey(key);
  // A row may have lacked it once.
  const isDoubted = doubted && (told.key || (lastWalkAt !== null && doubted.lastSeenAt >= lastWalkAt));
  const place = shape.place?.join('.') || 'the response';
  const moved = notes.find((note) => note.kind === 'moved-rows' && note.detail === place);
  const restless = told.volatile ? [] : motions.filter(isRestless).map(({ path }) => nameOf(path));
  return {
    differences: countDifferences(connection, job) - notes.length,
    newKey: before && !told.key ? { key, before, why: ofKey(before)?.detail ?? null } : null,
    doubtedKey: isDoubted && key ? { key, isTold: told.key !== undefined, why: doubted.detail } : null,
    movedRows: moved && !told.place ? { before: moved.path, now: moved.detail } : null,
    ages: told.volatile ? [] : agesOf(findings).map(nameOf),
    restless:
      restless.length === 0
        ? null
        : { fields: restless, bytesPerDay: bytesPerDay(connection, job, table, now) },
  };
}

const nameOf = (path: FieldPath) => path.join('.');

const countDifferences = (connection: Connection, job: string): number =>
  connection.prepare<[string], number>('SELECT count(*) FROM drift WHERE job = ?').pluck().get(job) ?? 0;

const LATEST_WALKS = 1_000;
const LATEST_VERSIONS = 100;
/** What a version takes beside its values: two entries of indexes, and the numbers of its row. */
const BYTES_BESIDE = 100;

/** What the versions of the last day take, by the walks that made them and the size of the latest ones. */
function bytesPerDay(connection: Connection, job: string, table: string, now: number): number | null {
  const walks = connection
    .prepare<[string, number, string], { updated: number; startedAt: string }>(
      `SELECT updated, started_at AS startedAt
       FROM (SELECT * FROM walks WHERE job = ? ORDER BY id DESC LIMIT ?) WHERE started_at >= ? ORDER BY id`,
    )
    .all(job, LATEST_WALKS, isoTime(now - DAY_MS));
  const [first, ...others] = walks;
  const ms = first ? Date.parse(others.at(-1)?.startedAt ?? '') - Date.parse(first.startedAt) : Number.NaN;
  if (!(ms > 0)) return null;
  const versions = others.reduce((sum, { updated }) => sum + updated, 0);
  return Math.round(versions * (DAY_MS / ms) * bytesPerVersion(connection, `_${table}_history_rows`));
}

function bytesPerVersion(connection: Connection, history: string): number {
  const columns = connection
    .prepare<[string], string>('SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0')
    .pluck()
    .all(history);
  const sum = columns.map((name) => `coalesce(length(CAST(${quoted(name)} AS BLOB)), 0)`).join(' + ');
  const latest = `SELECT ${sum} AS bytes FROM ${quoted(history)} ORDER BY number DESC LIMIT ${LATEST_VERSIONS}`;
  return (
    (connection.prepare<[], number | null>(`SELECT avg(bytes) FROM (${latest})`).pluck().get() ?? 0) +
    BYTES_BESIDE
  );
}
