/** The tables that the mirror keeps about itself. Those of the datasets are declared in `jobs/`. */

import { sql } from 'drizzle-orm';
import { blob, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';

/** One pass over a dataset, with its place, its counts and the evidence for its verdict. */
export const walks = sqliteTable(
  'walks',
  {
    id: integer().primaryKey({ autoIncrement: true }),
    job: text().notNull(),
    status: text({ enum: ['running', 'snoozed', 'complete', 'failed'] }).notNull(),
    verdict: text({ enum: ['snapshot', 'verified', 'union'] }),
    startedAt: text('started_at').notNull(),
    finishedAt: text('finished_at'),
    nextOffset: integer('next_offset').notNull().default(0),
    pages: integer().notNull().default(0),
    rows: integer().notNull().default(0),
    inserted: integer().notNull().default(0),
    updated: integer().notNull().default(0),
    deleted: integer().notNull().default(0),
    quarantined: integer().notNull().default(0),
    drifted: integer().notNull().default(0),
    apiCalls: integer('api_calls').notNull().default(0),
    total: integer(),
    generatedAt: text('generated_at'),
    error: text(),
    totalFirst: integer('total_first'),
    distinctKeys: integer('distinct_keys').notNull().default(0),
    restarts: integer().notNull().default(0),
    stepsBack: integer('steps_back').notNull().default(0),
    /** Rows without a readable key: each is in quarantine, and may be one that the mirror knows. */
    unkeyed: integer().notNull().default(0),
    /** Rows that look gone but are kept for now: too many at once, or perhaps among those without a key. */
    held: integer().notNull().default(0),
    /** The walk whose proof this one renewed by a single call, where nothing had changed; null for a full walk. */
    probeOf: integer('probe_of'),
    /** Calls that a full walk would have taken beyond that one. */
    callsSaved: integer('calls_saved').notNull().default(0),
    /** JSON: how often each kind of anomaly was met. */
    anomalies: text().notNull().default('{}'),
    /** JSON: what the walk must remember to go on at its place. */
    memory: text().notNull().default('{}'),
  },
  (table) => [index('walks_by_job').on(table.job, table.id)],
);

/** One row a call to the API. */
export const requests = sqliteTable(
  'requests',
  {
    id: integer().primaryKey(),
    at: text().notNull(),
    job: text().notNull(),
    walkId: integer('walk_id'),
    url: text().notNull(),
    status: integer(),
    ms: integer().notNull(),
    bytes: integer().notNull(),
    requestId: text('request_id'),
    rateLimit: integer('rate_limit'),
    rateRemaining: integer('rate_remaining'),
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
    key: text(),
    /** The key, or the digest of a body without one: the same row refused again is counted, not repeated. */
    identity: text().notNull(),
    body: text().notNull(),
    /** JSON: `[{path, expected, received}]`. */
    problems: text().notNull(),
    requestId: text('request_id'),
    walkId: integer('walk_id').notNull(),
    firstSeenAt: text('first_seen_at').notNull(),
    lastSeenAt: text('last_seen_at').notNull(),
    times: integer().notNull().default(1),
    resolvedAt: text('resolved_at'),
  },
  (table) => [uniqueIndex('quarantine_by_identity').on(table.job, table.identity)],
);

/** Differences between what the contract or earlier rows say and what came, each recorded once. */
export const drift = sqliteTable(
  'drift',
  {
    job: text().notNull(),
    kind: text().notNull(),
    path: text().notNull(),
    detail: text().notNull(),
    firstSeenAt: text('first_seen_at').notNull(),
    lastSeenAt: text('last_seen_at').notNull(),
    times: integer().notNull(),
    requestId: text('request_id'),
    walkId: integer('walk_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.job, table.kind, table.path, table.detail] })],
);

/** The fields discovered in datasets whose record shape is not specified: each has a column over `_body`. */
export const fields = sqliteTable(
  'fields',
  {
    job: text().notNull(),
    column: text().notNull(),
    /** JSON path of the field within `_body`. */
    path: text().notNull(),
    /** JSON: every type seen, `big-integer` for whole numbers beyond 2^53; `[]` as long as all were null. */
    types: text({ mode: 'json' }).notNull().$type<readonly string[]>(),
    /** 1 where some row has no value there, or null. */
    nullable: integer().notNull(),
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

/** What was chosen for a dataset whose envelope or key is not specified, and when it is due next. */
export const datasets = sqliteTable('datasets', {
  job: text().primaryKey(),
  /** JSON: the names that lead to the array of rows within a page, such as `["rows"]`; `[]` for a bare array. */
  rowsPath: text('rows_path', { mode: 'json' }).$type<readonly string[]>(),
  /** The field that identifies a row, or null where a digest of the whole row does. */
  keyField: text('key_field'),
  /** JSON: values of that field that different rows bear at once; such rows go by their digest too. */
  sharedKeys: text('shared_keys', { mode: 'json' }).$type<readonly string[]>(),
  chosenAt: text('chosen_at'),
  nextDueAt: text('next_due_at'),
});

/**
 * The rows met so far by an unfinished walk, page by page: their numbers in the dataset's table, or in quarantine
 * with the highest bit set, as 32-bit integers.
 */
export const walkSeen = sqliteTable(
  'walk_seen',
  {
    walkId: integer('walk_id').notNull(),
    page: integer().notNull(),
    rowids: blob({ mode: 'buffer' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.walkId, table.page] })],
);

/** Rows that the last proven walk did not find: two in a row retire them. */
export const absences = sqliteTable(
  'absences',
  {
    job: text().notNull(),
    key: text().notNull(),
    walkId: integer('walk_id').notNull(),
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
  id: integer().primaryKey(),
  state: text().notNull(),
  updatedAt: text('updated_at').notNull().default(sql`(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))`),
});
