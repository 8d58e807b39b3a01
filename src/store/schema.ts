/** The tables that the mirror keeps about itself. Those of the datasets are declared in `jobs/`. */

import { sql } from 'drizzle-orm';
import { check, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { FailureKind } from '../base/errors.ts';
import type { DiscoveredShape, FieldType, Problem } from '../validate/checked.ts';
import type { Motion } from '../validate/motion.ts';
import { PROOF } from './sql.ts';

/** One walk or glance over a dataset: how far it got, its counts, and the evidence for its verdict. */
export const walks = sqliteTable(
  'walks',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    job: text().notNull(),
    /** `walk`: it reads the whole dataset. `glance`: it looked at the head alone, for new rows; it proves nothing. */
    kind: text({ enum: ['walk', 'glance'] })
      .notNull()
      .default('walk'),
    /**
     * `running`, `waiting`, `complete` or `failed`. The next run resumes it as long as `finished_at` is null. It stays `running` if its
     * process dies.
     */
    status: text({ enum: ['running', 'waiting', 'complete', 'failed'] }).notNull(),
    /**
     * What it proves: `snapshot` (the mirror has the whole published snapshot), `verified` (it missed no row that
     * was there from its beginning to its end), `union` (nothing is proven). Null until it ends, and for a glance.
     */
    verdict: text({ enum: ['snapshot', 'verified', 'union'] }),
    /** When the first page that it has saved was asked for; until then, when it began. What it read is as of then, or later. */
    startedAt: text('started_at').notNull(),
    /** When it ended, complete or not. Null while it can still continue. */
    finishedAt: text('finished_at'),
    /** The offset of the next page to ask for. */
    nextOffset: integer('next_offset').notNull().default(0),
    /** Pages saved. A page that was read twice counts twice. */
    pages: integer().notNull().default(0),
    /** Rows received, each counted once. */
    rows: integer().notNull().default(0),
    /** Rows that are new in the table. */
    inserted: integer().notNull().default(0),
    /**
     * Rows new to the mirror that stood in the head: on the pages that a glance would have read. Such counts decide about
     * glances; the first walk of a dataset has none.
     */
    newInHead: integer('new_in_head').notNull().default(0),
    /** Rows new to the mirror that stood behind all known ones. */
    newAtTail: integer('new_at_tail').notNull().default(0),
    /** Rows new to the mirror that stood anywhere else. */
    newElsewhere: integer('new_elsewhere').notNull().default(0),
    /** Rows that glances had brought since the walk before: with `inserted`, all that were new since then. */
    glanced: integer().notNull().default(0),
    /** Rows that replaced an older version. */
    updated: integer().notNull().default(0),
    /** Rows removed from the table when it ended, because they are proven to be gone. */
    deleted: integer().notNull().default(0),
    /** Rows refused: see `quarantine`. */
    quarantined: integer().notNull().default(0),
    /** Differences from what was expected: see `drift`. */
    drifted: integer().notNull().default(0),
    /** Calls to the API, also those that failed or brought no page: see `requests`. Those without a page count once the walk ends or waits. */
    apiCalls: integer('api_calls').notNull().default(0),
    /** `pagination.total` as last received, where the API gives it. */
    total: integer(),
    /** `generatedAt` of the snapshot, as received. */
    generatedAt: text('generated_at'),
    /** Why it waits, failed or proves nothing, in words for people. Null if all is well. */
    error: text(),
    /**
     * If its `status` is `failed`, of what kind that is: `unreachable`, `contract`, `key`, `incomplete`, `disk`, `config` or
     * `bug`. `sync` has an exit code for each.
     */
    errorKind: text('error_kind').$type<FailureKind>(),
    /** `pagination.total` of the first page. */
    totalFirst: integer('total_first'),
    /** Different rows found. */
    distinctKeys: integer('distinct_keys').notNull().default(0),
    /** How often it started again from the first page because the snapshot was replaced. */
    restarts: integer().notNull().default(0),
    /** How often it went back to find a row that it had read before. */
    stepsBack: integer('steps_back').notNull().default(0),
    /** Rows without a readable key. Each is in `quarantine`, and may be one that the mirror already has. */
    unkeyed: integer().notNull().default(0),
    /** Rows that it did not find when it ended, but that stay for now: see `_held_reason` of the dataset's table. */
    held: integer().notNull().default(0),
    /** The walk whose proof this one renewed with a single call, because nothing had changed. Null for a full walk. */
    renewalOf: integer('renewal_of'),
    /** `seq` of its first change, see `changes`. Null if it changed nothing. */
    firstSeq: integer('first_seq'),
    /** `seq` of its latest change, see `changes`. Null if it changed nothing. */
    lastSeq: integer('last_seq'),
    /** JSON: how often each kind of anomaly was found. */
    anomalies: text().notNull().default('{}'),
    /** JSON, for the program alone: the walk's checkpoint, with all that it needs to continue. */
    memory: text().notNull().default('{}'),
    /** Of a proof: the `seq` from which on the rows have the order in which it found them. Null for any other walk. */
    orderSeq: integer('order_seq'),
    /** Of a proof: the later one that found the same rows in the same order, so that its pages alone are kept. */
    pagesOf: integer('pages_of'),
    /** Of a proof: the greatest number of a row when it ended. Rows that have come since have greater ones. */
    lastNumber: integer('last_number'),
    /** Until when it waits, if its `status` is `waiting` and the time is known. */
    waitsUntil: text('waits_until'),
    /** What it then waits for, in one word: `quota`, `rate`, `retry_after` and so on. */
    waitsFor: text('waits_for'),
  },
  (table) => [
    index('walks_by_job').on(table.job, table.id),
    index('walks_by_seq').on(table.lastSeq),
    // Finds the last proof without reading every walk since, however long ago it was.
    index('walks_by_proof').on(table.job, table.id).where(sql.raw(PROOF)),
    index('walks_by_order').on(table.job, table.orderSeq).where(sql`order_seq IS NOT NULL`),
  ],
);

export type WalkRow = typeof walks.$inferSelect;

/** One row for each call to the API. */
export const requests = sqliteTable(
  'requests',
  {
    id: integer().primaryKey(),
    /** When it was sent. */
    at: text().notNull(),
    job: text().notNull(),
    /** The walk it was made for (`walks.id`). */
    walkId: integer('walk_id'),
    /** Path and query. */
    url: text().notNull(),
    /** HTTP status. Null if no answer came. */
    status: integer(),
    /** Milliseconds to the end of the answer. */
    ms: integer().notNull(),
    /** Size of the answer's body. */
    bytes: integer().notNull(),
    requestId: text('request_id'),
    /** X-RateLimit-Limit, if the answer has it. */
    rateLimit: integer('rate_limit'),
    /** X-RateLimit-Remaining, if the answer has it. */
    rateRemaining: integer('rate_remaining'),
    /** `error` of an Error body, or why no answer came. Null if the call succeeded. */
    errorCode: text('error_code'),
  },
  (table) => [index('requests_by_time').on(table.at)],
);

/** Rows that break the contract, kept whole with the reason. */
export const quarantine = sqliteTable(
  'quarantine',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    job: text().notNull(),
    /** The row's key, if it could be read. */
    key: text(),
    /** What tells refused rows apart: the key, or a digest of a row without one. The same row refused again is counted. */
    identity: text().notNull(),
    /** The row's JSON as received. */
    body: text().notNull(),
    /** JSON: `[{path, expected, received}]`. */
    problems: text({ mode: 'json' }).notNull().$type<readonly Problem[]>(),
    requestId: text('request_id'),
    /** The last walk that found it (`walks.id`). */
    walkId: integer('walk_id').notNull(),
    /** When it was first refused. */
    firstSeenAt: text('first_seen_at').notNull(),
    /** When it was last refused. */
    lastSeenAt: text('last_seen_at').notNull(),
    /** How often it was refused. */
    times: integer().notNull().default(1),
    /**
     * When the problem ended: a row of this key was accepted, a retry accepted this one, or a walk proved that it is gone
     * upstream. Null while the problem stands. See `MIRROR_KEEP_RECORDS`.
     */
    resolvedAt: text('resolved_at'),
  },
  (table) => [
    uniqueIndex('quarantine_by_identity').on(table.job, table.identity),
    index('quarantine_by_resolution').on(table.job, table.resolvedAt),
  ],
);

/** Differences between what the contract or earlier rows say and what came. Each has one row, kept for `MIRROR_KEEP_RECORDS`. */
export const drift = sqliteTable(
  'drift',
  {
    job: text().notNull(),
    /**
     * In rows with a contract: `extra-property`, `new-value` (of an enumeration), `out-of-range`. In other rows:
     * `new-field` (not in the first whole walk), `vanished-field` (found by the whole walk before the last one, but not
     * by the last one), `new-type`, `no-column` (why a field is only in `_body`), `contradicted-key`
     * (different rows have the same key at once, or a row has none), `new-key` (rows are known by other fields from then
     * on), `moved-rows` (they are elsewhere in the response). In both: `moving-field` (it moves by itself, and so makes no
     * version). `more` sums up all above 1,000 differences.
     */
    kind: text().notNull(),
    /** The property, its names joined by dots. For a discovered field its JSON path. */
    path: text().notNull(),
    /** What came, if that says more. */
    detail: text().notNull(),
    /** When it was first seen. */
    firstSeenAt: text('first_seen_at').notNull(),
    /** When it was last seen. */
    lastSeenAt: text('last_seen_at').notNull(),
    /** In how many rows it was found. For discovered fields: in how many pages. */
    times: integer().notNull(),
    requestId: text('request_id'),
    /** The first walk that found it (`walks.id`). */
    walkId: integer('walk_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.job, table.kind, table.path, table.detail] })],
);

/** The fields found in datasets whose record shape is not specified. Each has a column that reads it from `_body`. */
export const fields = sqliteTable(
  'fields',
  {
    job: text().notNull(),
    /** The column of the dataset's table that shows the field. */
    column: text().notNull(),
    /** JSON path of the field within `_body`. */
    path: text().notNull(),
    /** JSON: every type seen, `big-integer` for whole numbers above 2^53. `[]` as long as all values were null. */
    types: text({ mode: 'json' }).notNull().$type<readonly FieldType[]>(),
    /** 1 if some row has null there, or no such field. */
    nullable: integer({ mode: 'boolean' }).notNull(),
    /** When a row first had the field. */
    firstSeenAt: text('first_seen_at').notNull(),
    /** When the last walk that found the field found it first. */
    lastSeenAt: text('last_seen_at').notNull(),
    /** JSON of one value, shortened. */
    example: text(),
    /** The last walk that found the field (`walks.id`). */
    walkId: integer('walk_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.job, table.column] })],
);

/** One row for each dataset: how to read it if that is not specified, how far back its history goes, when it is due. */
export const datasets = sqliteTable('_datasets', {
  job: text().primaryKey(),
  /** JSON: what was found out of a list without a contract, such as the fields of its key. */
  shape: text({ mode: 'json' }).$type<DiscoveredShape>(),
  /** JSON: fields that change from walk to walk, and which of them are ages. */
  motions: text({ mode: 'json' }).notNull().default([]).$type<readonly Motion[]>(),
  /** `seq` of its latest change, see `changes`. Null if there was none. */
  lastSeq: integer('last_seq'),
  /** `seq` of its latest order that came without a change of a row. Null if there was none. */
  reorderedSeq: integer('reordered_seq'),
  /** `seq` from which on its rows have their present keys: who knows older ones begins anew. Null if they never changed. */
  keysSeq: integer('keys_seq'),
  /** Grows with every change of its volatile values, and with every row that is held or no longer is: `seq` tells of neither. */
  volatileSeq: integer('volatile_seq').notNull().default(0),
  /**
   * Versions that ended by this time were removed from its history, see `MIRROR_KEEP_HISTORY`; or snapshots taken by
   * this time from its table. Null if none were.
   */
  historyFrom: text('history_from'),
  /** The order of the rows before this `seq` is forgotten. Null if none is. */
  ordersFrom: integer('orders_from'),
  /** When the daemon will mirror it next. */
  nextDueAt: text('next_due_at'),
});

/** What the governor has learnt about quota, rate and concurrency: one row. */
export const governor = sqliteTable('_governor', {
  /** Always 1. */
  id: integer().primaryKey(),
  /** JSON that only the program reads. */
  state: text().notNull(),
  /** When it last changed. */
  updatedAt: text('updated_at').notNull().default(sql`(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`),
});

/** Which rows a walk has met, and in what order, one row a page (`pages.ts`). */
export const walkPages = sqliteTable(
  '_walk_pages',
  {
    /** `walk_id << 20 | slot`: the pages of a walk in the order in which their rows are shown. */
    id: integer().primaryKey(),
    /** How many of its numbers are rows of the table. */
    rows: integer().notNull(),
    /** JSON: the numbers of its rows that no page before it lists; a refused row that is not in the table stands as minus its id in `quarantine`. */
    numbers: text().notNull(),
  },
  // With one null among them, no row would ever seem to be gone. Where a migration rebuilds the table, a name in front of the column
  // would stay that of the table before its renaming.
  () => [check('walk_pages_numbers', sql.raw(`numbers NOT LIKE '%null%'`))],
);

/** Which mirror this is: one row. Whoever follows it from elsewhere knows it by this. */
export const identity = sqliteTable('_identity', {
  /** Always 1. */
  id: integer().primaryKey(),
  /** It stays through backups and wherever the file moves. */
  name: text().notNull(),
  /** Another one in every backup: a mirror that was restored from one has lost changes that others may have seen. */
  epoch: text().notNull(),
});

/**
 * Each time that a backup took the mirror's place. Changes with a greater `seq` than `backup_seq`, up to `restored_seq`, were
 * those of the mirror before: whoever has seen one of them begins anew.
 */
export const restores = sqliteTable('_restores', {
  id: integer().primaryKey(),
  /** Of the latest change in the backup. */
  backupSeq: integer('backup_seq').notNull(),
  /** The mirror before had no greater one; null in a backup that nobody has written to. */
  restoredSeq: integer('restored_seq'),
});

/** The saved queries of `MIRROR_REPORTS`: one row for each, with its last run. */
export const reports = sqliteTable('_reports', {
  /** Of its file, without `.sql`. */
  name: text().primaryKey(),
  /** What people read: its `title`, or else its name. */
  title: text().notNull(),
  /** Its file as last read: when it is edited, it is due. */
  sql: text().notNull(),
  /** JSON: the jobs whose datasets its last run read. */
  reads: text({ mode: 'json' }).notNull().default([]).$type<readonly string[]>(),
  /** `seq` of the latest change that its last run could show, see `changes`. Null before the first. */
  seq: integer(),
  /** When its last run began. Null before the first. */
  ranAt: text('ran_at'),
  /** How long its last run took, in milliseconds. */
  durationMs: integer('duration_ms'),
  /** Rows of its last result. */
  rows: integer(),
  /** Rows of it that were not told of before: all of them for a report that is no alert. */
  newRows: integer('new_rows'),
  /** Why it waits for a proof, in words for people. Null if it does not. */
  waits: text(),
  /** What is wrong with its file, in words for people. Null if nothing is. */
  mistake: text(),
  /** Why its last run failed, in words for people. Null if it did not. */
  error: text(),
  /** How many of its last runs failed in a row, since its file was edited. */
  failures: integer().notNull().default(0),
  /** Of what kind that is, as in `walks`. */
  errorKind: text('error_kind').$type<FailureKind>(),
  /** JSON: what its last result was made of, as the receipt of `export` says it, with `file` where there is one. */
  receipt: text(),
});

export type ReportRow = typeof reports.$inferSelect;

/** The rows that alerts have told of. */
export const reportKeys = sqliteTable(
  '_report_keys',
  {
    /** The name of the report. */
    report: text().notNull(),
    /** JSON: the values of the watched columns, in their order. */
    key: text().notNull(),
    /** When it was told of. */
    at: text().notNull(),
    /** Since when the result does not show it. Null while it does. It is forgotten 90 days later. */
    leftAt: text('left_at'),
  },
  (table) => [primaryKey({ columns: [table.report, table.key] })],
);

/** What reports tell: each message is written in the transaction that writes its keys, and sent afterwards. */
export const reportMessages = sqliteTable('_report_messages', {
  /** A digest of the report, the values of the watched columns, and `seq`: a message that is sent twice has the same. */
  id: text().primaryKey(),
  /** The name of the report. */
  report: text().notNull(),
  /** When it was written. */
  at: text().notNull(),
  /** Who gets it: `webhook` or `command`. */
  receiver: text({ enum: ['webhook', 'command'] }).notNull(),
  /** JSON: what is sent. */
  body: text().notNull(),
  /** How often it could not be sent. */
  failures: integer().notNull().default(0),
  /** Why it could not be sent the last time. Null if it was not tried, or was sent. */
  error: text(),
  /** When it is tried again. Null for at once. */
  nextTryAt: text('next_try_at'),
  /** When it was sent. Null until then. */
  sentAt: text('sent_at'),
  /** When it was given up, three days after it was written. Null otherwise. */
  givenUpAt: text('given_up_at'),
});

export type ReportMessage = typeof reportMessages.$inferSelect;
