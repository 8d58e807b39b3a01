/** The tables that the mirror keeps about itself. Those of the datasets are declared in `jobs/`. */

import { sql } from 'drizzle-orm';
import { blob, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { PROOF } from './sql.ts';

/** One pass over a dataset, with its place, its counts and the evidence for its verdict. */
export const walks = sqliteTable(
  'walks',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    job: text().notNull(),
    /** `running`, `snoozed` (it waits), `complete` or `failed`; `running` also where its process has died. */
    status: text({ enum: ['running', 'snoozed', 'complete', 'failed'] }).notNull(),
    /**
     * What it proves: `snapshot` (the published snapshot, whole), `verified` (nothing that was there
     * throughout was missed), `union` (no proof); null until it ends.
     */
    verdict: text({ enum: ['snapshot', 'verified', 'union'] }),
    /** When it began: its rows are as of then, or later. */
    startedAt: text('started_at').notNull(),
    /** When it ended, complete or given up; null while it can be gone on with. */
    finishedAt: text('finished_at'),
    /** Its place: the offset of the page to be asked for next. */
    nextOffset: integer('next_offset').notNull().default(0),
    /** Pages saved, those of places read twice included. */
    pages: integer().notNull().default(0),
    /** Rows that came, each counted once. */
    rows: integer().notNull().default(0),
    /** Rows that were new to the table. */
    inserted: integer().notNull().default(0),
    /** Rows that replaced another version. */
    updated: integer().notNull().default(0),
    /** Rows removed from the table, on proof, when it ended. */
    deleted: integer().notNull().default(0),
    /** Rows refused, see `quarantine`. */
    quarantined: integer().notNull().default(0),
    /** Differences from what was expected, see `drift`. */
    drifted: integer().notNull().default(0),
    /** Calls that brought a page; those that failed are in `requests` alone. */
    apiCalls: integer('api_calls').notNull().default(0),
    /** `pagination.total` as last received, where the API gives it. */
    total: integer(),
    /** `generatedAt` of the snapshot, as received. */
    generatedAt: text('generated_at'),
    /** Why it waits, failed or proves nothing, for people; null where all is well. */
    error: text(),
    /** `pagination.total` of the first page. */
    totalFirst: integer('total_first'),
    /** Different rows met. */
    distinctKeys: integer('distinct_keys').notNull().default(0),
    /** How often it began anew because the snapshot was replaced. */
    restarts: integer().notNull().default(0),
    /** How often it went back in search of a row read before. */
    stepsBack: integer('steps_back').notNull().default(0),
    /** Rows without a readable key: each is in quarantine, and may be one that the mirror knows. */
    unkeyed: integer().notNull().default(0),
    /** Rows that look gone but are kept for now: too many at once, or perhaps among those without a key. */
    held: integer().notNull().default(0),
    /** The walk whose proof this one renewed by a single call, where nothing had changed; null for a full walk. */
    probeOf: integer('probe_of'),
    /** Calls that a full walk would have taken beyond that one. */
    callsSaved: integer('calls_saved').notNull().default(0),
    /** `seq` of its first and its latest change, see `changes`; null where it changed nothing. */
    firstSeq: integer('first_seq'),
    /** See `first_seq`. */
    lastSeq: integer('last_seq'),
    /** JSON: how often each kind of anomaly was met. */
    anomalies: text().notNull().default('{}'),
    /** JSON: what the walk must remember to go on at its place. */
    memory: text().notNull().default('{}'),
  },
  (table) => [
    index('walks_by_job').on(table.job, table.id),
    index('walks_by_seq').on(table.lastSeq),
    // A dataset that has not been proven for long must not cost a look at each of its walks.
    index('walks_by_proof').on(table.job, table.id).where(sql.raw(PROOF)),
  ],
);

export type WalkRow = typeof walks.$inferSelect;

/** One row a call to the API. */
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
    /** HTTP status; null where no answer came. */
    status: integer(),
    /** Milliseconds to the end of the answer. */
    ms: integer().notNull(),
    /** Size of the answer's body. */
    bytes: integer().notNull(),
    requestId: text('request_id'),
    /** X-RateLimit-Limit, where given. */
    rateLimit: integer('rate_limit'),
    /** X-RateLimit-Remaining, where given. */
    rateRemaining: integer('rate_remaining'),
    /** `error` of an Error body, or what kept an answer from coming; null where all went well. */
    errorCode: text('error_code'),
  },
  (table) => [index('requests_by_time').on(table.at)],
);

/** Rows that broke the contract, kept whole with the reason. */
export const quarantine = sqliteTable(
  'quarantine',
  {
    id: integer().primaryKey(),
    job: text().notNull(),
    /** The row's key, where one could be read. */
    key: text(),
    /**
     * The key, or the digest of what is stable in a row without one: the same row refused again is counted, not
     * repeated.
     */
    identity: text().notNull(),
    /** The row's JSON as received. */
    body: text().notNull(),
    /** JSON: `[{path, expected, received}]`. */
    problems: text().notNull(),
    requestId: text('request_id'),
    /** The walk that met it last (`walks.id`). */
    walkId: integer('walk_id').notNull(),
    /** When it was first refused. */
    firstSeenAt: text('first_seen_at').notNull(),
    /** When it was last refused. */
    lastSeenAt: text('last_seen_at').notNull(),
    /** How often it was refused. */
    times: integer().notNull().default(1),
    /**
     * When a row of this key was accepted since, this one at a retry, or a walk proved that it is gone upstream; null
     * where none was. See `MIRROR_KEEP_QUARANTINE`.
     */
    resolvedAt: text('resolved_at'),
  },
  (table) => [
    uniqueIndex('quarantine_by_identity').on(table.job, table.identity),
    index('quarantine_by_resolution').on(table.job, table.resolvedAt),
  ],
);

/** Differences between what the contract or earlier rows say and what came, each recorded once, until `MIRROR_KEEP_DRIFT`. */
export const drift = sqliteTable(
  'drift',
  {
    job: text().notNull(),
    /**
     * Of rows with a contract: `extra-property`, `new-value` (of an enumeration), `out-of-range`. Of others:
     * `new-field` (since the first whole walk), `vanished-field` (the last whole walk but one met it, no row of the
     * last did), `new-type`, `no-column` (why fields are found in `_body` alone), `repeated-name` (an object names a
     * member twice: noted by earlier releases, a row in `quarantine` now), `contradicted-key` (different rows bear it
     * at once, or one lacks it). `more` sums up what exceeds 1,000 differences.
     */
    kind: text().notNull(),
    /** The property, its names joined by dots; the JSON path of a discovered field. */
    path: text().notNull(),
    /** What came, where that says more. */
    detail: text().notNull(),
    /** When it was first seen. */
    firstSeenAt: text('first_seen_at').notNull(),
    /** When it was last seen. */
    lastSeenAt: text('last_seen_at').notNull(),
    /** How many rows have shown it, or, of discovered fields, pages. */
    times: integer().notNull(),
    requestId: text('request_id'),
    /** The walk that met it first (`walks.id`). */
    walkId: integer('walk_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.job, table.kind, table.path, table.detail] })],
);

/** The fields discovered in datasets whose record shape is not specified: each has a column over `_body`. */
export const fields = sqliteTable(
  'fields',
  {
    job: text().notNull(),
    /** The column of the dataset's table that shows the field. */
    column: text().notNull(),
    /** JSON path of the field within `_body`. */
    path: text().notNull(),
    /** JSON: every type seen, `big-integer` for whole numbers beyond 2^53; `[]` as long as all were null. */
    types: text({ mode: 'json' }).notNull().$type<readonly string[]>(),
    /** 1 where some row has no value there, or null. */
    nullable: integer().notNull(),
    /** When a row first showed the field. */
    firstSeenAt: text('first_seen_at').notNull(),
    /** When a walk first met the field, for the last walk that did. */
    lastSeenAt: text('last_seen_at').notNull(),
    /** JSON of one value, cut short. */
    example: text(),
    /** The last walk that met the field. */
    walkId: integer('walk_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.job, table.column] })],
);

/** What is kept of each dataset: how it is read where that is not specified, how far its past goes, when it is due next. */
export const datasets = sqliteTable('datasets', {
  job: text().primaryKey(),
  /** JSON: the names that lead to the array of rows within a page, such as `["rows"]`; `[]` for a bare array. */
  rowsPath: text('rows_path', { mode: 'json' }).$type<readonly string[]>(),
  /** The field that identifies a row, or null where a digest of the whole row does. */
  keyField: text('key_field'),
  /** JSON: values of that field that different rows bear at once; such rows go by their digest too. */
  sharedKeys: text('shared_keys', { mode: 'json' }).$type<readonly string[]>(),
  /** When that was chosen; null where nothing has been yet. */
  chosenAt: text('chosen_at'),
  /** `seq` of its latest change, see `changes`; null where there was none. */
  lastSeq: integer('last_seq'),
  /**
   * Versions that ended up to this time have left its history, see `MIRROR_KEEP_HISTORY`, or snapshots of up to this
   * time its table, see `MIRROR_KEEP_USAGE`; null where none have.
   */
  historyFrom: text('history_from'),
  /** Walks below this number that changed nothing have gone, see `MIRROR_KEEP_WALKS`. */
  walksFrom: integer('walks_from').notNull().default(0),
  /** Calls not made, ever, because one showed that the dataset stands as it was proven. */
  callsSaved: integer('calls_saved').notNull().default(0),
  /** When the daemon will mirror it next. */
  nextDueAt: text('next_due_at'),
});

/** The rows met so far by unfinished walks, as they were committed; no index, since there are never many. */
export const walkSeen = sqliteTable('walk_seen', {
  id: integer().primaryKey(),
  walkId: integer('walk_id').notNull(),
  /** Their numbers in the dataset's table or in quarantine, packed. */
  rowids: blob({ mode: 'buffer' }).notNull(),
});

/** Rows that the last proven walk did not find: two in a row retire them. */
export const absences = sqliteTable(
  'absences',
  {
    job: text().notNull(),
    /** The row's `_key`. */
    key: text().notNull(),
    /** The last proven walk that did not find it (`walks.id`). */
    walkId: integer('walk_id').notNull(),
    /** When the first of those walks ended. */
    since: text().notNull(),
    /** How many proven walks in a row did not find it. */
    proofs: integer().notNull(),
    /** 1 where rows without a readable key turned up as this one vanished: it may be one of them. */
    doubtful: integer().notNull(),
    /** Set in the transaction that removes the row, for the history's `_valid_to`. */
    removedAt: text('removed_at'),
  },
  (table) => [primaryKey({ columns: [table.job, table.key] })],
);

/** What has been learnt of quota, rate and concurrency: one row, JSON. */
export const governor = sqliteTable('governor', {
  /** Always 1. */
  id: integer().primaryKey(),
  /** JSON, for the program alone. */
  state: text().notNull(),
  /** When it last changed. */
  updatedAt: text('updated_at').notNull().default(sql`(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`),
});
