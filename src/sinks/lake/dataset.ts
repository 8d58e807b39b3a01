/** One dataset in the lake: the files of its changes, up to its last proof, and a snapshot a day. */

import { basename, dirname } from 'node:path';
import { DAY_MS, isoTime } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import type { ListedJob } from '../../job-list.ts';
import { type Source, sourcesOf } from '../../reading/query/sources.ts';
import { type Connection, type Identity, PROOF } from '../../store/read.ts';
import { version } from '../../version.ts';
import { isChange, lastWalkOf, type MirrorPosition, positionOf } from '../follow.ts';
import {
  type About,
  changesSql,
  dayOf,
  ensureReceipt,
  firstSeq,
  lakeColumns,
  putWithReceipt,
  type Range,
  rangesOf,
  receiptPath,
  rowsSql,
  stableColumns,
  writeParquet,
} from './files.ts';
import { json, readJson, type Spool, type Storage } from './storage.ts';

export type LakeLoad = {
  job: string;
  /** The latest change that is there; null where there is none. */
  seq: number | null;
  /** The files that were put, by their paths in the lake. */
  files: string[];
  /** Changes in them. */
  changes: number;
  /** Snapshots that were removed. */
  removed: string[];
};

export type DatasetParts = {
  storage: Storage;
  connection: Connection;
  identity: Identity;
  job: ListedJob;
  now: number;
  /** How long snapshots stay; infinite for ever. */
  keepMs: number;
};

export async function loadDataset(parts: DatasetParts): Promise<LakeLoad> {
  const { connection, job } = parts;
  const load: LakeLoad = { job: job.name, seq: null, files: [], changes: 0, removed: [] };
  if (provenSeq(connection, job) === undefined) return load;
  const source = await putChanges(parts, load);
  await putSnapshot(parts, load);
  await putProof(parts, load, source);
  load.removed = await forgetSnapshots(parts);
  return load;
}

/** The latest change by its last proof; undefined where there was no proof, 0 where nothing has changed by then. */
function provenSeq(connection: Connection, { name }: ListedJob): number | undefined {
  const found = connection
    .prepare<[string, string], { id: number; seq: number | null }>(
      `SELECT proof.id AS id, (SELECT max(last_seq) FROM walks WHERE job = ? AND id <= proof.id) AS seq
       FROM walks AS proof WHERE job = ? AND ${PROOF} ORDER BY proof.id DESC LIMIT 1`,
    )
    .get(name, name);
  return found && (found.seq ?? 0);
}

/** Puts the changes up to the last proof. @returns that proof, with the state of the dataset. */
async function putChanges(parts: DatasetParts, load: LakeLoad): Promise<Source> {
  const { connection, job } = parts;
  for (;;) {
    const course = await courseOf(parts);
    const { ranges, source } = inReadTransaction(connection, () => ({
      ranges: course ? provenAfter(connection, job, course.seq) : [],
      source: sourceOf(connection, job),
    }));
    if (!course) return source;
    load.seq = course.seq;
    if (await putRanges(parts, course, ranges, load)) return source;
  }
}

/** @returns false where another lake was first, perhaps with fewer changes. */
async function putRanges(
  parts: DatasetParts,
  course: Course,
  ranges: readonly Range[],
  load: LakeLoad,
): Promise<boolean> {
  for (const range of ranges) {
    const put = await putRange(parts, course, range);
    if (put === undefined) return false;
    load.files.push(put.path);
    load.changes += put.rows;
    load.seq = range.to;
  }
  return true;
}

export function provenAfter(connection: Connection, job: ListedJob, seq: number): Range[] {
  return [...rangesOf(connection, job, { from: seq, to: provenSeq(connection, job) ?? 0 })];
}

/** What a file of changes has before the columns of the dataset. */
export const changeColumns = [
  { name: '_change', holds: 'text' },
  { name: '_seq', holds: 'integer' },
] as const;

/**
 * Makes the file of a range, at one moment of the mirror, and puts it there once it is made.
 * @returns what was put there; undefined where something was there already.
 * @throws Failure `incomplete` where the mirror has forgotten changes of the range meanwhile.
 */
export async function putRange(
  parts: DatasetParts,
  { number, historyFrom }: Pick<Course, 'number' | 'historyFrom'>,
  range: Range,
): Promise<{ path: string; rows: number } | undefined> {
  const { storage, connection, identity, job } = parts;
  const path = changesPath(job, number, range);
  const write = (spool: Spool) => {
    if (!hasAllAfter(range.from, historyFrom, positionOf(connection, job)))
      throw new Failure('incomplete', `${job.name}: changes were forgotten on their way: try again`);
    const columns = stableColumns(connection, job);
    const sql = changesSql(connection, job, columns, range);
    const lastWalk = lastWalkOf(connection, job.name);
    const changes = { from: range.from, course: number, epoch: identity.epoch, lastWalk };
    const about = { ...aboutNow(parts, range.to), changes };
    return writeParquet(connection, sql, [...changeColumns, ...columns], about, spool);
  };
  const receipt = await putWithReceipt(storage, path, (spool) =>
    inReadTransaction(connection, () => write(spool)),
  );
  return receipt && { path, rows: receipt.rows };
}

/** One a day: the first lake of the day makes it. */
async function putSnapshot(parts: DatasetParts, load: LakeLoad): Promise<void> {
  const { storage, connection, job, now } = parts;
  const path = snapshotPath(job, now);
  const { files } = await storage.list(dirname(path));
  if (!files.includes(basename(path))) {
    const write = (spool: Spool) => {
      const columns = lakeColumns(connection, job);
      const about = { ...aboutNow(parts, positionOf(connection, job).seq), changes: null };
      return writeParquet(connection, rowsSql(job, columns), columns, about, spool);
    };
    const receipt = await putWithReceipt(storage, path, (spool) =>
      inReadTransaction(connection, () => write(spool)),
    );
    if (receipt) {
      load.files.push(path);
      return;
    }
  }
  if (!files.includes(basename(receiptPath(path)))) await ensureReceipt(storage, path);
}

/** For readers: the last proof, and the change up to which the lake is complete. It is the only file that is replaced. */
async function putProof(
  { storage, job, now }: DatasetParts,
  { seq }: LakeLoad,
  source: Source,
): Promise<void> {
  const proof = { version: 1, seq, writtenAt: isoTime(now), source };
  await storage.replace(`${job.table}/_proof.json`, json(proof));
}

function aboutNow(
  { connection, job, now }: DatasetParts,
  seq: number,
): Omit<About, 'version' | 'columns' | 'changes'> {
  return {
    job: job.name,
    seq,
    source: sourceOf(connection, job),
    exportedAt: isoTime(now),
    by: `market-mirror ${version()}`,
  };
}

function sourceOf(connection: Connection, job: ListedJob): Source {
  const table = job.table;
  const [source] = sourcesOf(connection, `SELECT * FROM "${table}"`, {}, { [table]: job.name }, null);
  return source as Source;
}

const folderOf = (job: ListedJob) => `${job.table}/snapshots`;

const dayFolder = (job: ListedJob, day: string) => `${folderOf(job)}/date=${day}`;

const snapshotPath = (job: ListedJob, now: number) =>
  `${dayFolder(job, isoTime(now).slice(0, 10))}/${job.table}.parquet`;

/** The files of all days, the oldest first. */
export async function snapshotFiles(storage: Storage, job: ListedJob): Promise<string[]> {
  const found: string[] = [];
  for (const day of await daysOf(storage, job)) {
    const folder = dayFolder(job, day);
    const { files } = await storage.list(folder);
    found.push(...files.filter((name) => name.endsWith('.parquet')).map((name) => `${folder}/${name}`));
  }
  return found;
}

/** The days of which there is a snapshot, the oldest first. */
async function daysOf(storage: Storage, job: ListedJob): Promise<string[]> {
  const { folders } = await storage.list(folderOf(job));
  return folders.flatMap((name) => /^date=(\d{4}-\d\d-\d\d)$/.exec(name)?.[1] ?? []).sort();
}

/** Removes those that are older than they are to be kept; never the latest one. @returns their paths. */
async function forgetSnapshots({
  storage,
  job,
  now,
  keepMs,
}: {
  storage: Storage;
  job: ListedJob;
  now: number;
  keepMs: number;
}): Promise<string[]> {
  if (keepMs === Number.POSITIVE_INFINITY) return [];
  const days = await daysOf(storage, job);
  const [before] = days.slice(-2);
  if (before === undefined) return [];
  // A clock far ahead of the snapshot before is not believed.
  const believed = Math.min(now, Date.parse(before) + 2 * DAY_MS);
  const removed: string[] = [];
  for (const day of days.slice(0, -1)) {
    if (Date.parse(day) + DAY_MS > believed - keepMs) break;
    const folder = dayFolder(job, day);
    // The receipt goes last: a receipt without its file marks a file that was removed.
    const files = (await storage.list(folder)).files.sort((one, other) => isReceipt(one) - isReceipt(other));
    for (const name of files) await storage.remove(`${folder}/${name}`);
    removed.push(folder);
  }
  return removed;
}

const isReceipt = (name: string) => Number(name.startsWith('_'));

type Course = {
  number: number;
  /** The change after which it goes on. */
  seq: number;
  /** The latest walk when its last file was made, see `lastWalkOf`; empty where it has no file. */
  lastWalk: string;
  /** The history that the mirror had already forgotten when the course began, see `datasets.history_from`. The course never had it. */
  historyFrom: string;
};

/** What a course has in its folder, beside its days. */
type Begun = { version: 1; epoch: string; from: number; historyFrom: string; begunAt: string };

const changesFolder = (job: ListedJob) => `${job.table}/changes`;
export const courseFolder = (job: ListedJob, course: number) => `${changesFolder(job)}/course=${course}`;

export const changesPath = (job: ListedJob, course: number, { from, to }: Range) =>
  `${courseFolder(job, course)}/date=${dayOf(to)}/${from}.parquet`;

const begunPath = (job: ListedJob, course: number) => `${courseFolder(job, course)}/_course.json`;

type CourseParts = {
  storage: Storage;
  connection: Connection;
  job: ListedJob;
  identity: Identity;
  now: number;
};

/**
 * The course to which this mirror adds files: the latest one where it can be continued, else a new one. Undefined where nothing has
 * ever changed. Reads the lake before the mirror: the mirror then knows every change in the lake.
 * @throws Failure `config` where a restored copy of this mirror has begun a later course.
 */
async function courseOf(parts: CourseParts): Promise<Course | undefined> {
  const { storage, connection, job, identity } = parts;
  for (;;) {
    const latest = await latestCourse(storage, job);
    const isOurs = latest?.epoch === identity.epoch;
    if (latest?.epoch !== undefined && !isOurs) await refuseOvertaken(parts);
    const course = latest && isOurs ? await endOf(storage, job, latest) : undefined;
    const { isGoing, first } = inReadTransaction(connection, () => ({
      isGoing: course !== undefined && isContinuedBy(connection, job, course),
      first: firstSeq(connection, job),
    }));
    if (isGoing) return course;
    if (first === undefined) return undefined;
    // An empty folder is as good as a new one.
    const number = latest === undefined ? 1 : latest.epoch === undefined ? latest.number : latest.number + 1;
    await begin(parts, number, first - 1);
  }
}

/** Reads the mirror at one moment. `read` waits for nothing: an open transaction keeps the log from being emptied. */
export const inReadTransaction = <T>(connection: Connection, read: () => T): T =>
  connection.transaction(read)();

export type LatestCourse = Pick<Begun, 'from' | 'historyFrom' | 'begunAt'> & {
  number: number;
  epoch: string | undefined;
};

/** The one with the greatest number; its epoch is undefined where it was not begun after all. */
export async function latestCourse(storage: Storage, job: ListedJob): Promise<LatestCourse | undefined> {
  const number = Math.max(0, ...(await courseNumbers(storage, job)));
  if (number === 0) return undefined;
  const begun = await readJson<Begun>(storage, begunPath(job, number));
  const { from = 0, historyFrom = '', begunAt = '', epoch } = begun ?? {};
  return { number, from, historyFrom, begunAt, epoch };
}

/** Where another lake has begun a course of the same number, that stays: `courseOf` looks at it anew. */
async function begin(parts: CourseParts, number: number, from: number) {
  const { storage, connection, job, identity, now } = parts;
  const { historyFrom } = positionOf(connection, job);
  const begun: Begun = { version: 1, epoch: identity.epoch, from, historyFrom, begunAt: isoTime(now) };
  await storage.put(begunPath(job, number), json(begun));
}

/** Whether all that changed since is there: the mirror knows that change, and has forgotten none after it. */
function isContinuedBy(
  connection: Connection,
  job: ListedJob,
  { seq, lastWalk, historyFrom }: Course,
): boolean {
  const here = positionOf(connection, job);
  if (!hasAllAfter(seq, historyFrom, here)) return false;
  if (lastWalk === '') return seq < (firstSeq(connection, job) ?? 0);
  const isKnown = seq === here.seq || (seq < here.seq && isChange(connection, job, seq));
  return isKnown && hasWalk(connection, job, lastWalk);
}

/** Whether none of the changes that came after `seq` was forgotten since a course began. @param begun its `historyFrom`. */
export const hasAllAfter = (seq: number, begun: string, { historyFrom }: MirrorPosition) =>
  historyFrom === begun || isoTime(seq) >= historyFrom;

/** Whether that walk is one of the mirror's, or was, and has been forgotten. */
function hasWalk(connection: Connection, { name }: ListedJob, walk: string): boolean {
  const there = lastWalkOf(connection, name, walk);
  return there === walk || (there === '' && numberOf(walk) < numberOf(lastWalkOf(connection, name)));
}

const numberOf = (walk: string) => Number.parseInt(walk, 10);

async function endOf(
  storage: Storage,
  job: ListedJob,
  { number, from, historyFrom }: LatestCourse,
): Promise<Course> {
  const days = (await storage.list(courseFolder(job, number))).folders.sort().reverse();
  for (const day of days) {
    const folder = `${courseFolder(job, number)}/${day}`;
    const last = Math.max(...seqsIn((await storage.list(folder)).files));
    if (!Number.isFinite(last)) continue;
    const receipt = await ensureReceipt(storage, `${folder}/${last}.parquet`);
    return { number, seq: receipt.seq, lastWalk: receipt.changes?.lastWalk ?? '', historyFrom };
  }
  return { number, seq: from, lastWalk: '', historyFrom };
}

/** The numbers that are names of files of changes. */
export const seqsIn = (files: readonly string[]) =>
  files.flatMap((name) => (/^(0|[1-9]\d*)\.parquet$/.test(name) ? [Number.parseInt(name, 10)] : []));

async function courseNumbers(storage: Storage, job: ListedJob): Promise<number[]> {
  const { folders } = await storage.list(changesFolder(job));
  return folders.flatMap((name) => /^course=(\d+)$/.exec(name)?.[1] ?? []).map(Number);
}

/** A restored mirror goes on in a course of its own; the mirror before it may not. */
async function refuseOvertaken({ storage, job, identity }: CourseParts): Promise<void> {
  for (const number of await courseNumbers(storage, job)) {
    const begun = await readJson<Begun>(storage, begunPath(job, number));
    if (begun?.epoch === identity.epoch)
      throw new Failure(
        'config',
        `${storage.shown}: another copy of this mirror, restored from a backup, goes on there: name another lake for one of them`,
      );
  }
}
