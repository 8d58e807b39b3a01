/** Which datasets a statement reads, what is proven of them and what was merely seen, and whether that is enough. */

import ms from 'ms';
import { ageOf, describeAhead, describeSeenAhead, isTooOld } from '../../base/clock.ts';
import { Failure } from '../../base/errors.ts';
import { tokenize, unquoted } from '../../base/sql-tokens.ts';
import { describeBeginning } from '../../base/time.ts';
import type { Column, Rows } from '../../output/answer.ts';
import { count } from '../../output/numbers.ts';
import { type Connection, PROOF, quoted, SEEN } from '../../store/read.ts';
import { isHeldColumn } from '../columns.ts';
import type { Params } from './statement.ts';

/** `seq` numbers the latest change that the answer can show, see the view `changes`. */
export type Opened = { columns: Column[]; sources: Source[]; seq: number };

/** `notes`: remarks for the reader of the answer, one line each. */
export type Judged = Opened & { notes: string[] };
export type Answer = Rows & Judged;

/** Times are ISO 8601 UTC. For a question about the past, what was proven and seen by then. */
export type Source = {
  job: string;
  table: string;
  /** When the last walk that proved the dataset complete began; null where none did, or the clock was ahead then. */
  completeAsOf: string | null;
  /** That walk. */
  proof: Proof | null;
  /** When the latest walk or glance that ended well began: it proves nothing. Null where there was none, or the clock was ahead then. */
  seenAsOf: string | null;
  /** That walk or glance. */
  lastLook: LatestCheck | null;
  /** When its first walk ever began, or null. */
  firstWalkAt: string | null;
  /** The table that holds its past: its history, or itself where it is kept as snapshots. */
  past: string;
  /** Where that is read: what it held up to this time has been dropped from it; null where nothing has. */
  historyFrom: string | null;
  /** Rows refused and not resolved: they are missing from the table. */
  quarantined: number;
  /** Rows that the last proof did not show, see `_held_since`; 0 where only what became of rows was read. */
  held: number;
};

type Proof = {
  walkId: number;
  verdict: 'snapshot' | 'verified';
  startedAt: string;
  finishedAt: string;
  pages: number;
  rows: number;
  /** `pagination.total` and `generatedAt` as last received, where the API gives them. */
  total: number | null;
  generatedAt: string | null;
  /** The walk whose proof this one renewed by a single call, where nothing had changed; null for a full walk. */
  renewalOf: number | null;
};

export type LatestCheck = { walkId: number; kind: 'walk' | 'glance'; startedAt: string; finishedAt: string };

type Others = Pick<Source, 'firstWalkAt' | 'historyFrom' | 'quarantined'> & { history: string | null };

/** @param tables the mirrored tables with their jobs. */
export function sourcesOf(
  connection: Connection,
  sql: string,
  params: Params,
  tables: Readonly<Record<string, string>>,
  asOf: string | null,
): Source[] {
  const until = asOf ?? '9999';
  const lastProof = connection.prepare<[string, string], Proof>(
    `SELECT id AS walkId, verdict, started_at AS startedAt, finished_at AS finishedAt, pages, "rows", total,
       generated_at AS generatedAt, renewal_of AS renewalOf
     FROM main.walks WHERE job = ? AND ${PROOF} AND finished_at <= ? ORDER BY id DESC LIMIT 1`,
  );
  const latestLook = connection.prepare<[string, string], LatestCheck>(
    `SELECT id AS walkId, kind, started_at AS startedAt, finished_at AS finishedAt
     FROM main.walks WHERE job = ? AND ${SEEN} AND finished_at <= ? ORDER BY id DESC LIMIT 1`,
  );
  const others = connection.prepare<[Record<string, string>], Others>(
    `SELECT
       (SELECT started_at FROM main.walks WHERE job = :job ORDER BY id LIMIT 1) AS firstWalkAt,
       (SELECT name FROM main.sqlite_master WHERE name = :table || '_history') AS history,
       (SELECT history_from FROM _datasets WHERE job = :job) AS historyFrom,
       (SELECT count(*) FROM quarantine
        WHERE job = :job AND first_seen_at <= :until AND coalesce(resolved_at > :until, true)) AS quarantined`,
  );
  // A version that came later was not held then, and of one that was removed it is not known.
  const heldIn = (table: string) =>
    connection
      .prepare<[{ until: string }], number>(
        `SELECT count(*) FROM main.${quoted(table)} WHERE _held_since <= :until AND _changed_at <= :until`,
      )
      .pluck()
      .get({ until }) ?? 0;
  const opened = tablesRead(connection, sql, params);
  const standing = standingRead(connection, sql);
  const read = new Set(opened.map((table) => /^_(.+?)_(history_rows|rows|volatile)$/.exec(table)?.[1]));
  return Object.entries(tables)
    .filter(([table]) => read.has(table))
    .map(([table, job]) => {
      const proof = lastProof.get(job, until) ?? null;
      const lastLook = latestLook.get(job, until) ?? null;
      const { firstWalkAt, history, historyFrom, quarantined } = others.get({ job, table, until }) as Others;
      const past = history ?? table;
      return {
        job,
        table,
        completeAsOf: proof?.startedAt ?? null,
        proof,
        seenAsOf: lastLook?.startedAt ?? null,
        lastLook,
        firstWalkAt,
        past,
        historyFrom: opened.includes(`_${past}_rows`) ? historyFrom : null,
        quarantined,
        held: standing.has(`_${table}_rows`) ? heldIn(`_${table}_rows`) : 0,
      };
    });
}

/**
 * An empty answer would claim that the dataset was empty then, which is not known.
 * @throws Failure `usage` where `asOf` lies before the first walk of a dataset, `incomplete` where no walk of it has ended yet.
 */
export function refuseUnread(connection: Connection, sources: readonly Source[], asOf: string): void {
  const unread = sources.find(({ firstWalkAt }) => firstWalkAt === null || asOf < firstWalkAt);
  if (!unread) return;
  const { job, firstWalkAt } = unread;
  const hasEnded = connection
    .prepare(`SELECT 1 FROM main.walks WHERE job = ? AND kind = 'walk' AND status = 'complete' LIMIT 1`)
    .get(job);
  if (!hasEnded)
    throw new Failure(
      'incomplete',
      `${job} was not mirrored at ${asOf}, and no walk of it has ended yet: run market-mirror sync ${job}`,
    );
  throw new Failure('usage', describeBeginning(`The copy of ${job}`, firstWalkAt ?? ''));
}

/** The number of the latest change in the mirror, or the last that one at `asOf` can have. */
export function latestSeq(connection: Connection, asOf: string | null): number {
  if (asOf !== null) return Date.parse(asOf);
  return connection.prepare<[], number | null>('SELECT max(last_seq) FROM _datasets').pluck().get() ?? 0;
}

/**
 * The tables that a statement reads, through all views: the program that SQLite makes of it names every b-tree that it opens.
 */
export function tablesRead(connection: Connection, sql: string, params: Params): string[] {
  const program = connection.prepare<[Params], { opcode: string; p2: number; p3: number }>(`EXPLAIN ${sql}`);
  const opened = program.all(params).filter(({ opcode }) => opcode === 'OpenRead' || opcode === 'ReopenIdx');
  return ['main', 'temp'].flatMap((database, number) => {
    const roots = opened.filter(({ p3 }) => p3 === number).map(({ p2 }) => p2);
    return connection
      .prepare<[string], string>(
        `SELECT tbl_name FROM ${database}.sqlite_master WHERE rootpage IN (SELECT value FROM json_each(?))`,
      )
      .pluck()
      .all(JSON.stringify(roots));
  });
}

/** Views that tell what became of rows, or that leave out those that are held. */
const notStanding = /^(freshness|changes)$|_(changes|current)$/;

/** The tables that a statement reads for the rows of a dataset as they stand, through views, too. */
function standingRead(connection: Connection, sql: string): Set<string> {
  const isNamed = connection
    .prepare<[string], string>(
      `SELECT name FROM main.sqlite_master WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE`,
    )
    .pluck();
  const names = new Set(
    tokenize(sql).flatMap(({ kind, text }) => (kind === 'name' ? (isNamed.get(unquoted(text)) ?? []) : [])),
  );
  const tablesOf = (name: string) => {
    try {
      return tablesRead(connection, `SELECT * FROM ${quoted(name)}`, {});
    } catch {
      // A view of a user that lacks its table, of which only a column has the name.
      return [];
    }
  };
  return new Set([...names].filter((name) => !notStanding.test(name)).flatMap(tablesOf));
}

/** How old the data may be, in milliseconds: since it was proven complete, and since new rows were looked for. */
export type MaxAges = { maxAgeMs?: number | undefined; maxSeenAgeMs?: number | undefined };

/**
 * The sources of an answer to `sql` for `asOf`, dated, and what to say of them.
 * @throws Failure `usage` where what stood at `asOf` has been dropped, `incomplete` where a source is too old.
 */
export function judge(
  sources: readonly Source[],
  { sql, asOf, isWhole = false }: { sql: string; asOf: string | null; isWhole?: boolean },
  { maxAgeMs, maxSeenAgeMs }: MaxAges,
  now: number,
): { sources: Source[]; notes: string[] } {
  const moment = asOf === null ? now : Date.parse(asOf);
  const dated = datedBy(sources, moment);
  if (asOf !== null) refuseForgotten(dated, asOf);
  refuseOlder(dated, proven, maxAgeMs, moment);
  refuseOlder(dated, seen, maxSeenAgeMs, moment);
  return { sources: dated, notes: [...notesOn(dated, asOf), ...notesOnHeld(dated, isWhole ? '' : sql)] };
}

/** The sources as of `now`: a walk that began ahead of the clock has no known time. */
function datedBy(sources: readonly Source[], now: number): Source[] {
  const past = (time: string | null) =>
    time === null || ageOf(Date.parse(time), now) === null ? null : time;
  return sources.map((source) => ({
    ...source,
    completeAsOf: past(source.completeAsOf),
    seenAsOf: past(source.seenAsOf),
  }));
}

function notesOn(sources: readonly Source[], asOf: string | null): string[] {
  return sources.flatMap((source) => {
    const { job, table, past, completeAsOf, seenAsOf, proof, firstWalkAt, historyFrom } = source;
    if (firstWalkAt === null) return [`${table} was never mirrored: run market-mirror sync ${job}`];
    if (completeAsOf === null && proof !== null) return [`${table}: ${describeAhead(proof.startedAt)}`];
    if (completeAsOf === null)
      return [
        `${table} ${asOf === null ? 'has never been' : 'had never been'} complete: rows may be missing`,
      ];
    return [
      ...(seenAsOf !== null && seenAsOf > completeAsOf
        ? [
            `${table} is proven complete as of ${completeAsOf}; it also has what was seen as of ${seenAsOf}, which is not proven`,
          ]
        : []),
      ...(asOf === null && historyFrom !== null
        ? [`${past} goes back to ${historyFrom} only: what is older was dropped`]
        : []),
    ];
  });
}

/** Whoever names the columns of held rows knows of them. */
function notesOnHeld(sources: readonly Source[], sql: string): string[] {
  if (sources.every(({ held }) => held === 0)) return [];
  if (tokenize(sql).some(({ text }) => isHeldColumn(unquoted(text).toLowerCase()))) return [];
  return sources.flatMap(({ table, held }) => {
    if (held === 0) return [];
    const [are, them] = held === 1 ? ['is', 'it'] : ['are', 'them'];
    const rows = `${count(held, 'row')} ${are} held, since the last proof did not show ${them}`;
    return [`${table}: ${rows}: WHERE _held_since IS NULL leaves ${them} out`];
  });
}

/** @throws Failure `usage` where changes after `since` have been dropped. */
export function refuseGap(sources: readonly Source[], since: string): void {
  const [gap] = sources.filter((source) => isForgotten(since, source));
  if (gap)
    throw new Failure(
      'usage',
      `--since: changes of ${gap.table} up to ${gap.historyFrom} were dropped (MIRROR_KEEP_HISTORY): export all of it, and go on from the receipt's seq`,
    );
}

function refuseForgotten(sources: readonly Source[], asOf: string): void {
  const [gap] = sources.filter((source) => isForgotten(asOf, source));
  if (gap)
    throw new Failure(
      'usage',
      `--as-of: ${gap.past} goes back to ${gap.historyFrom} only, what is older was dropped (MIRROR_KEEP_HISTORY)`,
    );
}

/** Before the first walk there was nothing that could have been dropped. */
function isForgotten(time: string, { firstWalkAt, historyFrom }: Source): boolean {
  return historyFrom !== null && time < historyFrom && firstWalkAt !== null && time >= firstWalkAt;
}

/** One of the two ages of a source, and its words. */
type Age = {
  since(source: Source): string | null;
  tooOld: string;
  last: string;
  /** Where `since` is null. */
  unknown(source: Source): string;
};

const proven: Age = {
  since: ({ completeAsOf }) => completeAsOf,
  tooOld: 'older than',
  last: 'was last complete at',
  unknown: ({ job, proof }) =>
    proof === null ? `${job} has never been complete` : `${job}: ${describeAhead(proof.startedAt)}`,
};

const seen: Age = {
  since: ({ seenAsOf }) => seenAsOf,
  tooOld: 'not looked at within',
  last: 'was last looked at',
  unknown: ({ job, lastLook }) =>
    lastLook === null ? `${job} was never looked at` : `${job}: ${describeSeenAhead(lastLook.startedAt)}`,
};

function refuseOlder(sources: readonly Source[], age: Age, maxMs: number | undefined, now: number): void {
  if (maxMs === undefined) return;
  const tooOld = sources.flatMap((source) => {
    const since = age.since(source);
    const ageMs = since === null ? null : ageOf(Date.parse(since), now);
    if (!isTooOld(ageMs, maxMs)) return [];
    return [ageMs === null ? age.unknown(source) : `${source.job} ${age.last} ${since}, ${ms(ageMs)} ago`];
  });
  if (tooOld.length > 0) throw new Failure('incomplete', `${age.tooOld} ${ms(maxMs)}: ${tooOld.join('; ')}`);
}
