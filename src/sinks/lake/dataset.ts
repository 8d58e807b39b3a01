/** One dataset in the lake: the files of its changes, up to its last proof, and a snapshot a day. */

import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DAY_MS, isoTime } from '../../base/clock.ts';
import { Failure } from '../../base/errors.ts';
import { version } from '../../base/version.ts';
import type { ListedJob } from '../../job/list.ts';
import { changesIn, commitsIn, firstSeq, isChange, positionOf, type Range } from '../../reading/changes.ts';
import { type Source, sourcesOf } from '../../reading/query/sources.ts';
import { type Connection, type Identity, PROOF, quoted, seqOf } from '../../store/read.ts';
import { lastWalkOf } from '../follow.ts';
import {
  type About,
  ensureReceipt,
  type LakeColumn,
  lakeColumns,
  listed,
  putWithReceipt,
  type Receipt,
  receiptPath,
  stableColumns,
} from './files.ts';
import { listFolder, measureFile, putJson, readJson, removeFile } from './folder.ts';

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
  /** Of the lake. */
  folder: string;
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
  const epoch = await epochOf(parts);
  // Of one moment: what the proof says of the changes that are put.
  const { ranges, source } = connection.transaction(() => ({
    ranges: epoch ? provenAfter(connection, job, epoch.seq) : [],
    source: sourceOf(connection, job),
  }))();
  load.seq = epoch?.seq ?? null;
  for (const range of epoch ? ranges : []) {
    const { path, rows } = putChanges(parts, epoch as Epoch, range);
    load.files.push(path);
    load.changes += rows;
    load.seq = range.to;
  }
  await putSnapshot(parts, load);
  // For readers: the last proof, and the change up to which the lake is complete. It is the only file that is replaced.
  const proof = { version: 1, seq: load.seq, writtenAt: isoTime(parts.now), source };
  putJson(parts.folder, `${job.table}/_proof.json`, proof);
  load.removed = forgetSnapshots(parts);
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

/** So many changes go into a file, at most, unless a single commit has made more. */
const MAX_ROWS_PER_FILE = 250_000;

const dayOf = (seq: number) => isoTime(seq).slice(0, 10);

/** What was proven after a change, cut at days (UTC) and at many rows, always between two commits. */
function provenAfter(connection: Connection, job: ListedJob, seq: number): Range[] {
  const ranges: Range[] = [];
  let [from, to, rows] = [seq, seq, 0];
  for (const commit of commitsIn(connection, job, { from, to: provenSeq(connection, job) ?? 0 })) {
    if (rows > 0 && (rows + commit.rows > MAX_ROWS_PER_FILE || dayOf(commit.seq) !== dayOf(to))) {
      ranges.push({ from, to });
      [from, rows] = [to, 0];
    }
    to = commit.seq;
    rows += commit.rows;
  }
  if (rows > 0) ranges.push({ from, to });
  return ranges;
}

/** What a file of changes has before the columns of the dataset. */
const changeColumns = [
  { name: '_change', holds: 'text' },
  { name: '_seq', holds: 'integer' },
] as const;

/** Puts the file of a range there. @throws Failure `incomplete` where the mirror has forgotten changes of the range meanwhile. */
function putChanges(parts: DatasetParts, epoch: Epoch, range: Range): { path: string; rows: number } {
  const { folder, connection, identity, job } = parts;
  const path = `${epochFolder(job, epoch.number)}/date=${dayOf(range.to)}/${range.from}.parquet`;
  const receipt = connection.transaction(() => {
    if (isForgotten(connection, job, range.from, epoch))
      throw new Failure('incomplete', `${job.name}: changes were forgotten on their way: try again`);
    const columns = stableColumns(connection, job);
    const lastWalk = lastWalkOf(connection, job.name);
    const changes = { from: range.from, folder: epoch.number, epoch: identity.epoch, lastWalk };
    return putWithReceipt(
      folder,
      path,
      connection,
      changesSql(connection, job, columns, range),
      [...changeColumns, ...columns],
      {
        ...aboutNow(parts, range.to),
        changes,
      },
    );
  })();
  return { path, rows: receipt.rows };
}

/** SQL for the changes of a range, in their order: `_change` and `_seq`, then the columns. */
function changesSql(
  connection: Connection,
  job: ListedJob,
  columns: readonly LakeColumn[],
  range: Range,
): string {
  const selects = changesIn(connection, job, range).map(({ change, at, from }) => {
    const list = listed(columns, at === '_changed_at' ? 'from' : 'fromHistory');
    return `SELECT ${change} AS _change, ${seqOf(at)} AS _seq, ${list} FROM ${from}`;
  });
  return `${selects.join('\nUNION ALL\n')}\nORDER BY _seq, _key, _change`;
}

/** One a day: the first lake of the day makes it. */
async function putSnapshot(parts: DatasetParts, load: LakeLoad): Promise<void> {
  const { folder, connection, job, now } = parts;
  const isThere = (snapshot: string) => existsSync(join(folder, snapshot));
  const path = snapshotOf(job, isoTime(now).slice(0, 10));
  // A lake may have been killed before it on an earlier day.
  const last = snapshotOf(job, daysOf(folder, job).at(-1) ?? '');
  if (isThere(last)) await ensureReceipt(folder, last);
  if (isThere(path)) return;
  connection.transaction(() => {
    const columns = lakeColumns(connection, job);
    const about = { ...aboutNow(parts, positionOf(connection, job).seq), changes: null };
    const sql = `SELECT ${listed(columns, 'from')} FROM ${quoted(job.table)} ORDER BY _key`;
    putWithReceipt(folder, path, connection, sql, columns, about);
  })();
  load.files.push(path);
}

function aboutNow(
  { connection, job, now }: DatasetParts,
  seq: number,
): Omit<About, 'version' | 'columns' | 'changes'> {
  const source = sourceOf(connection, job);
  return { job: job.name, seq, source, exportedAt: isoTime(now), by: `market-mirror ${version()}` };
}

function sourceOf(connection: Connection, { table, name }: ListedJob): Source {
  const [source] = sourcesOf(connection, `SELECT * FROM ${quoted(table)}`, {}, { [table]: name }, null);
  return source as Source;
}

const snapshotsOf = ({ table }: ListedJob) => `${table}/snapshots`;
const snapshotOf = (job: ListedJob, day: string) => `${snapshotsOf(job)}/date=${day}/${job.table}.parquet`;

/** The days of which there is a snapshot, the oldest first. A lake that was killed, or had no room, may leave an empty folder. */
function daysOf(folder: string, job: ListedJob): string[] {
  const all = join(folder, snapshotsOf(job));
  return listFolder(all).folders.flatMap((name) => {
    const [, day] = /^date=(\d{4}-\d\d-\d\d)$/.exec(name) ?? [];
    return day !== undefined && listFolder(join(all, name)).files.length > 0 ? [day] : [];
  });
}

/** Removes those that are older than they are to be kept; never the latest one. @returns their paths. */
function forgetSnapshots({ folder, job, now, keepMs }: DatasetParts): string[] {
  const days = daysOf(folder, job);
  const [before] = days.slice(-2);
  if (before === undefined || keepMs === Number.POSITIVE_INFINITY) return [];
  // A clock far ahead of the snapshot before is not believed.
  const believed = Math.min(now, Date.parse(before) + 2 * DAY_MS);
  const old = days.slice(0, -1).filter((day) => Date.parse(day) + DAY_MS <= believed - keepMs);
  return old.map((day) => {
    const path = `${snapshotsOf(job)}/date=${day}`;
    for (const name of listFolder(join(folder, path)).files) removeFile(folder, `${path}/${name}`);
    return path;
  });
}

/** A folder of changes that go on from one to the next: another one begins with another epoch of the mirror, with other keys, and behind a gap. */
type Epoch = Pick<Begun, 'historyFrom' | 'keysFrom'> & {
  number: number;
  /** The change after which it goes on. */
  seq: number;
  /** The latest walk when its last file was made, see `lastWalkOf`; empty where it has no file. */
  lastWalk: string;
};

/** What it has beside its days. @property historyFrom the history that the mirror had already forgotten then, and `keysFrom` the change with which its keys were those. */
type Begun = {
  version: 1;
  epoch: string;
  from: number;
  historyFrom: string;
  keysFrom: number;
  begunAt: string;
};

const changesOf = ({ table }: ListedJob) => `${table}/changes`;
const epochFolder = (job: ListedJob, number: number) => `${changesOf(job)}/epoch=${number}`;
const begunPath = (job: ListedJob, number: number) => `${epochFolder(job, number)}/_epoch.json`;

/**
 * The folder to which this mirror adds files: the latest one where it can be continued, else a new one. Undefined where nothing has ever
 * changed. @throws Failure `config` where a restored copy of this mirror has begun a later one.
 */
async function epochOf({ folder, connection, job, identity, now }: DatasetParts): Promise<Epoch | undefined> {
  const number = Math.max(0, ...epochNumbers(folder, job));
  const begun = number > 0 ? readJson<Begun>(folder, begunPath(job, number)) : undefined;
  if (begun && begun.epoch !== identity.epoch) refuseOvertaken(folder, job, identity);
  const end = begun?.epoch === identity.epoch ? await endOf(folder, job, number, begun) : undefined;
  const first = connection.transaction(() => {
    if (end && isContinued(connection, job, end)) return 'goes on';
    return firstSeq(connection, job);
  })();
  if (first === 'goes on') return end;
  if (first === undefined) return undefined;
  const { historyFrom, keysFrom } = positionOf(connection, job);
  // An empty folder is as good as a new one.
  const next = number > 0 && begun === undefined ? number : number + 1;
  const from = first - 1;
  const started: Begun = {
    version: 1,
    epoch: identity.epoch,
    from,
    historyFrom,
    keysFrom,
    begunAt: isoTime(now),
  };
  putJson(folder, begunPath(job, next), started);
  return { number: next, seq: from, lastWalk: '', historyFrom, keysFrom };
}

/** Whether all that changed since is there: the mirror knows that change, and has forgotten none after it. */
function isContinued(connection: Connection, job: ListedJob, epoch: Epoch): boolean {
  const { seq, lastWalk } = epoch;
  if (isForgotten(connection, job, seq, epoch)) return false;
  if (lastWalk === '') return seq < (firstSeq(connection, job) ?? 0);
  const here = positionOf(connection, job);
  const isKnown = seq === here.seq || (seq < here.seq && isChange(connection, job, seq));
  return isKnown && hasWalk(connection, job, lastWalk);
}

/** Whether changes after `seq` were forgotten since a folder was begun, or rows got other keys. Of a restore its epoch tells. */
function isForgotten(
  connection: Connection,
  job: ListedJob,
  seq: number,
  begun: Pick<Begun, 'historyFrom' | 'keysFrom'>,
): boolean {
  const { historyFrom, keysFrom } = positionOf(connection, job);
  if (keysFrom !== begun.keysFrom && seq < keysFrom) return true;
  return historyFrom !== begun.historyFrom && isoTime(seq) < historyFrom;
}

/** Whether that walk is one of the mirror's, or was, and has been forgotten. */
function hasWalk(connection: Connection, { name }: ListedJob, walk: string): boolean {
  const there = lastWalkOf(connection, name, walk);
  return (
    there === walk ||
    (there === '' && Number.parseInt(walk, 10) < Number.parseInt(lastWalkOf(connection, name), 10))
  );
}

/** The number of the change after which a file's changes came is its name. */
const fromOf = (file: string) => Number.parseInt(basename(file), 10);

/** The files of changes in a folder, in their order. */
function changeFiles(folder: string, job: ListedJob, number: number): string[] {
  const at = epochFolder(job, number);
  const files = listFolder(join(folder, at)).folders.flatMap((day) =>
    listFolder(join(folder, at, day))
      .files.filter((name) => /^(0|[1-9]\d*)\.parquet$/.test(name))
      .map((name) => `${at}/${day}/${name}`),
  );
  return files.sort((one, other) => fromOf(one) - fromOf(other));
}

async function endOf(folder: string, job: ListedJob, number: number, begun: Begun): Promise<Epoch> {
  const { from, historyFrom, keysFrom } = begun;
  const last = changeFiles(folder, job, number).at(-1);
  if (last === undefined) return { number, seq: from, lastWalk: '', historyFrom, keysFrom };
  const receipt = await ensureReceipt(folder, last);
  return { number, seq: receipt.seq, lastWalk: receipt.changes?.lastWalk ?? '', historyFrom, keysFrom };
}

const epochNumbers = (folder: string, job: ListedJob): number[] =>
  listFolder(join(folder, changesOf(job))).folders.flatMap((name) => {
    const [, number] = /^epoch=(\d+)$/.exec(name) ?? [];
    return number === undefined ? [] : [Number(number)];
  });

/** A restored mirror goes on in a folder of its own; the mirror before it may not. */
function refuseOvertaken(folder: string, job: ListedJob, identity: Identity): void {
  for (const number of epochNumbers(folder, job))
    if (readJson<Begun>(folder, begunPath(job, number))?.epoch === identity.epoch)
      throw new Failure(
        'config',
        `${folder}: another copy of this mirror, restored from a backup, goes on there: name another lake for one of them`,
      );
}

/** What is wrong with a file, in a line. */
export type Difference = { file: string; message: string };

/** Files of changes and snapshots, and the rows in them. */
export type LakeCheck = { job: string; files: number; rows: number; differences: Difference[] };

/** Compares every file with its receipt, and writes nothing. What is missing or not there yet differs, too. */
export function checkDataset({ folder, connection, job, identity }: DatasetParts): LakeCheck {
  const check: LakeCheck = { job: job.name, files: 0, rows: 0, differences: [] };
  const differs = (file: string, message: string) => check.differences.push({ file, message });
  const numbers = epochNumbers(folder, job).sort((one, other) => one - other);
  for (const number of numbers) {
    const at = epochFolder(job, number);
    const begun = readJson<Begun>(folder, begunPath(job, number));
    // Unknown behind a file without a receipt.
    let reached: number | undefined = begun?.from ?? 0;
    for (const path of changeFiles(folder, job, number)) {
      if (reached !== undefined && fromOf(path) !== reached)
        differs(at, `changes after ${reached}, up to ${fromOf(path)}, are missing`);
      reached = checkFile(folder, path, check)?.seq;
    }
    nameStrangers(folder, at, (name) => /^_?(0|[1-9]\d*)\.(parquet|json)$/.test(name), check);
    if (number !== numbers.at(-1)) continue;
    if (begun && begun.epoch !== identity.epoch)
      differs(at, 'is of before a backup was restored: the next lake begins another folder');
    else if (reached !== undefined && provenAfter(connection, job, reached).length > 0)
      differs(at, `changes after ${reached} are not there yet`);
  }
  if (numbers.length === 0 && (provenSeq(connection, job) ?? 0) > 0)
    differs(changesOf(job), 'changes are not there yet');
  const days = daysOf(folder, job);
  if (days.length === 0 && provenSeq(connection, job) !== undefined)
    differs(snapshotsOf(job), 'there is no snapshot yet');
  for (const day of days) checkFile(folder, snapshotOf(job, day), check);
  nameStrangers(
    folder,
    snapshotsOf(job),
    (name) => [`${job.table}.parquet`, `_${job.table}.json`].includes(name),
    check,
  );
  return check;
}

/** @returns its receipt, where there is one. */
function checkFile(folder: string, path: string, check: LakeCheck): Receipt | undefined {
  const differs = (message: string) => void check.differences.push({ file: path, message });
  check.files += 1;
  const receipt = readJson<Receipt>(folder, receiptPath(path));
  if (!existsSync(join(folder, path))) differs('is missing');
  else if (!receipt) differs('has no receipt: the next lake writes it');
  else {
    const found = measureFile(join(folder, path));
    if (found.sha256 !== receipt.sha256)
      differs(
        `is damaged: ${found.bytes} bytes with another digest than its receipt has (${receipt.bytes} bytes)`,
      );
  }
  check.rows += receipt?.rows ?? 0;
  return receipt;
}

/** Names files that a reader would take for those of the lake. */
function nameStrangers(
  folder: string,
  at: string,
  isOurs: (name: string) => boolean,
  check: LakeCheck,
): void {
  for (const day of listFolder(join(folder, at)).folders)
    for (const name of listFolder(join(folder, at, day)).files)
      if (name.endsWith('.parquet') && !isOurs(name))
        check.differences.push({
          file: `${at}/${day}/${name}`,
          message: 'is no file of the lake: move it away',
        });
}
