/**
 * How far the changes of a dataset have come in the lake. The name of a file is the change after which it goes on, and it is
 * put only where nothing has that name: of two lakes one is the first, and the other goes on where that one has ended,
 * whatever both have read. Where a mirror cannot go on from there, for it was restored from a backup or has forgotten
 * changes, it begins another course, in a folder of its own.
 */

import { isoTime } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import type { ListedJob } from '../../job-list.ts';
import type { Connection, Identity } from '../../store/read.ts';
import { isChange, lastWalkOf, type MirrorPosition, positionOf } from '../follow.ts';
import { ensureReceipt } from './files.ts';
import { dayOf, firstSeq, type Range } from './rows.ts';
import { json, readJson, type Storage } from './storage.ts';

export type Course = {
  number: number;
  /** The change after which it goes on. */
  seq: number;
  /** As the mirror stood when it was last written to; empty where nothing was. */
  lastWalk: string;
  /** What had been forgotten when it began, see `datasets.history_from`: that was never in it. */
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
 * The course on which this mirror goes on; undefined where nothing has ever changed. The lake is looked at before the mirror:
 * what another lake has put there by then, this mirror knows.
 * @throws Failure `config` where another course has taken the place of this mirror's.
 */
export async function courseOf(parts: CourseParts): Promise<Course | undefined> {
  const { storage, connection, job, identity } = parts;
  for (;;) {
    const latest = await latestCourse(storage, job);
    const isOurs = latest?.epoch === identity.epoch;
    if (latest?.epoch !== undefined && !isOurs) await refuseOvertaken(parts, latest.number);
    const course = latest && isOurs ? await endOf(storage, job, latest) : undefined;
    const { isGoing, first } = inReadTransaction(connection, () => ({
      isGoing: course !== undefined && isContinuedBy(connection, job, course),
      first: firstSeq(connection, job),
    }));
    if (isGoing) return course;
    if (first === undefined) return undefined;
    // A folder that was made, and nothing in it, is as good as a new one.
    const number = latest === undefined ? 1 : latest.epoch === undefined ? latest.number : latest.number + 1;
    await begin(parts, number, first - 1);
  }
}

/** What `read` makes of the mirror at one moment. Nothing waits in it, so it keeps the log of the mirror for no longer. */
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

/** One that has the same number already is looked at anew. */
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
  files.flatMap((name) => (/^\d+\.parquet$/.test(name) ? [Number.parseInt(name, 10)] : []));

async function courseNumbers(storage: Storage, job: ListedJob): Promise<number[]> {
  const { folders } = await storage.list(changesFolder(job));
  return folders.flatMap((name) => (/^course=\d+$/.test(name) ? [Number(name.slice('course='.length))] : []));
}

/** The mirror that a backup was restored to goes on in a course of its own, and the one before it has had its time. */
async function refuseOvertaken({ storage, job, identity }: CourseParts, latest: number): Promise<void> {
  for (let number = 1; number < latest; number += 1) {
    const begun = await readJson<Begun>(storage, begunPath(job, number));
    if (begun?.epoch === identity.epoch)
      throw new Failure(
        'config',
        `${storage.shown}: another copy of this mirror, restored from a backup, goes on there: name another lake for one of them`,
      );
  }
}
