/** Which datasets a statement reads, and what is proven of them. */

import { Failure } from '../../errors.ts';
import { type Connection, PROOF, SEEN } from '../../store/read.ts';
import type { Params } from './statement.ts';

/** Times are ISO 8601 UTC. For a question about the past, what was proven and seen by then. */
export type Source = {
  job: string;
  table: string;
  /** When the last walk that proved the dataset complete began; null where none did, or the clock was ahead then. */
  completeAsOf: string | null;
  /** That walk. */
  proof: Proof | null;
  /**
   * When the latest walk or glance that ended well began: new rows had been looked for by then, and nothing is proven by
   * it. Null where there was none, or the clock was ahead then.
   */
  seenAsOf: string | null;
  /** That walk or glance. */
  lastLook: Look | null;
  /** When its first walk ever began, or null. */
  firstWalkAt: string | null;
  /** The table that holds its past: its history, or itself where it is kept as snapshots. */
  past: string;
  /** Where that is read: what it held up to this time has been dropped from it; null where nothing has. */
  historyFrom: string | null;
  /** Rows refused and not resolved: they are missing from the table. */
  quarantined: number;
};

export type Proof = {
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

export type Look = { walkId: number; kind: 'walk' | 'glance'; startedAt: string; finishedAt: string };

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
     FROM walks WHERE job = ? AND ${PROOF} AND finished_at <= ? ORDER BY id DESC LIMIT 1`,
  );
  const latestLook = connection.prepare<[string, string], Look>(
    `SELECT id AS walkId, kind, started_at AS startedAt, finished_at AS finishedAt
     FROM walks WHERE job = ? AND ${SEEN} AND finished_at <= ? ORDER BY id DESC LIMIT 1`,
  );
  const others = connection.prepare<[Record<string, string>], Others>(
    `SELECT
       (SELECT started_at FROM walks WHERE job = :job ORDER BY id LIMIT 1) AS firstWalkAt,
       (SELECT name FROM main.sqlite_master WHERE name = :table || '_history') AS history,
       (SELECT history_from FROM datasets WHERE job = :job) AS historyFrom,
       (SELECT count(*) FROM quarantine
        WHERE job = :job AND first_seen_at <= :until AND coalesce(resolved_at > :until, true)) AS quarantined`,
  );
  const opened = tablesRead(connection, sql, params);
  const read = new Set(opened.map((table) => table.replace(/(_history)?(_rows)?$|_volatile$/, '')));
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
        historyFrom: opened.includes(`${past}_rows`) ? historyFrom : null,
        quarantined,
      };
    });
}

/**
 * An empty answer would say that the dataset was empty then; nobody knows what it was.
 * @throws Failure `usage` where `asOf` lies before the first walk of a dataset, `incomplete` where no walk of it has ended yet.
 */
export function refuseUnread(connection: Connection, sources: readonly Source[], asOf: string): void {
  const unread = sources.find(({ firstWalkAt }) => firstWalkAt === null || asOf < firstWalkAt);
  if (!unread) return;
  const { job, firstWalkAt } = unread;
  const hasEnded = connection
    .prepare(`SELECT 1 FROM walks WHERE job = ? AND kind = 'walk' AND status = 'complete' LIMIT 1`)
    .get(job);
  if (!hasEnded)
    throw new Failure(
      'incomplete',
      `${job} was not mirrored at ${asOf}, and no walk of it has ended yet: run market-mirror sync ${job}`,
    );
  throw new Failure(
    'usage',
    `${asOf} lies before the first walk of ${job} (${firstWalkAt}): the mirror does not know what was there then; ask for that time or a later one`,
  );
}

/** The number of the latest change in the mirror, or the last that one at `asOf` can have. */
export function latestSeq(connection: Connection, asOf: string | null): number {
  if (asOf !== null) return Date.parse(asOf);
  return connection.prepare<[], number | null>('SELECT max(last_seq) FROM datasets').pluck().get() ?? 0;
}

/** The program that SQLite made of the statement names every b-tree it opens, through whatever views. */
function tablesRead(connection: Connection, sql: string, params: Params): string[] {
  const program = connection.prepare<[Params], { opcode: string; p2: number; p3: number }>(`EXPLAIN ${sql}`);
  const roots = program
    .all(params)
    .filter(({ opcode, p3 }) => (opcode === 'OpenRead' || opcode === 'ReopenIdx') && p3 === 0)
    .map(({ p2 }) => p2);
  return connection
    .prepare<[string], string>(
      'SELECT tbl_name FROM sqlite_master WHERE rootpage IN (SELECT value FROM json_each(?))',
    )
    .pluck()
    .all(JSON.stringify(roots));
}
